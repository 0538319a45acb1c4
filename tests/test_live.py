"""A running turn in memory: readers get every line once and in order, or hear that they are behind."""

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_litro_agent import events
from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.testing.stores import make_entry
from flask_litro_agent.turns.live import Batch, LiveTurn
from tests.bench import in_background

KEY = SessionKey("desk", "ann", "s1")


@pytest.fixture
def live():
    return LiveTurn(KEY, "t1", "ann", seconds=300)


def lines(*numbers):
    return b"".join(make_entry(number).line for number in numbers)


def end(number):
    return make_entry(number, kind=events.TURN_END)


def test_a_reader_gets_what_follows_its_position(live):
    live.show([make_entry(5), make_entry(6), make_entry(7)])
    assert live.take(4, 0) == Batch(lines(5, 6, 7), 7)
    assert live.take(6, 0) == Batch(lines(7), 7)


def test_a_reader_at_the_end_waits_no_longer_than_it_said(live):
    live.show([make_entry(1)])
    began = time.monotonic()
    assert live.take(1, 0.05) == Batch(b"", 1)
    assert time.monotonic() - began > 0.04


def test_a_waiting_reader_is_woken_by_the_next_line(live):
    thread, results = in_background(lambda: live.take(0, 20))
    live.show([make_entry(1)])
    thread.join(20)
    assert results == [Batch(lines(1), 1)]


def test_a_waiting_reader_is_woken_by_the_end(live):
    thread, results = in_background(lambda: live.take(0, 20))
    live.close()
    thread.join(20)
    assert results == [Batch(b"", 0, ended=True)]


def test_the_turn_end_is_the_end_also_before_the_turn_is_closed(live):
    live.show([make_entry(1), end(2)])
    assert live.take(0, 20) == Batch(make_entry(1).line + end(2).line, 2, ended=True)
    assert live.take(2, 20) == Batch(b"", 2, ended=True)
    assert live.finished
    assert not live.wait_closed(0)


def test_a_turn_that_was_closed_without_an_end_is_not_finished(live):
    live.show([make_entry(1)])
    live.close()
    assert live.take(1, 20).ended
    assert not live.finished


def test_a_reader_that_is_too_far_behind_hears_so(live):
    """Law 10: a turn keeps one MiB of lines, whatever a reader has had."""
    live.show([make_entry(1, "x" * 600_000)])
    live.show([make_entry(2, "x" * 600_000)])
    assert live.take(0, 0) == Batch(b"", 0, behind=True)
    assert live.take(1, 0).last == 2


def test_the_newest_line_is_always_kept(live):
    live.show([make_entry(1, "x" * 3_000_000)])
    assert live.take(0, 0).last == 1


def test_a_reader_before_the_turns_first_line_is_behind(live):
    live.show([make_entry(9)])
    assert live.take(3, 0).behind


def test_the_first_reason_to_end_stands(live):
    live.end("stopped")
    live.end("limit")
    assert live.ended_by == "stopped"
    assert live.stop.is_set


@given(st.lists(st.integers(1, 5), min_size=1, max_size=20), st.integers(1, 4))
def test_readers_put_together_exactly_the_log(groups, readers):
    """Law 2: any number of readers at any pace; every one has the same bytes."""
    live = LiveTurn(KEY, "t1", "ann", seconds=300)
    entries = [make_entry(number) for number in range(1, sum(groups) + 1)]
    entries[-1] = end(len(entries))
    gathered = [in_background(lambda: _gather(live)) for _ in range(readers)]
    rest = iter(entries)
    for size in groups:
        live.show([next(rest) for _ in range(size)])
    for thread, results in gathered:
        thread.join(20)
        assert results == [b"".join(entry.line for entry in entries)]


def _gather(live):
    got, after = b"", 0
    while True:
        batch = live.take(after, 20)
        got, after = got + batch.lines, batch.last
        if batch.ended:
            return got


def test_eight_readers_and_a_fast_writer_miss_nothing(live):
    before = threading.active_count()
    gathered = [in_background(lambda: _gather(live)) for _ in range(8)]
    for number in range(1, 2000):
        live.show([make_entry(number)])
    live.show([end(2000)])
    for thread, results in gathered:
        thread.join(20)
        assert results[0].count(b"\n") == 2000
    assert threading.active_count() <= before
