"""StoreContract: what the rest of the package counts on in a session store, ours or a stranger's.

    class TestSqlStore(StoreContract):
        @pytest.fixture
        def store(self, tmp_path):
            return SqlStore(f"sqlite:///{tmp_path}/log.db")

        def reopen(self, store):
            return SqlStore(store.url)

``reopen`` returns a second store over the same data, as another process would see it. Every test uses keys of its
own, so that the data may outlive a test.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import pytest

from flask_litro_agent import events
from flask_litro_agent.contracts import Entry, Holder, Lease, SessionKey, SessionStore
from flask_litro_agent.errors import BadRequest, LeaseLost, SessionDeleted, StoreError

__all__ = ["StoreContract", "make_entries", "make_entry", "new_key"]

_TTL = 30.0
_RACES = 50
_RACERS = 8
_ODD_IDS = (
    "aux",
    "AUX",
    "CON",
    "con",
    "nul",
    ".",
    "..",
    "a/b",
    "../../etc/passwd",
    "a b",
    "\u00e4",
    "a\u0308",
    "日本",
    "-",
    "🦊",
)


def new_key(session: str = "s1", *, agent: str = "demo", owner: str | None = None) -> SessionKey:
    """Return a key that nobody has used; its owner is new unless one is given."""
    return SessionKey(agent, owner or f"owner-{secrets.token_hex(8)}", session)


def make_entry(
    seq: int, text: str = "hello", *, kind: str = events.TEXT_DELTA, private: bytes | None = None
) -> Entry:
    """Return an entry whose payload is a text."""
    return Entry(seq, kind, events.encode(seq, 1796021904525 + seq, kind, {"text": text}), private)


def make_entries(count: int, *, first: int = 1) -> list[Entry]:
    """Return that many entries in order; every tenth is a message."""
    numbers = range(first, first + count)
    return [make_entry(n, kind=events.TEXT_DELTA if n % 10 else events.MESSAGE) for n in numbers]


class StoreContract:
    """The laws in the docstrings of ``SessionStore``, each as a test."""

    @pytest.fixture
    def store(self) -> SessionStore:
        """Return the store to test."""
        raise NotImplementedError("override the fixture 'store'")

    def reopen(self, store: SessionStore) -> SessionStore:
        """Return another store over the same data, as another process would open it."""
        raise NotImplementedError("override 'reopen'")

    def test_an_unknown_session_is_empty(self, store: SessionStore) -> None:
        key = new_key()
        assert list(store.read(key)) == []
        assert store.last_seq(key) == 0
        assert store.holder(key) is None
        assert not store.is_leased(key)

    def test_what_was_appended_is_read_in_order_and_byte_for_byte(self, store: SessionStore) -> None:
        key, entries = new_key(), [*make_entries(25), make_entry(26, 'tab\t "quote" \\ é 日本 \u2028 \x7f\n')]
        lease = _acquired(store, key)
        store.append(key, entries[:10], lease)
        store.append(key, entries[10:], lease)
        assert list(store.read(key)) == entries
        assert store.last_seq(key) == 26

    def test_another_process_reads_the_same(self, store: SessionStore) -> None:
        key, entries = new_key(), make_entries(12)
        store.append(key, entries, _acquired(store, key))
        other = self.reopen(store)
        assert list(other.read(key)) == entries
        assert other.last_seq(key) == 12

    @pytest.mark.parametrize("after", [0, 1, 9, 10, 24, 25, 26])
    def test_after_leaves_out_what_was_read(self, store: SessionStore, after: int) -> None:
        key, entries = new_key(), make_entries(25)
        store.append(key, entries, _acquired(store, key))
        assert list(store.read(key, after)) == entries[after:]
        assert list(self.reopen(store).read(key, after)) == entries[after:]

    def test_kinds_leaves_out_the_other_kinds(self, store: SessionStore) -> None:
        key, entries = new_key(), make_entries(30)
        store.append(key, entries, _acquired(store, key))
        found = list(store.read(key, 10, frozenset({events.MESSAGE})))
        assert found == [entry for entry in entries[10:] if entry.kind == events.MESSAGE]

    def test_a_private_part_comes_back_beside_its_line(self, store: SessionStore) -> None:
        key, private = new_key(), '{"signature":"é\\t\\n","depth":[1,{}]}'.encode()
        entries = [make_entry(1), make_entry(2, kind=events.MESSAGE, private=private), make_entry(3)]
        store.append(key, entries, _acquired(store, key))
        found = list(self.reopen(store).read(key))
        assert found == entries
        assert private not in b"".join(entry.line for entry in found)

    def test_a_long_line_comes_back(self, store: SessionStore) -> None:
        key, entry = (
            new_key(),
            make_entry(1, "x" * 1_000_000, kind=events.MESSAGE, private=b'"' + b"y" * 500_000 + b'"'),
        )
        store.append(key, [entry, make_entry(2)], _acquired(store, key))
        assert list(self.reopen(store).read(key)) == [entry, make_entry(2)]

    def test_nothing_appended_is_nothing_stored(self, store: SessionStore) -> None:
        key = new_key()
        store.append(key, [], _acquired(store, key))
        assert store.last_seq(key) == 0

    @pytest.mark.parametrize("numbers", [(3,), (5,), (6, 4), (4, 6), (4, 4), (1,)])
    def test_a_gap_or_a_repeated_seq_is_refused_whole(
        self, store: SessionStore, numbers: tuple[int, ...]
    ) -> None:
        key = new_key()
        lease = _acquired(store, key)
        store.append(key, make_entries(3), lease)
        with pytest.raises(StoreError):
            store.append(key, [make_entry(number) for number in numbers], lease)
        assert list(store.read(key)) == make_entries(3)
        store.append(key, [make_entry(4)], lease)
        assert store.last_seq(key) == 4

    @pytest.mark.parametrize("session", _ODD_IDS)
    def test_an_odd_id_is_a_session_like_any_other(self, store: SessionStore, session: str) -> None:
        owner = new_key().owner
        keys = [new_key(session, owner=owner), new_key(session + "x", owner=owner)]
        for number, key in enumerate(keys, 1):
            store.append(key, make_entries(number), _acquired(store, key))
        assert [self.reopen(store).last_seq(key) for key in keys] == [1, 2]

    def test_keys_that_differ_anywhere_are_different_sessions(self, store: SessionStore) -> None:
        key = new_key("abc")
        agent, owner, session = key
        others = [
            SessionKey(agent.upper(), owner, session),
            SessionKey(agent, owner.upper(), session),
            SessionKey(agent, owner, "ABC"),
            SessionKey(agent, owner, "abc\n"),
            SessionKey(agent + owner, "", session),
            SessionKey(agent, owner + session, ""),
            SessionKey("", agent + owner, session),
        ]
        store.append(key, make_entries(3), _acquired(store, key))
        assert [store.last_seq(other) for other in others] == [0] * len(others)
        assert not any(store.is_leased(other) for other in others)

    def test_while_one_holds_the_lease_nobody_else_gets_it(self, store: SessionStore) -> None:
        key = new_key()
        _acquired(store, key)
        assert store.acquire(key, _TTL) is None
        assert self.reopen(store).acquire(key, _TTL) is None

    def test_a_released_lease_can_be_taken_in_another_process(self, store: SessionStore) -> None:
        key = new_key()
        store.release(_acquired(store, key))
        assert _acquired(self.reopen(store), key).key == key

    def test_the_epoch_grows_with_every_acquisition(self, store: SessionStore) -> None:
        key, epochs = new_key(), []
        for each in (store, self.reopen(store), store, self.reopen(store)):
            lease = _acquired(each, key)
            epochs.append(lease.epoch)
            each.release(lease)
        assert epochs == sorted(set(epochs))

    def test_of_many_racers_exactly_one_becomes_the_writer(self, store: SessionStore) -> None:
        key, stores = new_key(), [store, self.reopen(store)]
        with ThreadPoolExecutor(_RACERS) as threads:
            for _ in range(_RACES):
                start = threading.Barrier(_RACERS)

                def race(number: int, start: threading.Barrier = start) -> tuple[SessionStore, Lease | None]:
                    start.wait(30)
                    return stores[number % 2], stores[number % 2].acquire(key, _TTL)

                won = [(winner, lease) for winner, lease in threads.map(race, range(_RACERS)) if lease]
                assert len(won) == 1
                won[0][0].release(won[0][1])

    def test_a_released_lease_writes_nothing(self, store: SessionStore) -> None:
        key = new_key()
        lease = _acquired(store, key)
        store.append(key, make_entries(2), lease)
        store.release(lease)
        with pytest.raises(LeaseLost):
            store.append(key, [make_entry(3)], lease)
        assert store.last_seq(key) == 2

    def test_a_stale_lease_writes_nothing_while_another_writes(self, store: SessionStore) -> None:
        key, other = new_key(), self.reopen(store)
        stale = _acquired(store, key)
        store.release(stale)
        lease = _acquired(other, key)
        for each in (store, other):
            with pytest.raises(LeaseLost):
                each.append(key, [make_entry(1, "stale")], stale)
        other.append(key, [make_entry(1, "current")], lease)
        assert list(store.read(key)) == [make_entry(1, "current")]

    def test_a_lease_of_another_session_writes_nothing(self, store: SessionStore) -> None:
        key, other = new_key(), new_key()
        lease = _acquired(store, other)
        _acquired(store, key)
        with pytest.raises(LeaseLost):
            store.append(key, [make_entry(1)], lease)
        assert store.last_seq(key) == 0

    @pytest.mark.parametrize("changed", ["token", "epoch"])
    def test_a_forged_lease_writes_nothing(self, store: SessionStore, changed: str) -> None:
        key = new_key()
        lease = _acquired(store, key)
        token = "0" * len(lease.token) if changed == "token" else lease.token
        epoch = lease.epoch + 1 if changed == "epoch" else lease.epoch
        with pytest.raises(LeaseLost):
            store.append(key, [make_entry(1)], Lease(key, token, epoch, lease.turn_id))
        assert store.last_seq(key) == 0

    def test_after_its_ttl_a_lease_is_lost_or_still_the_only_one(self, store: SessionStore) -> None:
        key, other = new_key(), self.reopen(store)
        first = store.acquire(key, 0.2)
        assert first is not None
        time.sleep(0.4)
        second = other.acquire(key, _TTL)
        if second is None:
            store.append(key, [make_entry(1)], first)
        else:
            with pytest.raises(LeaseLost):
                store.append(key, [make_entry(1)], first)
            assert not store.renew(first)
            other.append(key, [make_entry(1)], second)
        assert other.last_seq(key) == 1

    def test_a_held_lease_renews_and_a_released_one_does_not(self, store: SessionStore) -> None:
        key = new_key()
        lease = _acquired(store, key)
        assert store.renew(lease)
        store.release(lease)
        assert not store.renew(lease)

    def test_releasing_twice_or_late_takes_nothing_from_the_next_holder(self, store: SessionStore) -> None:
        key, other = new_key(), self.reopen(store)
        first = _acquired(store, key)
        store.release(first)
        second = _acquired(other, key)
        store.release(first)
        other.release(first)
        assert other.renew(second)
        assert store.acquire(key, _TTL) is None

    def test_every_process_can_name_the_turn_that_holds_the_lease(self, store: SessionStore) -> None:
        key, other = new_key(), self.reopen(store)
        lease = _acquired(store, key, "turn-7")
        assert store.holder(key) == other.holder(key) == Holder("turn-7", lease.epoch)
        assert store.is_leased(key)
        assert other.is_leased(key)
        store.release(lease)
        assert store.holder(key) is None
        assert not other.is_leased(key)

    def test_a_lease_without_a_turn_is_held_by_no_turn(self, store: SessionStore) -> None:
        key = new_key()
        lease = _acquired(store, key)
        assert self.reopen(store).holder(key) == Holder(None, lease.epoch)

    def test_the_next_holder_goes_on_where_the_last_one_ended(self, store: SessionStore) -> None:
        key, other = new_key(), self.reopen(store)
        for number, each in enumerate([store, other, store, other], 1):
            lease = _acquired(each, key)
            each.append(key, [make_entry(number)], lease)
            each.release(lease)
        assert list(store.read(key)) == list(other.read(key)) == [make_entry(n) for n in range(1, 5)]

    def test_a_stop_is_heard_in_every_process_for_its_turn_alone(self, store: SessionStore) -> None:
        key, other = new_key(), self.reopen(store)
        turn, bystander = secrets.token_hex(8), secrets.token_hex(8)
        _acquired(store, key, turn)
        assert store.stopped([turn, bystander]) == frozenset()
        other.stop(key, turn)
        other.stop(key, turn)
        assert store.stopped([turn, bystander]) == other.stopped([turn]) == frozenset({turn})
        assert store.stopped([]) == frozenset()

    def test_wait_sees_at_once_what_is_already_there(self, store: SessionStore) -> None:
        key = new_key()
        store.append(key, make_entries(2), _acquired(store, key))
        assert store.wait(key, 1, 30)
        assert self.reopen(store).wait(key, 0, 30)

    def test_wait_ends_without_an_entry(self, store: SessionStore) -> None:
        key = new_key()
        store.append(key, make_entries(2), _acquired(store, key))
        began = time.monotonic()
        store.wait(key, 2, 0.1)
        assert time.monotonic() - began < 5

    def test_wait_wakes_another_process(self, store: SessionStore) -> None:
        key, other = new_key(), self.reopen(store)
        lease = _acquired(store, key)
        timer = threading.Timer(0.1, lambda: store.append(key, make_entries(1), lease))
        timer.start()
        seen = _follow(other, key, 1)
        timer.join()
        assert seen == make_entries(1)

    def test_a_reader_beside_the_writer_sees_whole_prefixes_only(self, store: SessionStore) -> None:
        key, entries, other = new_key(), make_entries(300), self.reopen(store)
        lease, done, wrong = _acquired(store, key), threading.Event(), []

        def look() -> None:
            while not done.is_set():
                found = list(other.read(key))
                if found != entries[: len(found)]:
                    wrong.append(found)

        with ThreadPoolExecutor(2) as threads:
            readers = [threads.submit(look), threads.submit(look)]
            for first in range(0, 300, 3):
                store.append(key, entries[first : first + 3], lease)
            done.set()
            for reader in readers:
                reader.result()
        assert not wrong
        assert list(other.read(key)) == entries

    def test_a_follower_gets_every_entry_once(self, store: SessionStore) -> None:
        key, entries, other = new_key(), make_entries(200), self.reopen(store)
        lease = _acquired(store, key)
        with ThreadPoolExecutor(1) as threads:
            follower = threads.submit(_follow, other, key, len(entries))
            for entry in entries:
                store.append(key, [entry], lease)
            assert follower.result() == entries

    def test_threads_write_their_own_sessions_at_once(self, store: SessionStore) -> None:
        keys = [new_key() for _ in range(6)]

        def write(key: SessionKey) -> None:
            lease = _acquired(store, key)
            for number in range(1, 31):
                store.append(key, [make_entry(number, key.owner)], lease)
            store.release(lease)

        with ThreadPoolExecutor(6) as threads:
            list(threads.map(write, keys))
        for key in keys:
            assert list(store.read(key)) == [make_entry(number, key.owner) for number in range(1, 31)]

    def test_a_list_has_the_owners_sessions_alone_newest_first(self, store: SessionStore) -> None:
        owner, keys = new_key().owner, []
        for name in ("a", "b", "c"):
            keys.append(_written(store, new_key(name, owner=owner)))
        _written(store, new_key("d"))
        page, cursor = self.reopen(store).list(owner)
        assert [info.key for info in page] == keys[::-1]
        assert cursor is None
        assert all(0 < info.created <= info.updated + 1000 for info in page)

    def test_a_list_can_be_of_one_agent(self, store: SessionStore) -> None:
        owner = new_key().owner
        key = _written(store, new_key(owner=owner, agent="one"))
        _written(store, new_key(owner=owner, agent="two"))
        assert [info.key for info in store.list(owner, agent="one")[0]] == [key]
        assert store.list(owner, agent="three") == ([], None)

    def test_a_list_can_be_of_everybody_newest_first_and_paged(self, store: SessionStore) -> None:
        keys = [_written(store, new_key(f"all{number}")) for number in range(5)]
        first, cursor = store.list(None, limit=3)
        rest, _ = store.list(None, after=cursor, limit=200)
        found = [info.key for info in (*first, *rest)]
        assert found[:5] == keys[::-1]
        assert len({key.owner for key in keys}) == 5
        assert len(found) == len(set(found))

    @pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
    def test_the_pages_of_a_list_are_the_list(self, store: SessionStore, limit: int) -> None:
        owner = new_key().owner
        keys = [_written(store, new_key(f"s{number}", owner=owner)) for number in range(7)]
        found, cursor = [], None
        for _ in range(len(keys) + 1):
            page, cursor = store.list(owner, after=cursor, limit=limit)
            assert len(page) <= limit
            found += [info.key for info in page]
            if cursor is None:
                break
        assert cursor is None
        assert found == keys[::-1]

    @pytest.mark.parametrize(
        "cursor", ["", "x", "é", "AAAA", "bnVsbA==", "../../x", "0", "\x00", "W10=" * 100]
    )
    def test_a_cursor_that_no_page_gave_is_refused(self, store: SessionStore, cursor: str) -> None:
        owner = new_key().owner
        _written(store, new_key(owner=owner))
        with pytest.raises(BadRequest):
            store.list(owner, after=cursor)

    def test_a_deleted_session_is_closed_for_good_in_every_process(self, store: SessionStore) -> None:
        key, other = new_key(), self.reopen(store)
        lease = _acquired(store, key)
        store.append(key, make_entries(3), lease)
        assert other.last_seq(key) == 3
        store.delete(key, lease)
        with pytest.raises(SessionDeleted):
            store.append(key, [make_entry(4)], lease)
        store.release(lease)
        for each in (store, other, self.reopen(store)):
            for use in _uses(each, key):
                with pytest.raises(SessionDeleted):
                    use()
            assert not each.is_leased(key)

    def test_a_session_without_entries_can_be_closed_too(self, store: SessionStore) -> None:
        key = new_key()
        lease = _acquired(store, key)
        store.delete(key, lease)
        store.release(lease)
        with pytest.raises(SessionDeleted):
            self.reopen(store).acquire(key, _TTL)

    def test_only_the_writer_deletes(self, store: SessionStore) -> None:
        key = _written(store, new_key())
        stale = _acquired(store, key)
        store.release(stale)
        with pytest.raises(LeaseLost):
            store.delete(key, stale)
        assert store.last_seq(key) == 1

    def test_a_deleted_session_is_in_no_list_and_its_neighbours_stay(self, store: SessionStore) -> None:
        owner = new_key().owner
        gone, kept = (_written(store, new_key(name, owner=owner)) for name in ("gone", "kept"))
        lease = _acquired(store, gone)
        store.delete(gone, lease)
        store.release(lease)
        assert [info.key for info in self.reopen(store).list(owner)[0]] == [kept]
        assert store.last_seq(kept) == 1


def _acquired(store: SessionStore, key: SessionKey, turn_id: str | None = None) -> Lease:
    lease = store.acquire(key, _TTL, turn_id)
    assert lease is not None, "a free session was not leased"
    assert (lease.key, lease.turn_id) == (key, turn_id)
    return lease


def _written(store: SessionStore, key: SessionKey) -> SessionKey:
    """Give the session one entry, a moment after whatever was written before."""
    time.sleep(0.005)  # an order by time needs times that differ
    lease = _acquired(store, key)
    store.append(key, [make_entry(store.last_seq(key) + 1)], lease)
    store.release(lease)
    return key


def _follow(store: SessionStore, key: SessionKey, count: int) -> list[Entry]:
    """Read and wait by turns, as a tail does, until so many entries have come."""
    found: list[Entry] = []
    deadline = time.monotonic() + 30
    while len(found) < count and time.monotonic() < deadline:
        found += store.read(key, len(found))
        if len(found) < count:
            store.wait(key, len(found), 1)
    return found


def _uses(store: SessionStore, key: SessionKey) -> Iterable[Callable[[], object]]:
    return (
        lambda: store.acquire(key, _TTL),
        lambda: list(store.read(key)),
        lambda: list(store.read(key, 2)),
        lambda: store.last_seq(key),
    )
