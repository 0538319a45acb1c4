"""Starting, finding and ending turns: one writer a session, in any number of threads and processes."""

import os
import shutil
import signal
import threading

import pytest

from flask_litro_agent import events
from flask_litro_agent.contracts import Done, Holder, TextDelta, ToolCallEvent, Verdict
from flask_litro_agent.errors import NotFound, Overloaded, SessionBusy, SessionDeleted, StoreError
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.turns.runner import Standing
from tests.bench import (
    ANN,
    BOB,
    SOON,
    Bench,
    here,
    in_background,
    kinds,
    messages_are_valid,
    of_kind,
    reason,
    until,
)
from tests.turn_child import Child

HI = [["say", "hi"]]
LONG = [["say", "one"], ["sleep", 60]]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "sessions"


@pytest.fixture
def bench(folder):
    return Bench(folder)


def turn_threads(*, but=()):
    threads = [thread for thread in threading.enumerate() if thread not in but]
    return [thread.name for thread in threads if thread.name.startswith("litro-")]


# --- one writer ---


def test_when_start_returns_the_first_events_are_in_the_log(bench):
    live = bench.start(LONG)
    assert kinds(bench.events())[:2] == ["turn-start", "message"]
    assert bench.runner.live(live.key) is live
    live.end("stopped")
    assert live.wait_closed(SOON)
    assert bench.runner.live(live.key) is None


def test_of_eight_starts_at_once_one_runs_and_seven_name_it(folder):
    """Law 3, I10. The session had a turn before: the eight must not take its id for the running one.

    Whoever finds the session busy takes no place among the actor's turns, of which there is one here.
    """
    bench = Bench(folder, max_actor_turns=1)
    bench.run(HI)
    ready = threading.Barrier(8)

    def start():
        ready.wait()
        try:
            return bench.start(LONG)
        except SessionBusy as busy:
            return busy

    started = [in_background(start) for _ in range(8)]
    for thread, _ in started:
        thread.join(SOON)
    outcomes = [results[0] for _, results in started]
    (live,) = (outcome for outcome in outcomes if not isinstance(outcome, SessionBusy))
    busy = [outcome.turn_id for outcome in outcomes if isinstance(outcome, SessionBusy)]
    assert busy == [live.turn_id] * 7
    assert busy[0] in outcomes[outcomes.index(live) - 1].headers.values()
    live.end("stopped")
    assert live.wait_closed(SOON)


def test_another_process_is_refused_with_the_running_turns_id(folder, bench):
    """Law 3: across processes."""
    with Child(folder, [LONG]) as child:
        with pytest.raises(SessionBusy) as busy:
            bench.start(HI)
        assert busy.value.turn_id == child.turn_id
        assert bench.runner.standing(bench.key()).turn_id == child.turn_id


def test_a_start_right_after_the_turn_end_is_never_refused(bench):
    """A client that has read ``turn-end`` may ask at once, though the lease is given back a moment later."""
    for number in range(600):
        live = bench.start(HI, session=f"s{number % 3}")
        bench.read_turn(live)
        if number % 3 == 2:
            continue
        bench.read_turn(bench.start(HI, session=f"s{number % 3}"))
    assert [reason(_last_turn(bench.events(bench.key(f"s{n}")))) for n in range(3)] == ["finished"] * 3


def _last_turn(found):
    return found[max(place for place, event in enumerate(found) if event.kind == events.TURN_START) :]


def test_a_start_waits_for_a_writer_without_a_turn(bench):
    """A deletion's or a repair's lease is short."""
    lease = bench.store.acquire(bench.key(), 15)
    threading.Timer(0.1, bench.store.release, [lease]).start()
    assert reason(bench.run(HI)) == "finished"


def test_a_writer_without_a_turn_that_stays_is_busy_without_an_id(bench):
    lease = bench.store.acquire(bench.key(), 15)
    with pytest.raises(SessionBusy) as busy:
        bench.start(HI)
    assert busy.value.turn_id is None
    bench.store.release(lease)


class LetsGo(FileStore):
    """A store whose second attempt at a lease finds that the holder has let go."""

    held = None
    tries = 0

    def acquire(self, key, ttl, turn_id=None):
        self.tries += 1
        if self.tries == 2:
            self.held.release()
        return super().acquire(key, ttl, turn_id)


class Held:
    """Another writer's lease on the session."""

    def __init__(self, folder, key, turn_id=None):
        self.store = FileStore(folder, fsync="never")
        self.lease = self.store.acquire(key, 15, turn_id)

    def release(self):
        self.store.release(self.lease)


def test_a_turn_that_has_ended_and_still_has_its_lease_is_waited_for(folder):
    bench = Bench(LetsGo(folder, fsync="never"))
    bench.run(HI)
    bench.store.tries = 0
    bench.store.held = Held(folder, bench.key(), "t1")
    assert reason(bench.run(HI)) == "finished"


def test_the_control_for_it_a_turn_that_has_not_ended_is_named(folder):
    bench = Bench(LetsGo(folder, fsync="never"))
    bench.store.held = Held(folder, bench.key(), "t1")
    with pytest.raises(SessionBusy, match="t1"):
        bench.run(HI)
    bench.store.held.release()


class Names(LetsGo):
    """A store whose first word about the holder is that of somebody who has gone."""

    gone = Holder("gone", 1)

    def holder(self, key):
        named, self.gone = self.gone, None
        return named or super().holder(key)


def test_a_turn_that_went_while_it_was_looked_at_is_not_named(folder):
    bench = Bench(Names(folder, fsync="never"))
    bench.store.held = Held(folder, bench.key())
    assert reason(bench.run(HI)) == "finished"


def test_the_sessions_of_two_people_with_one_id_are_two(bench):
    bench.run(HI, actor=ANN)
    bench.run(HI, actor=BOB)
    assert len(bench.events(bench.key(actor=ANN))) == len(bench.events(bench.key(actor=BOB)))


# --- stop ---


def test_a_stop_in_this_process_ends_the_turn(bench):
    """Also the tool that runs in it."""
    live = bench.start([["call", "forever", {}]])
    until(lambda: events.TOOL_PROGRESS in kinds(bench.events()))
    assert bench.runner.stop(live.key, live.turn_id)
    assert live.wait_closed(3)
    assert reason(bench.events()) == "stopped"


def test_a_stop_by_another_runner_reaches_the_turn_through_the_store(folder, bench):
    live = bench.start(LONG)
    other = Bench(folder)
    assert other.runner.live(live.key) is None
    assert other.runner.stop(live.key, live.turn_id)
    assert live.wait_closed(5)
    assert reason(bench.events()) == "stopped"


def test_a_stop_reaches_a_turn_in_another_process(folder, bench):
    with Child(folder, [LONG]) as child:
        assert bench.runner.stop(bench.key(), child.turn_id)
        until(lambda: events.TURN_END in kinds(bench.events()))
        assert reason(bench.events()) == "stopped"
        assert child.process.wait(SOON) == 0


@pytest.mark.parametrize("turn_id", ["t0", "", "../../etc/passwd"])
def test_a_stop_of_a_turn_that_does_not_run_says_so(bench, turn_id):
    live = bench.start(LONG)
    assert not bench.runner.stop(live.key, turn_id)
    assert not bench.runner.stop(bench.key("another"), live.turn_id)
    live.end("stopped")
    assert live.wait_closed(SOON)
    assert not bench.runner.stop(live.key, live.turn_id)


def test_a_stopped_sessions_next_turn_runs(bench):
    live = bench.start(LONG)
    bench.runner.stop(live.key, live.turn_id)
    assert live.wait_closed(SOON)
    assert reason(bench.run(HI)) == "finished"


# --- a turn that died ---


def _killed_in_a_tool(folder):
    with Child(folder, [[["say", "x"], ["call", "count", {"to": 1}], ["call", "forever", {}]]]) as child:
        store = FileStore(folder)
        key = Bench(store).key()
        until(lambda: [entry.kind for entry in store.read(key)].count(events.TOOL_PROGRESS) > 2)
        child.kill()
    return child


def test_the_next_look_at_a_session_closes_a_turn_whose_process_was_killed(folder, bench):
    """With a result for every call that had none."""
    child = _killed_in_a_tool(folder)
    assert events.TURN_END not in kinds(bench.events())
    standing = bench.runner.standing(bench.key())
    found = bench.events()
    assert standing == Standing(None, len(found))
    assert found[-1].payload["turn_id"] == child.turn_id
    assert reason(found) == "interrupted"
    results = of_kind(found, events.TOOL_RESULT)
    assert len(results) == len(of_kind(found, events.TOOL_CALL)) == 2
    assert results[1]["error"] == {"code": "failed", "message": "no result: the turn was interrupted"}


def test_a_second_look_writes_nothing(folder, bench):
    _killed_in_a_tool(folder)
    bench.runner.standing(bench.key())
    log = bench.log()
    assert bench.runner.standing(bench.key()).turn_id is None
    assert bench.log() == log


def test_a_look_at_a_session_whose_turn_has_ended_takes_no_lease(bench):
    """A lease counts its acquisitions, so one more would show."""
    bench.run(HI)
    bench.runner.standing(bench.key())
    with_lease = bench.store.acquire(bench.key(), 15)
    bench.store.release(with_lease)
    assert with_lease.epoch == 2


def test_a_turn_whose_end_is_in_the_log_runs_no_longer_though_its_lease_is_still_held(bench):
    """Who was shown the end and looks at once does not find that turn running."""
    live = bench.start(HI)
    assert live.wait_closed(SOON)
    still_held = bench.store.acquire(bench.key(), 15, live.turn_id)
    assert bench.runner.standing(bench.key()) == Standing(None, len(bench.entries()))
    bench.store.release(still_held)


def test_nothing_is_written_while_the_turns_process_lives(folder, bench):
    """Law 3: also while it sleeps (SIGSTOP), because the kernel holds its lock."""
    with Child(folder, [LONG]) as child:
        until(lambda: len(bench.entries()) == 3)
        os.kill(child.process.pid, signal.SIGSTOP)
        standing = bench.runner.standing(bench.key())
        bench.runner._upkeep.recover(bench.key())
        assert standing == Standing(child.turn_id, 3)
        assert len(bench.entries()) == 3
        with pytest.raises(SessionBusy):
            bench.start(HI)
        os.kill(child.process.pid, signal.SIGCONT)


def test_the_end_of_a_dead_turn_says_what_it_had_used(folder, bench):
    rounds = [[["call", "echo", {"value": 1}], ["usage", 3, 4]], [["call", "forever", {}], ["usage", 10, 20]]]
    with Child(folder, rounds) as child:
        until(lambda: kinds(bench.events()).count(events.USAGE) == 2)
        child.kill()
    bench.runner.standing(bench.key())
    (end,) = of_kind(bench.events(), events.TURN_END)
    assert end["usage"] == {"input_tokens": 13, "output_tokens": 24}


def test_a_start_on_a_dead_turn_closes_it_and_runs(folder, bench):
    child = _killed_in_a_tool(folder)
    bench.run(HI)
    ends = of_kind(bench.events(), events.TURN_END)
    assert [end["reason"] for end in ends] == ["interrupted", "finished"]
    assert ends[0]["turn_id"] == child.turn_id
    assert messages_are_valid(bench.puppet.requests[-1].messages)


def test_eight_looks_at_a_dead_turn_close_it_once(folder):
    _killed_in_a_tool(folder)
    benches = [Bench(folder) for _ in range(8)]
    looks = [in_background(lambda each=each: each.runner.standing(each.key())) for each in benches]
    for thread, _ in looks:
        thread.join(SOON)
    assert kinds(benches[0].events()).count(events.TURN_END) == 1


def test_a_dead_turn_that_cannot_be_closed_now_is_still_read(folder):
    """A failed write still replays."""
    _killed_in_a_tool(folder)

    class ReadOnly(FileStore):
        def append(self, key, entries, lease):
            raise StoreError("read-only")

    bench = Bench(ReadOnly(folder))
    assert bench.runner.standing(bench.key()) == Standing(None, len(bench.entries()))
    assert not bench.store.is_leased(bench.key())


def test_an_unknown_session_is_not_found(bench):
    with pytest.raises(NotFound):
        bench.runner.standing(bench.key())
    with pytest.raises(NotFound):
        bench.runner.delete(bench.key())


# --- delete ---


def test_a_deleted_session_is_gone_for_good(bench):
    bench.run(HI)
    bench.runner.delete(bench.key())
    for again in (
        lambda: bench.runner.standing(bench.key()),
        lambda: bench.runner.delete(bench.key()),
        lambda: bench.start(HI),
    ):
        with pytest.raises(NotFound, match="there is no such session"):
            again()


def test_of_a_deleted_session_nothing_stays_in_memory(bench):
    bench.run(HI)
    assert bench.key() in bench.runner._histories._kept
    bench.runner.delete(bench.key())
    assert bench.key() not in bench.runner._histories._kept


def test_a_deletion_stops_the_running_turn_first(bench):
    live = bench.start(LONG)
    bench.runner.delete(live.key)
    assert live.wait_closed(SOON)
    assert live.ended_by == "stopped"
    with pytest.raises(SessionDeleted):
        bench.entries()


def test_a_deletion_stops_a_turn_in_another_process(folder, bench):
    with Child(folder, [LONG]) as child:
        bench.runner.delete(bench.key())
        assert child.process.wait(SOON) == 0
    with pytest.raises(NotFound):
        bench.runner.standing(bench.key())


def test_two_deletions_at_once_are_one_deletion_and_one_not_found(bench):
    bench.run(HI)
    ready = threading.Barrier(2)

    def delete():
        ready.wait()
        try:
            return bench.runner.delete(bench.key())
        except NotFound as error:
            return error

    outcomes = [in_background(delete) for _ in range(2)]
    for thread, _ in outcomes:
        thread.join(SOON)
    assert sorted(type(results[0]).__name__ for _, results in outcomes) == ["NoneType", "NotFound"]


# --- turns whose thread does not come back ---


class Deaf:
    """A provider that hears no stop: it says a word and holds its turn's thread until it is let go."""

    model = "deaf"

    def __init__(self):
        self.holds, self.free = threading.Event(), threading.Event()

    def stream(self, request, stop):
        yield TextDelta("one ")
        self.holds.set()
        self.free.wait(60)
        yield ToolCallEvent("up_1", "echo", {"value": 1})
        yield Done()


@pytest.fixture
def deaf():
    provider = Deaf()
    yield provider
    provider.free.set()


def stop_deaf(bench, provider):
    """Return a turn that was told to stop while its provider holds the thread."""
    live = bench.start(provider=provider)
    assert provider.holds.wait(SOON)  # before that, its thread would hear the stop
    until(lambda: bench.log().endswith(b'"one "}}\n'))
    live.end("stopped")
    return live


def test_a_turn_whose_provider_hears_no_stop_ends_without_it(bench, deaf):
    """Law 10: its session is free again, and its readers hear the end."""
    live = stop_deaf(bench, deaf)
    said = bench.read_turn(live)
    assert live.wait_closed(SOON)
    assert said == bench.log()
    assert reason(bench.events()) == "stopped"
    assert reason(bench.run(HI)) == "finished"


def test_a_turn_whose_provider_hears_no_stop_ends_at_its_limit(folder, deaf):
    bench = Bench(folder, limits={"turn_seconds": 0.1})
    assert reason(bench.run(provider=deaf)) == "limit"


def test_a_turn_that_was_left_behind_writes_nothing_when_it_comes_back(bench, deaf, caplog):
    live = stop_deaf(bench, deaf)
    assert live.wait_closed(SOON)
    again = bench.start(LONG)
    before = bench.log()
    deaf.free.set()
    until(lambda: "lease_lost" in caplog.text)
    until(lambda: turn_threads().count("litro-turn") == 1)
    assert bench.runner.live(again.key) is again
    assert bench.log().startswith(before)
    again.end("stopped")
    assert again.wait_closed(SOON)
    assert kinds(bench.events()).count("turn-end") == 2
    assert "tool-call" not in kinds(bench.events())


def test_the_history_of_a_turn_left_behind_is_read_anew_with_the_agents_own_limit(bench, deaf):
    assert stop_deaf(bench, deaf).wait_closed(SOON)
    assert bench.key() not in bench.runner._histories._kept


class Lost(FileStore):
    """A store that says a lease is lost, and would still take what its writer writes."""

    def renew(self, lease):
        return False


def test_for_a_turn_left_behind_without_its_lease_nobody_writes_an_end(folder, deaf):
    """Law 3."""
    bench = Bench(Lost(folder, fsync="never"), lease_seconds=1.0)
    live = bench.start(provider=deaf)
    assert live.wait_closed(SOON)
    assert live.ended_by == "lease_lost"
    assert events.TURN_END not in kinds(bench.events())


def test_a_call_that_was_under_way_in_a_turn_left_behind_has_a_result(folder):
    """A policy may hold the turn's thread too."""
    free = threading.Event()

    class Slow:
        def decide(self, actor, tool, arguments):
            free.wait(60)
            return Verdict.allow()

    bench = Bench(folder, policies=[Slow()], limits={"turn_seconds": 0.1})
    found = bench.run([["call", "echo", {"value": 1}]], HI)
    free.set()
    assert reason(found) == "limit"
    assert len(of_kind(found, "tool-result")) == 1


# --- caps (law 10) ---


def test_over_the_turns_of_a_process_the_answer_is_overloaded(folder):
    """Law 10."""
    bench = Bench(folder, max_turns=2, max_actor_turns=2)
    running = [bench.start(LONG, session="a", actor=ANN), bench.start(LONG, session="b", actor=BOB)]
    with pytest.raises(Overloaded, match="2 turns are running here") as caught:
        bench.start(HI, session="c")
    assert caught.value.headers == {"Retry-After": "5"}
    assert bench.store.last_seq(bench.key("c")) == 0
    _end_all(running)
    assert reason(bench.run(HI, session="c")) == "finished"


def test_over_the_turns_of_an_actor_others_still_run(folder):
    """Law 10."""
    bench = Bench(folder, max_actor_turns=1)
    live = bench.start(LONG, session="a", actor=ANN)
    with pytest.raises(Overloaded, match="1 of your turns"):
        bench.start(HI, session="b", actor=ANN)
    assert reason(bench.run(HI, session="b", actor=BOB)) == "finished"
    _end_all([live])


def test_starts_at_once_do_not_pass_the_cap_together(folder):
    """Law 10: a turn counts from the moment it is admitted."""
    bench = Bench(folder, max_turns=3, max_actor_turns=3)
    ready = threading.Barrier(8)

    def start(number):
        ready.wait()
        try:
            return bench.start(LONG, session=f"s{number}")
        except Overloaded:
            return None

    started = [in_background(lambda number=number: start(number)) for number in range(8)]
    for thread, _ in started:
        thread.join(SOON)
    running = [results[0] for _, results in started if results[0]]
    assert len(running) == 3
    _end_all(running)


def test_a_start_that_failed_gives_its_place_back(folder):
    bench = Bench(folder, max_actor_turns=1)
    lease = bench.store.acquire(bench.key(), 15, "t0")
    for _ in range(3):
        with pytest.raises(SessionBusy):
            bench.start(HI)
    bench.store.release(lease)
    assert reason(bench.run(HI)) == "finished"


class FullOnce(FileStore):
    """A store that cannot write once."""

    is_full = True

    def append(self, key, entries, lease):
        full, self.is_full = self.is_full, False
        if full:
            raise StoreError("the disk is full")
        super().append(key, entries, lease)


def test_a_start_that_could_not_be_written_gives_place_and_lease_back(folder):
    bench = Bench(FullOnce(folder, fsync="never"), max_actor_turns=1)
    with pytest.raises(StoreError, match="the disk is full"):
        bench.start(HI)
    assert bench.runner.live(bench.key()) is None
    assert not bench.store.is_leased(bench.key())
    assert reason(bench.run(HI, session="s2")) == "finished"


def _end_all(running):
    for live in running:
        live.end("stopped")
    assert all(live.wait_closed(SOON) for live in running)


# --- threads ---


def test_no_thread_is_left_when_the_turns_have_ended(bench):
    others = threading.enumerate()  # what other tests of this process have left behind
    for number in range(5):
        bench.run([["call", "count", {"to": 2}]], HI, session=f"s{number}")
    until(lambda: not turn_threads(but=others))


def test_when_no_thread_can_be_had_the_turn_is_closed_and_the_answer_overloaded(bench):
    """Law 10."""

    def exhausted(work):
        raise RuntimeError("can't start new thread")

    with pytest.raises(Overloaded, match="no thread is left"):
        bench.start(HI, spawn=exhausted)
    assert reason(bench.events()) == "interrupted"
    assert bench.runner.live(bench.key()) is None
    assert reason(_last_turn(_and_then(bench))) == "finished"


def test_when_no_watcher_can_be_had_the_turn_is_closed_too(bench, monkeypatch):
    """Law 10: and the next turn has its watcher."""

    def exhausted(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", exhausted)
        with pytest.raises(Overloaded, match="no thread is left"):
            bench.start(HI)
    live = bench.start(LONG)
    assert "litro-watcher" in turn_threads()
    _end_all([live])


def _and_then(bench):
    bench.run(HI)
    return bench.events()


# --- the end of the process ---


def test_a_drain_lets_a_turn_finish_within_the_grace(folder):
    """H6."""
    bench = Bench(folder, grace_seconds=SOON)
    bench.start([["say", "a b c", 0.05]])
    bench.runner.drain()
    assert reason(bench.events()) == "finished"


def test_a_drain_interrupts_what_does_not_finish_and_the_log_says_so(folder):
    """H6."""
    bench = Bench(folder, grace_seconds=0.1)
    lives = [bench.start(LONG, session="a"), bench.start([["call", "forever", {}]], session="b")]
    bench.runner.drain()
    for live in lives:
        assert reason(bench.events(live.key)) == "interrupted"
        assert not bench.store.is_leased(live.key)


def test_a_process_that_drains_starts_nothing(bench):
    bench.runner.drain()
    with pytest.raises(Overloaded, match="shutting down") as caught:
        bench.start(HI)
    assert caught.value.retry_after == 2


def test_a_turn_may_run_in_the_callers_thread(bench):
    seen = []

    def spawn(work):
        seen.append(threading.get_ident())
        work()

    assert reason(bench.run([["call", "echo", {"value": 1}]], HI, spawn=spawn)) == "finished"
    assert seen == [threading.get_ident()]


def test_a_session_whose_log_was_taken_away_begins_again(folder, bench):
    bench.run(HI)
    shutil.rmtree(folder)
    assert [event.seq for event in bench.run(HI)] == [1, 2, 3, 4, 5]
    assert [message.role for message in bench.puppet.requests[-1].messages] == ["user"]


def test_the_histories_that_are_kept_have_a_cap(bench, monkeypatch):
    """Law 10."""
    monkeypatch.setattr("flask_litro_agent.turns.histories._MOST", 3)
    for number in range(6):
        bench.run(HI, session=f"s{number}", spawn=here)
    assert [key.session for key in bench.runner._histories._kept] == ["s3", "s4", "s5"]
