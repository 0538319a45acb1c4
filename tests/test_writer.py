"""The one writer: stored first, shown second, and nothing without a lease."""

import contextlib
import time

import pytest

from flask_litro_agent import events
from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.errors import LeaseLost, StoreError
from flask_litro_agent.sessions.disk import Disk
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.turns.writer import Draft, SessionWriter

KEY = SessionKey("desk", "ann", "s1")
DELTA = Draft(events.TEXT_DELTA, {"text": "hello"})


class Around:
    """A store that passes everything on to a real one; tests override what fails."""

    def __init__(self, store):
        self.inner = store

    def __getattr__(self, name):
        return getattr(self.inner, name)


class FullDisk(Disk):
    """A disk that takes only so many bytes of the write with this number, counted from one."""

    def __init__(self, number, taken=0):
        self.number, self.taken, self.writes = number, taken, 0

    def write(self, fd, data):
        self.writes += 1
        return super().write(fd, data[: self.taken] if self.writes == self.number else data)


class FailingFlush(Disk):
    def flush(self, fd):
        raise OSError(5, "EIO")


@pytest.fixture
def store(tmp_path):
    return FileStore(tmp_path / "sessions", fsync="never")


def writer_on(store, *, show=None):
    shown = []
    lease = store.acquire(KEY, 15, "t1")
    writer = SessionWriter(store, lease, ttl=15, last_seq=store.last_seq(KEY), show=show or shown.extend)
    return writer, shown


def age(writer):
    """Let two thirds of the ttl pass since the last renewal."""
    writer._renewed -= 10.1


def test_events_are_numbered_without_a_gap_and_share_one_time(store):
    writer, _ = writer_on(store)
    writer.write(DELTA, DELTA)
    writer.write(DELTA)
    found = [events.decode(entry.line) for entry in store.read(KEY)]
    assert [event.seq for event in found] == [1, 2, 3]
    assert found[0].ts == found[1].ts
    assert abs(found[0].ts / 1000 - time.time()) < 60


def test_what_is_shown_is_what_was_stored_byte_for_byte(store):
    """Law 2: an event is encoded once."""
    writer, shown = writer_on(store)
    writer.write(
        Draft(events.MESSAGE, {"role": "assistant", "text": "é \u2028 \x00"[:3]}, {"state": {"a": 1}})
    )
    writer.write(DELTA)
    assert shown == list(store.read(KEY))


def test_nothing_is_shown_before_it_is_stored(store):
    """Law 1: at the moment of showing a second store over the same folder reads every line."""
    other = FileStore(store.root)

    def show(entries):
        assert list(other.read(KEY))[-len(entries) :] == list(entries)

    writer, _ = writer_on(store, show=show)
    writer.write(DELTA, DELTA)
    writer.write(DELTA)


def test_an_append_that_failed_shows_nothing(store):
    """Law 1."""

    class Refuses(Around):
        def append(self, key, entries, lease):
            raise StoreError("no")

    writer, shown = writer_on(Refuses(store))
    with pytest.raises(StoreError):
        writer.write(DELTA)
    assert (shown, writer.seq) == ([], 0)


def test_control_showing_first_shows_what_the_log_lacks(store):
    """Law 1, control: the naive order breaks it."""

    class ShowsFirst(SessionWriter):
        def write(self, *drafts):
            shown.extend(drafts)
            return super().write(*drafts)

    class Refuses(Around):
        def append(self, key, entries, lease):
            raise StoreError("no")

    shown = []
    lease = store.acquire(KEY, 15, "t1")
    writer = ShowsFirst(Refuses(store), lease, ttl=15, last_seq=0, show=lambda entries: None)
    with contextlib.suppress(StoreError):
        writer.write(DELTA)
    assert len(shown) > store.last_seq(KEY)


def test_after_a_short_write_the_whole_lines_are_shown_and_counted(tmp_path):
    """Law 1, H2: what stands in the log is shown, what was torn is not, and the next event follows it."""
    store = FileStore(tmp_path / "s", fsync="never", disk=FullDisk(2, taken=130))
    writer, shown = writer_on(store)
    writer.write(DELTA)
    with pytest.raises(StoreError):
        writer.write(DELTA, DELTA, DELTA)
    assert len(shown) == 1
    stands = writer.catch_up()
    assert 0 < len(stands) < 3
    writer.write(DELTA)
    assert shown == list(store.read(KEY))
    assert [entry.seq for entry in shown] == list(range(1, len(shown) + 1))


def test_after_a_failed_flush_nothing_more_is_written(tmp_path):
    """H4: the kernel says once that it lost what it had; whoever writes on believes what is not so."""
    store = FileStore(tmp_path / "s", fsync="turn", disk=FailingFlush())
    writer, shown = writer_on(store)
    with pytest.raises(StoreError):
        writer.write(Draft(events.MESSAGE, {"role": "user", "text": "hi"}))
    with pytest.raises(LeaseLost):
        writer.write(DELTA)
    assert shown == []


# --- the lease ---


def test_a_writer_whose_lease_was_lost_writes_nothing(store):
    """Law 3: control in the next test."""

    class Lost(Around):
        def renew(self, lease):
            return False

    writer, shown = writer_on(Lost(store))
    assert not writer.renew()
    with pytest.raises(LeaseLost):
        writer.write(DELTA)
    assert (shown, store.last_seq(KEY)) == ([], 0)


def test_a_lost_lease_stays_lost(store):
    """Law 3: a later renewal that succeeds is somebody else's lease."""
    answers = iter([False, True])

    class Flickers(Around):
        def renew(self, lease):
            return next(answers, True)

    writer, _ = writer_on(Flickers(store))
    assert not writer.renew()
    assert not writer.renew()
    with pytest.raises(LeaseLost):
        writer.write(DELTA)


class Clock:
    """The time as the writer asks for it."""

    def __init__(self):
        self.now = 1000.0
        self.time_ns = time.time_ns

    def monotonic(self):
        return self.now


def test_a_renewal_counts_from_when_it_was_asked_for(store, monkeypatch):
    """Law 3: the answer may come late, and another may have had the lease since."""
    clock = Clock()
    monkeypatch.setattr("flask_litro_agent.turns.writer.time", clock)

    class Late(Around):
        def renew(self, lease):
            clock.now += 10.1
            return self.inner.renew(lease)

    writer, shown = writer_on(Late(store))
    clock.now += 10.1
    with pytest.raises(LeaseLost):
        writer.write(DELTA)
    assert shown == []


def test_a_renewed_lease_writes_on(store):
    writer, shown = writer_on(store)
    assert writer.renew()
    writer.write(DELTA)
    assert len(shown) == 1


def test_after_two_thirds_without_a_renewal_the_writer_renews_first(store):
    """Law 3."""
    renewed = []

    class Counts(Around):
        def renew(self, lease):
            renewed.append(lease)
            return super().__getattr__("renew")(lease)

    writer, shown = writer_on(Counts(store))
    writer.write(DELTA)
    assert renewed == []
    age(writer)
    writer.write(DELTA)
    assert len(renewed) == 1
    assert len(shown) == 2


def test_after_two_thirds_a_store_that_cannot_say_stops_the_writer(store):
    """Law 3: in doubt nothing is written. Control: with a fresh lease the same store is written to."""

    class Silent(Around):
        def renew(self, lease):
            raise StoreError("no answer")

    writer, _ = writer_on(Silent(store))
    assert writer.renew(), "one answer that failed is no loss yet"
    writer.write(DELTA)
    age(writer)
    with pytest.raises(LeaseLost):
        writer.write(DELTA)
    assert store.last_seq(KEY) == 1


def test_a_writer_that_was_retired_writes_and_shows_nothing_and_its_successor_does(store):
    writer, shown = writer_on(store)
    writer.write(DELTA)
    assert writer.retire()
    successor = SessionWriter(store, writer.lease, ttl=15, last_seq=1, show=lambda entries: None)
    successor.write(DELTA)
    for late in (lambda: writer.write(DELTA), writer.catch_up):
        with pytest.raises(LeaseLost, match="retired"):
            late()
    assert (len(shown), store.last_seq(KEY)) == (1, 2)


def test_a_writer_cannot_be_retired_while_it_writes(store):
    answers = []

    class Asks(Around):
        def append(self, key, entries, lease):
            answers.append(writer.retire())
            store.append(key, entries, lease)

    writer, _ = writer_on(Asks(store))
    writer.write(DELTA)
    writer.write(DELTA)
    assert answers == [False, False]


def test_the_store_refuses_a_stale_writer_even_when_it_believes_in_its_lease(store):
    """Law 3: fencing."""
    writer, _ = writer_on(store)
    store.release(writer.lease)
    assert store.acquire(KEY, 15, "t2") is not None
    with pytest.raises(LeaseLost):
        writer.write(DELTA)
    assert store.last_seq(KEY) == 0


def test_an_event_that_could_not_be_read_back_is_never_written(store):
    writer, shown = writer_on(store)
    for payload in ({"text": "\ud800"}, {"value": float("nan")}, {"text": "\x00"}):
        with pytest.raises(ValueError, match=r"surrogates|JSON|NUL"):
            writer.write(DELTA, Draft(events.TEXT_DELTA, payload))
    with pytest.raises(ValueError, match="JSON"):
        writer.write(Draft(events.MESSAGE, {"role": "assistant", "text": ""}, {"state": float("inf")}))
    assert (shown, store.last_seq(KEY)) == ([], 0)
