"""The watcher: it keeps leases, hears stops and watches clocks, and is gone when there is nothing to watch."""

import threading
import time

import pytest

from flask_litro_agent.errors import StoreError
from flask_litro_agent.sessions.file import FileStore
from tests.bench import SOON, Bench, reason, until

HI = [["say", "hi"]]
LONG = [["say", "one"], ["sleep", 60]]


class Counting(FileStore):
    """A real file store that counts what the watcher asks, and may fail at it."""

    def __init__(self, path):
        super().__init__(path, fsync="never")
        self.renewals, self.looks, self.error, self.lost = 0, 0, None, None

    def renew(self, lease):
        self.renewals += 1
        if self.error:
            raise self.error
        return lease.turn_id != self.lost and super().renew(lease)

    def stopped(self, turn_ids):
        self.looks += 1
        if self.error:
            raise self.error
        return super().stopped(turn_ids)


@pytest.fixture
def store(tmp_path):
    return Counting(tmp_path / "sessions")


def watchers():
    return [thread for thread in threading.enumerate() if thread.name == "litro-watcher"]


@pytest.fixture(autouse=True)
def _alone():
    """Let the watchers of earlier tests end first, and leave none behind."""
    until(lambda: not watchers())
    yield
    until(lambda: not watchers())


def end(*lives):
    for live in lives:
        live.end("stopped")
    assert all(live.wait_closed(SOON) for live in lives)


def test_one_thread_watches_every_turn_and_ends_with_the_last(store):
    bench = Bench(store)
    lives = [bench.start(LONG, session=f"s{number}") for number in range(5)]
    assert len(watchers()) == 1
    end(*lives)
    until(lambda: not watchers())


def test_a_turn_after_the_watcher_has_ended_gets_a_new_one(store):
    bench = Bench(store)
    bench.run(HI)
    until(lambda: not watchers())
    live = bench.start(LONG)
    assert len(watchers()) == 1
    end(live)


def test_quick_turns_do_not_pile_up_watchers(store):
    bench = Bench(store)
    for _ in range(100):
        bench.run(HI)
        assert len(watchers()) <= 1


def test_a_lease_is_renewed_at_a_third_of_its_life(store):
    live = Bench(store, lease_seconds=1.0).start(LONG)
    began = time.monotonic()
    until(lambda: store.renewals >= 3)
    assert time.monotonic() - began > 0.6
    end(live)


def test_a_stop_that_was_left_in_the_store_is_heard(store):
    live = Bench(store).start(LONG)
    store.stop(live.key, live.turn_id)
    assert live.wait_closed(5)
    assert live.ended_by == "stopped"


@pytest.mark.parametrize(
    "error", [StoreError("no answer"), OSError("no disk"), ValueError("rubbish")], ids=repr
)
def test_a_store_that_fails_for_a_while_does_not_end_the_watch(store, error):
    bench = Bench(store, lease_seconds=3.0)
    live = bench.start(LONG)
    store.error = error
    seen = store.looks
    until(lambda: store.looks >= seen + 2)
    store.error = None
    store.stop(live.key, live.turn_id)
    assert live.wait_closed(5)
    assert reason(bench.events()) == "stopped"


def test_a_lost_lease_ends_its_turn_by_that_name_and_no_other(store):
    bench = Bench(store, lease_seconds=1.0)
    sick, well = bench.start(LONG, session="sick"), bench.start(LONG, session="well")
    store.lost = sick.turn_id
    assert sick.wait_closed(5)
    assert (sick.ended_by, well.ended_by) == ("lease_lost", None)
    end(well)


def test_a_turn_over_its_time_ends_by_the_limit(store):
    """Law 10: whatever its provider is waiting for."""
    live = Bench(store, limits={"turn_seconds": 0.1}).start(LONG)
    assert live.wait_closed(5)
    assert live.ended_by == "limit"


def test_the_watcher_looks_twice_a_second_and_does_not_spin(store):
    live = Bench(store).start(LONG)
    time.sleep(1.2)
    assert 1 <= store.looks <= 4
    end(live)


class Clings:
    """A provider whose answer goes on until a stop, which its own callback then holds up."""

    model = "clings"

    def __init__(self):
        self.free = threading.Event()

    def stream(self, request, stop):
        stop.on(lambda: self.free.wait(60))
        stop.wait(60)
        return iter(())


def test_a_callback_that_blocks_at_one_turns_stop_holds_up_no_other_turn(store):
    """Law 10: the watcher goes on looking, and whoever asks for the stop is answered."""
    bench, clings = Bench(store, limits={"turn_seconds": 0.1}), Clings()
    first = bench.start(LONG, session="first", provider=clings)
    until(lambda: first.ended_by == "limit")
    second = bench.start(LONG, session="second")
    assert second.wait_closed(5)
    assert second.ended_by == "limit"
    clings.free.set()
