"""core/audit.py: one chain in three databases, what shows that somebody changed it, and what never waits for it."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest
from sqlalchemy import Connection, delete, insert, select, text, update

from flask_litro_agent.core.audit import Audit, Head
from flask_litro_agent.core.proposals import sha256_of
from flask_litro_agent.core.tables import AUDIT, audit, epoch, refusal
from tests.databases import frozen, open_database
from tests.ledger_bench import LedgerBench

SOON = 30.0
WRITERS, EACH = 4, 8
REFUSAL = {
    "agent": "desk",
    "actor": "7",
    "session": "s1",
    "tool": "refund",
    "origin": "chat",
    "code": "forbidden",
}
servers = pytest.mark.parametrize("database_uri", ["postgresql", "mariadb"], indirect=True)
sqlite = pytest.mark.parametrize("database_uri", ["sqlite"], indirect=True)


@pytest.fixture
def chain(database):
    return Audit(database)


@pytest.fixture
def five(database, chain):
    """A chain of five rows, and its end."""
    for number in range(1, 6):
        write(database, chain, number)
    return chain.head()


def write(database: Any, chain: Audit, number: int = 0) -> Head:
    return append(database, chain, kind="ceiling", number=number)


def append(database: Any, chain: Audit, *, kind: str, number: int = 0) -> Head:
    def work(connection: Connection) -> Head:
        return chain.append(
            connection, kind=kind, actor="olá", subject=f"agent:{number}", data={"number": number}
        )

    head: Head = database.write(work)
    return head


def change(database: Any, *statements: Any) -> None:
    """Do to the table what whoever can write to the database could do."""

    def work(connection: Connection) -> None:
        for statement in statements:
            connection.execute(statement).close()

    database.write(work)


def stored(database: Any, seq: int) -> dict[str, Any]:
    row = select(audit).where(audit.c.seq == seq)
    return database.read(lambda connection: dict(connection.execute(row).mappings().one()))


def rehashed(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with the hash that its content asks for."""
    content = [row[name] for name in ("seq", "at", "kind", "actor", "subject")]
    return row | {"hash": sha256_of([*content, row["data"].decode(), row["previous"]])}


# the chain


def test_an_empty_chain_is_whole_and_ends_at_nothing(chain):
    found = chain.verify()
    assert (found.rows, found.faults, str(found.head)) == (0, (), f"0:{'0' * 64}")
    assert chain.head() == found.head


def test_each_row_hangs_on_the_one_before(database, chain, five):
    rows = list(chain.rows())
    assert [row.seq for row in rows] == [1, 2, 3, 4, 5]
    assert [row.previous for row in rows] == ["0" * 64, *(row.hash for row in rows[:-1])]
    assert [dict(row.data) for row in rows] == [{"number": number} for number in range(1, 6)]
    assert five == Head(5, rows[-1].hash)
    assert chain.verify(five).faults == ()


def test_rows_are_listed_behind_a_number(chain, five):
    assert [row.seq for row in chain.rows(after=3)] == [4, 5]


@pytest.mark.parametrize("bytes_", [b"", b"{", b"[]", b"null", b"\xff", b'{"a":1,"a":2}'])
def test_a_destroyed_row_is_listed_as_one_among_the_others(database, chain, five, bytes_):
    change(database, update(audit).where(audit.c.seq == 2).values(data=bytes_))
    rows = list(chain.rows())
    assert [row.seq for row in rows] == [1, 2, 3, 4, 5]
    assert [row.is_destroyed for row in rows] == [False, True, False, False, False]
    assert (rows[1].data, rows[1].kind) == (None, "ceiling")


@sqlite
@pytest.mark.parametrize("left", ["'gone'", "'{\"number\":2}'", "CAST(x'ff' AS TEXT)"])
def test_in_a_file_somebody_may_leave_text_where_bytes_stand(database, chain, five, left):
    """SQLite keeps whatever type it is given."""
    change(
        database, text(f"UPDATE litro_audit SET data = {left}, at = 'noon' WHERE seq = 2".replace(":", r"\:"))
    )
    assert [(row.at is None, row.is_destroyed) for row in chain.rows()][:2] == [(False, False), (True, True)]
    assert "row 2 was changed: its hash is not its own" in chain.verify().faults


def test_the_newest_rows_are_listed_by_kind_and_in_front_of_a_number(database, chain, five):
    append(database, chain, kind="dismissed")
    assert [row.seq for row in chain.newest(limit=2)] == [6, 5]
    assert [row.seq for row in chain.newest(before=3)] == [2, 1]
    assert [row.seq for row in chain.newest(kind="ceiling", before=5, limit=2)] == [4, 3]
    assert [row.seq for row in chain.newest(kind="dismissed")] == [6]


def test_a_destroyed_row_is_among_the_newest_as_one(database, chain, five):
    change(database, update(audit).where(audit.c.seq == 5).values(data=b"{"))
    assert [row.is_destroyed for row in chain.newest(limit=2)] == [True, False]


def test_a_row_has_the_databases_time(database):
    clock = frozen(database, 1_800_000_000_123)
    chain = Audit(clock)
    write(clock, chain)
    assert [row.at for row in chain.rows()] == [1_800_000_000_123]


def test_a_transaction_that_fails_leaves_neither_its_change_nor_its_row(database, chain, five):
    def work(connection: Connection) -> None:
        chain.append(connection, kind="ceiling", actor="7", subject="site", data={})
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        database.write(work)
    assert chain.verify(five).faults == ()
    assert chain.head() == five


def test_a_chain_of_several_groups_is_read_whole(database, chain):
    def work(connection: Connection) -> None:
        for _ in range(501):
            chain.append(connection, kind="ceiling", actor="7", subject="site", data={})

    database.write(work)
    found = chain.verify()
    assert (found.rows, found.head.seq, found.faults) == (501, 501, ())


def test_many_who_append_at_once_make_one_chain_that_is_whole_at_every_moment(database, database_uri):
    """Each writer is a site of its own; whoever verifies meanwhile never sees a fault."""
    told: list[str] = []
    ended = threading.Event()

    def writer() -> None:
        own = open_database(database_uri)
        for number in range(EACH):
            write(own, Audit(own), number)
        own.engine.dispose()

    def reader() -> None:
        while not ended.is_set():
            told.extend(Audit(database).verify().faults)

    writers = [threading.Thread(target=writer) for _ in range(WRITERS)]
    looking = threading.Thread(target=reader)
    for thread in (looking, *writers):
        thread.start()
    for thread in writers:
        thread.join(SOON)
    ended.set()
    looking.join(SOON)
    found = Audit(database).verify()
    assert (found.rows, found.faults) == (WRITERS * EACH, ())
    assert told == []


def test_control_a_row_of_a_writer_who_did_not_wait_hangs_on_nothing(database, chain, five):
    late = rehashed(stored(database, 4) | {"seq": 6})
    change(database, insert(audit).values(**late), update(epoch).where(epoch.c.id == AUDIT).values(value=6))
    assert chain.verify().faults == ("row 6 does not hang on row 5",)


# what shows


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("at", 1),
        ("kind", "approved"),
        ("actor", "ola"),
        ("subject", "agent:3 "),
        ("data", b'{"number":4}'),
        ("data", b'{"number": 3}'),
        ("data", b'{"number":3,"number":3}'),
        ("data", b'{"number":3'),
        ("data", b'{"number":"\xff"}'),
        ("data", b""),
        ("previous", "0" * 64),
        ("hash", "0" * 64),
    ],
)
def test_a_changed_row_is_named(database, chain, five, column, value):
    change(database, update(audit).where(audit.c.seq == 3).values({column: value}))
    assert "row 3 was changed: its hash is not its own" in chain.verify().faults


def test_a_changed_row_with_a_hash_of_its_own_breaks_the_next(database, chain, five):
    forged = rehashed(stored(database, 3) | {"actor": "mallory"})
    change(database, update(audit).where(audit.c.seq == 3).values(**forged))
    assert chain.verify().faults == ("row 4 does not hang on row 3",)


@pytest.mark.parametrize("seq", [1, 3])
def test_a_deleted_row_is_missed(database, chain, five, seq):
    change(database, delete(audit).where(audit.c.seq == seq))
    assert f"row {seq + 1} follows row {seq - 1}: a row between them is gone" in chain.verify().faults


def test_a_deleted_row_whose_place_was_closed_is_missed(database, chain, five):
    moves = [update(audit).where(audit.c.seq == seq).values(seq=seq - 1) for seq in (4, 5)]
    fewer = update(epoch).where(epoch.c.id == AUDIT).values(value=4)
    change(database, delete(audit).where(audit.c.seq == 3), *moves, fewer)
    assert "row 3 does not hang on row 2" in chain.verify().faults


def test_two_swapped_rows_are_seen(database, chain, five):
    swap = [(2, 99), (3, 2), (99, 3)]
    change(database, *(update(audit).where(audit.c.seq == old).values(seq=new) for old, new in swap))
    faults = chain.verify().faults
    assert "row 2 was changed: its hash is not its own" in faults
    assert "row 3 was changed: its hash is not its own" in faults


def test_a_row_in_between_is_seen(database, chain, five):
    moves = [update(audit).where(audit.c.seq == seq).values(seq=seq + 1) for seq in (5, 4, 3)]
    between = rehashed(stored(database, 3) | {"actor": "mallory"})
    more = update(epoch).where(epoch.c.id == AUDIT).values(value=6)
    change(database, *moves, insert(audit).values(**between), more)
    assert "row 4 was changed: its hash is not its own" in chain.verify().faults


@pytest.mark.parametrize("seq", [0, -1])
def test_a_row_in_front_is_seen(database, chain, five, seq):
    front = rehashed(stored(database, 1) | {"seq": seq, "actor": "mallory"})
    change(database, insert(audit).values(**front))
    assert chain.verify().faults


def test_a_row_behind_the_end_that_nobody_counted_is_seen(database, chain, five):
    behind = rehashed(stored(database, 5) | {"seq": 6, "previous": five.hash})
    change(database, insert(audit).values(**behind))
    assert chain.verify().faults == (
        "the chain ends at row 6, but 5 rows were written: a row was added behind its end",
    )


def test_a_cut_end_is_seen_by_the_count(database, chain, five):
    change(database, delete(audit).where(audit.c.seq == 5))
    assert chain.verify().faults == ("the chain ends at row 4, but 5 rows were written: its end is cut",)


def test_a_cut_end_whose_count_was_changed_too_is_seen_by_a_kept_head_alone(database, chain, five):
    fewer = update(epoch).where(epoch.c.id == AUDIT).values(value=4)
    change(database, delete(audit).where(audit.c.seq == 5), fewer)
    assert chain.verify().faults == ()
    (fault,) = chain.verify(five).faults
    assert fault == "row 5 is not the one whose hash was kept: the chain was cut or rewritten"


def test_a_chain_written_anew_is_seen_by_a_kept_head_alone(database, chain, five):
    previous, forged = stored(database, 2)["hash"], []
    for seq in (3, 4, 5):
        row = rehashed(stored(database, seq) | {"actor": "mallory", "previous": previous})
        previous = row["hash"]
        forged.append(update(audit).where(audit.c.seq == seq).values(**row))
    change(database, *forged)
    assert chain.verify().faults == ()
    assert len(chain.verify(five).faults) == 1


def test_a_head_that_was_kept_stays_true_while_the_chain_grows(database, chain, five):
    write(database, chain)
    assert chain.verify(five).faults == ()


def test_pruning_leaves_the_chain_whole(database):
    clock = frozen(database)
    bench = LedgerBench(clock)
    bench.dismiss(bench.propose(session=None))
    kept = bench.audit.head()
    clock.move(86_400_000 + 1)
    assert bench.ledger.prune(days=1) == 1
    found = bench.audit.verify(kept)
    assert (found.rows, found.faults) == (2, ())


# refusals


def hold(database: Any, chain: Audit, held: threading.Event, let_go: threading.Event) -> threading.Thread:
    """Keep a transaction open that has appended, until it is let go."""

    def work(connection: Connection) -> None:
        chain.append(connection, kind="ceiling", actor="7", subject="site", data={})
        held.set()
        let_go.wait(5)

    holder = threading.Thread(target=lambda: database.write(work))
    holder.start()
    assert held.wait(SOON)
    return holder


def noted(database: Any) -> list[tuple[str, str]]:
    query = select(refusal.c.tool, refusal.c.code).order_by(refusal.c.id)
    return [tuple(row) for row in database.read(lambda connection: connection.execute(query).all())]


def test_a_refusal_is_a_row_beside_the_chain(database, chain, five):
    chain.refuse(**REFUSAL)
    assert noted(database) == [("refund", "forbidden")]
    assert chain.head() == five


def test_a_long_name_is_noted_by_its_beginning(database, chain):
    chain.refuse(**REFUSAL | {"tool": "x" * 1000})
    assert noted(database) == [("x" * 80, "forbidden")]


@servers
def test_a_refusal_never_waits_for_a_transaction_that_holds_the_chain(database, chain):
    let_go = threading.Event()
    holder = hold(database, chain, threading.Event(), let_go)
    try:
        chain.refuse(**REFUSAL)
        assert noted(database) == [("refund", "forbidden")]
        assert holder.is_alive(), "control: the chain's lock was held all the time"
        assert chain.head().seq == 0
    finally:
        let_go.set()
        holder.join(SOON)


@servers
def test_control_a_decision_does_wait_for_it(database, chain):
    let_go = threading.Event()
    holder = hold(database, chain, threading.Event(), let_go)
    other = threading.Thread(target=write, args=(database, chain))
    other.start()
    other.join(0.3)
    assert other.is_alive()
    let_go.set()
    for thread in (holder, other):
        thread.join(SOON)
    assert chain.verify().rows == 2


@sqlite
def test_in_a_file_with_one_writer_a_refusal_is_noted_behind_it(database, chain):
    let_go = threading.Event()
    holder = hold(database, chain, threading.Event(), let_go)
    refusing = threading.Thread(target=lambda: chain.refuse(**REFUSAL))
    refusing.start()
    let_go.set()
    for thread in (holder, refusing):
        thread.join(SOON)
    assert noted(database) == [("refund", "forbidden")]


@sqlite
def test_a_refusal_that_cannot_be_noted_is_logged_and_raises_nothing(database, chain, caplog):
    refusal.drop(database.engine)
    with caplog.at_level(logging.WARNING):
        chain.refuse(**REFUSAL)
    assert "litro audit: a refusal was not noted" in caplog.text
