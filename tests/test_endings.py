"""turns/endings.py: every turn that ends is told of once, whoever ended it, and whoever is told cannot disturb it."""

from __future__ import annotations

import threading

import pytest

from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.turns.endings import Endings, TurnEnd
from tests.bench import ANN, SOON, Bench, reason, until
from tests.turn_child import Child

HI = [["say", "hi"], ["usage", 3, 4]]
SLEEP = [["say", "one"], ["sleep", 60]]


class Told(list):
    """What listeners were told, and the bench that tells them."""

    def bench(self, folder, *more, **settings):
        return Bench(folder, endings=Endings([*more, self.append]), **settings)

    def one(self):
        """Wait for the first, and see that it stays alone."""
        until(lambda: self)
        assert len(self) == 1
        return self[0]


@pytest.fixture
def told():
    return Told()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "sessions"


def test_an_end_says_who_asked_how_it_ended_and_what_it_used(told, folder):
    bench = told.bench(folder)
    live = bench.start([["call", "echo", {"text": "x"}], ["usage", 10, 20]], HI)
    assert live.wait_closed(SOON)
    assert told.one() == TurnEnd(
        key=SessionKey("desk", "ann", "s1"),
        turn_id=live.turn_id,
        actor_id=ANN.id,
        reason="finished",
        model="puppet-1",
        input_tokens=13,
        output_tokens=24,
        cached_tokens=0,
    )


def test_two_turns_of_a_session_are_two_ends_each_with_its_own_use(told, folder):
    bench = told.bench(folder)
    for _ in range(2):
        bench.run(HI)
    until(lambda: len(told) == 2)
    assert [end.input_tokens for end in told] == [3, 3]


@pytest.mark.parametrize(
    ("rounds", "expected"), [([["raise"]], "failed"), ([["error", "auth", False]], "failed")]
)
def test_a_turn_that_fails_says_so(told, folder, rounds, expected):
    told.bench(folder).run(rounds)
    assert told.one().reason == expected


def test_a_turn_that_was_stopped_says_so(told, folder):
    bench = told.bench(folder)
    live = bench.start(SLEEP)
    bench.runner.stop(live.key, live.turn_id)
    assert live.wait_closed(SOON)
    assert told.one().reason == "stopped"


def test_a_turn_whose_thread_could_not_start_has_ended(told, folder):
    bench = told.bench(folder)

    def refuse(work):
        raise RuntimeError("can't start new thread")

    with pytest.raises(Exception, match="no thread is left"):
        bench.start(HI, spawn=refuse)
    assert told.one().reason == "interrupted"


def test_whoever_closes_a_dead_turn_tells_of_it(told, folder):
    with Child(folder, [SLEEP]) as child:
        child.kill()
        bench = told.bench(folder)
        bench.runner.standing(bench.key())
    end = told.one()
    assert (end.turn_id, end.actor_id, end.reason) == (child.turn_id, "ann", "interrupted")


def test_what_was_read_in_a_log_is_not_told_again(told, folder):
    Bench(folder).run(HI)
    bench = told.bench(folder)
    bench.run(HI)
    bench.runner.standing(bench.key())
    assert told.one().turn_id == bench.events()[-1].payload["turn_id"]


@pytest.mark.parametrize("error", [RuntimeError("x"), SystemExit(1), KeyboardInterrupt()])
def test_a_listener_that_raises_is_logged_and_the_others_still_hear(told, folder, caplog, error):
    def broken(end):
        raise error

    assert reason(told.bench(folder, broken).run(HI)) == "finished"
    assert told.one().reason == "finished"
    assert "a listener of its end failed" in caplog.text


def test_a_listener_that_waits_holds_up_neither_the_turn_nor_the_next_one(folder):
    released, heard = threading.Event(), []

    def slow(end):
        released.wait(SOON)
        heard.append(end)

    bench = Bench(folder, endings=Endings([slow]))
    for _ in range(2):
        assert reason(bench.run(HI)) == "finished"
    assert heard == []
    released.set()
    until(lambda: len(heard) == 2)


def test_a_process_that_ends_tells_first(folder):
    heard, going = [], threading.Event()

    def slow(end):
        going.set()
        threading.Event().wait(0.2)
        heard.append(end)

    bench = Bench(folder, endings=Endings([slow]))
    bench.run(HI)
    assert going.wait(SOON)
    bench.runner.drain()
    assert len(heard) == 1


def test_without_another_thread_nobody_is_told_and_the_log_says_so(told, folder, caplog, monkeypatch):
    end = TurnEnd(
        key=SessionKey("desk", "ann", "s1"),
        turn_id="t1",
        actor_id="ann",
        reason="finished",
        model="",
        input_tokens=0,
        output_tokens=0,
        cached_tokens=0,
    )

    def start(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    endings = Endings([told.append])
    endings.announce(end)
    endings.drain(0)
    assert told == []
    assert "nobody was told of its end" in caplog.text
