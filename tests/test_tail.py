"""What a response sends: every line once and in order, a blank one in silence, and an end that says what it means."""

import contextlib
import os
import threading
import time

import pytest

from flask_litro_agent import events
from flask_litro_agent.contracts import Done, TextDelta
from flask_litro_agent.errors import StoreError
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.turns.live import LiveTurn
from flask_litro_agent.turns.tail import HEARTBEAT
from tests.bench import SOON, Bench, in_background, kinds, until
from tests.turn_child import Child

HI = [["say", "hi"]]
LONG = [["say", "one"], ["sleep", 60]]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "sessions"


@pytest.fixture
def bench(folder):
    return Bench(folder)


def lines(chunks):
    return b"".join(chunk for chunk in chunks if chunk != HEARTBEAT)


def post(bench, turn, **options):
    return bench.tail(turn.key, after=turn.first_seq - 1, turn_from=turn.first_seq, **options)


def end(*lives):
    for live in lives:
        live.end("stopped")
    assert all(live.wait_closed(SOON) for live in lives)


def lately(bench, number):
    return until(lambda: len(bench.entries()) >= number)


# --- complete ---


def test_a_replay_ends_at_the_last_seq_it_was_told(bench):
    """Law 2."""
    bench.run(HI)
    bench.run(HI)
    stored = [entry.line for entry in bench.entries()]
    for first in range(1, len(stored) + 2):
        assert lines(bench.tail(after=first - 1, until=len(stored)).chunks()) == b"".join(stored[first - 1 :])
    assert lines(bench.tail(until=3).chunks()) == b"".join(stored[:3])


def test_a_replay_of_nothing_new_is_empty(bench):
    bench.run(HI)
    last = len(bench.entries())
    assert list(bench.tail(after=last, until=last).chunks()) == []
    assert list(bench.tail(after=last + 100, until=last).chunks()) == []


def test_a_turns_stream_ends_at_its_turn_end(bench):
    live = bench.start([["say", "a b c", 0.02]])
    sent = lines(post(bench, live).chunks())
    assert sent == bench.log()
    assert events.decode(sent.splitlines(keepends=True)[-1]).kind == events.TURN_END


def test_a_turns_stream_has_nothing_of_the_next_turn(bench):
    """A reader that takes its time after the last line must not be handed what came meanwhile."""
    live = bench.start(HI)
    chunks = post(bench, live, live=lambda key: live).chunks()
    sent = b""
    while b"turn-end" not in sent:
        sent += next(chunks)
    assert live.wait_closed(SOON)
    other = bench.start(LONG)
    lately(bench, other.first_seq + 2)
    assert list(chunks) == []
    end(other)


def test_a_tail_in_the_middle_of_a_turn_passes_over_earlier_ends(bench):
    bench.run(HI)
    live = bench.start([["say", "a b c d e", 0.05]])
    tail = bench.tail(after=0, turn_from=bench.store.last_seq(live.key))
    assert lines(tail.chunks()) == bench.log()


def test_a_tail_that_comes_when_the_turn_has_just_ended_ends_too(bench):
    live = bench.start(HI)
    assert live.wait_closed(SOON)
    last = len(bench.entries())
    assert lines(bench.tail(after=0, turn_from=last).chunks()) == bench.log()
    assert lines(bench.tail(after=last, turn_from=last).chunks()) == b""


# --- cut ---


def test_a_response_has_a_longest_life(bench):
    """Law 10: and it is cut, not ended."""
    live = bench.start(LONG)
    began = time.monotonic()
    sent = lines(post(bench, live, longest=0.3).chunks())
    assert time.monotonic() - began > 0.25
    assert sent == bench.log()
    assert b"turn-end" not in sent
    end(live)


def test_a_cut_stream_is_continued_without_a_hole_or_a_repetition(bench):
    live = bench.start([["say", " ".join("abcdefghij"), 0.03]])
    sent, after = b"", 0
    while b"turn-end" not in sent:
        tail = bench.tail(after=after, turn_from=live.first_seq, longest=0.07)
        sent += lines(tail.chunks())
        after = tail.after
    assert sent == bench.log()


def test_the_departure_of_the_client_ends_a_silent_stream(bench):
    """H7: at the next look, though nothing is there to be written."""
    live = bench.start(LONG)
    left = threading.Event()
    thread, results = in_background(lambda: lines(post(bench, live, gone=left.is_set).chunks()))
    lately(bench, 3)
    left.set()
    thread.join(5)
    assert results == [bench.log()]
    assert live.ended_by is None, "the turn does not live in the response"
    end(live)


# --- silence ---


def test_silence_is_filled_with_blank_lines(bench):
    live, began = bench.start([["sleep", 1.0], ["say", "x"]]), time.monotonic()
    sent = list(post(bench, live, heartbeat=0.1).chunks())
    assert 3 <= sent.count(HEARTBEAT) <= (time.monotonic() - began) / 0.1 + 1
    assert lines(sent) == bench.log()


def test_a_talking_turn_needs_no_blank_lines(bench):
    live = bench.start([["say", " ".join("abcdefghij"), 0.05]])
    assert HEARTBEAT not in list(post(bench, live, heartbeat=5).chunks())


def test_where_there_is_nothing_to_say_the_first_chunk_comes_at_once(bench):
    """So that the headers go out."""
    live = bench.start(LONG)
    lately(bench, 3)
    began = time.monotonic()
    with contextlib.closing(bench.tail(after=3, turn_from=3).chunks()) as chunks:
        assert next(chunks) == HEARTBEAT
    assert time.monotonic() - began < 2
    end(live)


# --- slow readers ---


class Blocks:
    """A provider that says more than a live turn keeps in memory."""

    model = "blocks"

    def stream(self, request, stop):
        for letter in "abcdefgh":
            yield TextDelta(letter * 300_000)
        yield Done()


def test_a_slow_reader_catches_up_from_the_store(folder):
    """Law 2, law 10: memory is bounded, and the reader has every byte once."""
    bench = Bench(folder, provider=Blocks())
    live = bench.start(text="go")
    chunks = post(bench, live).chunks()
    sent = next(chunks)
    until(lambda: live.finished)
    assert live.take(2, 0).behind, "control: the turn's memory no longer has what this reader lacks"
    assert sent + lines(chunks) == bench.log()


def test_a_log_that_has_lost_what_the_reader_lacks_makes_no_busy_reader(folder):
    """Law 10."""

    class Damaged(FileStore):
        def read(self, key, after=0, kinds=None):
            return iter(()) if damaged else super().read(key, after, kinds)

    damaged = False
    bench = Bench(Damaged(folder, fsync="never"), provider=Blocks())
    live = bench.start(text="go")
    until(lambda: live.finished)
    damaged, still = True, LiveTurn(live.key, live.turn_id, "ann", seconds=300)
    still.show(live._entries)
    began = time.thread_time()
    list(bench.tail(live.key, after=0, turn_from=1, longest=0.5, live=lambda key: still).chunks())
    assert time.thread_time() - began < 0.2


# --- another process ---


def test_a_turn_in_another_process_is_tailed_as_it_runs(folder, bench):
    """Law 2: across processes, by the store."""
    with Child(folder, [[["say", " ".join("abcdefgh"), 0.15]]]) as child:
        assert bench.runner.live(bench.key()) is None
        tail = bench.tail(after=0, turn_from=1)
        seen = [(chunk, events.TURN_END in kinds(bench.events())) for chunk in tail.chunks()]
        sent = lines(chunk for chunk, _ in seen)
        assert sent == bench.log()
        assert b"turn-end" in sent
        assert sum(not ended for _, ended in seen) >= 3, "lines came while the turn ran"
        assert child.process.wait(SOON) == 0
        assert child.shown() == sent


def test_the_stream_of_a_killed_turn_ends_without_a_turn_end(folder, bench):
    with Child(folder, [LONG]) as child:
        thread, results = in_background(lambda: lines(bench.tail(after=0, turn_from=1).chunks()))
        lately(bench, 3)
        child.kill()
        thread.join(6)
    assert results == [bench.log()]
    assert b"turn-end" not in results[0]


def test_the_stream_of_a_sleeping_turn_goes_on(folder, bench):
    """Control: a holder that lives, however silent, is waited for."""
    with Child(folder, [LONG]):
        sent = list(bench.tail(after=0, turn_from=1, longest=2.5, heartbeat=0.5).chunks())
    assert sent.count(HEARTBEAT) >= 2


# --- follow ---


@contextlib.contextmanager
def following(bench):
    """Follow a session; at the end wait until the follower has the whole log, and check that it does."""
    left = threading.Event()
    tail = bench.tail(gone=left.is_set)
    thread, results = in_background(lambda: lines(tail.chunks()))
    yield
    until(lambda: tail.after == bench.store.last_seq(bench.key()))
    left.set()
    thread.join(SOON)
    assert results == [bench.log()]


def test_a_follower_sees_later_turns(bench):
    bench.run(HI)
    with following(bench):
        bench.run(HI)
        bench.run(HI)


def test_a_follower_sees_a_later_turn_in_another_process(folder, bench):
    bench.run(HI)
    with following(bench), Child(folder, [HI], [HI]) as child:
        assert child.process.wait(SOON) == 0
    assert bench.log().count(b"turn-end") == 3


def test_a_follower_of_an_ended_turn_does_not_spin(folder):
    """Law 10: a follower costs a look at the log's size four times a second."""

    class Counts(FileStore):
        reads = 0

        def read(self, key, after=0, kinds=None):
            self.reads += 1
            return super().read(key, after, kinds)

    store = Counts(folder, fsync="never")
    bench = Bench(store)
    bench.run(HI)
    store.reads = 0
    began = time.thread_time()
    assert lines(bench.tail(after=0, longest=2.0).chunks()) == bench.log()
    assert time.thread_time() - began < 0.4
    assert store.reads - 1 <= 10


def test_a_follower_that_waits_for_the_lease_to_be_given_back_does_not_spin(folder):
    """Law 10: between ``turn-end`` and the release of the lease."""

    class SlowRelease(FileStore):
        def release(self, lease):
            gate.wait(SOON)
            super().release(lease)

    gate = threading.Event()
    bench = Bench(SlowRelease(folder, fsync="never"))
    live = bench.start(HI)
    until(lambda: live.finished)
    began = time.thread_time()
    list(bench.tail(after=0, longest=1.0, live=lambda key: live).chunks())
    assert time.thread_time() - began < 0.3
    gate.set()
    assert live.wait_closed(SOON)


def test_a_follower_of_a_deleted_session_ends(bench):
    bench.run(HI)
    thread, results = in_background(lambda: lines(bench.tail(after=0).chunks()))
    bench.runner.delete(bench.key())
    thread.join(6)
    assert len(results) == 1


# --- nothing is left, nothing is raised ---


def test_a_stream_that_is_closed_early_leaves_nothing_behind(bench):
    if not os.path.isdir("/dev/fd"):
        pytest.skip("no /dev/fd here: run on Linux or macOS")
    bench.run(HI)
    live = bench.start(LONG)
    before = len(os.listdir("/dev/fd"))
    for options in ({"until": 3}, {"turn_from": 3}, {}):
        for _ in range(20):
            chunks = bench.tail(**options).chunks()
            next(chunks)
            chunks.close()
    assert len(os.listdir("/dev/fd")) == before
    end(live)


@pytest.mark.parametrize("failing", ["read", "last_seq", "wait", "is_leased"])
def test_a_store_that_fails_cuts_the_stream_and_raises_nothing(folder, failing):
    """J8: after the status line there is nobody to tell; the client sees a cut and asks again."""

    class Fails(FileStore):
        pass

    def fail(*args, **options):
        raise StoreError("canary")

    Bench(folder).run(HI)
    setattr(Fails, failing, fail)
    bench = Bench(Fails(folder, fsync="never"))
    sent = list(bench.tail(after=0, turn_from=10**6, longest=2.0).chunks())
    assert b"canary" not in b"".join(sent)


def test_a_slot_of_chunks_is_whole_lines(folder):
    """A response that is cut between two chunks is cut between two lines."""
    bench = Bench(folder, provider=Blocks())
    bench.start(text="go").wait_closed(SOON)
    chunks = list(bench.tail(until=len(bench.entries())).chunks())
    assert len(chunks) > 4
    assert all(chunk.endswith(b"}\n") for chunk in chunks)
