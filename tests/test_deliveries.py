"""core/deliveries.py: a message's row comes with its proposal, is one process's at a time, and ends once."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import event, insert, select, update

from flask_litro_agent.core import tables
from flask_litro_agent.core.deliveries import Backlog, Deliveries
from flask_litro_agent.core.recording import Dismissed
from flask_litro_agent.errors import LedgerAway
from tests.databases import frozen, open_database
from tests.ledger_bench import LIMIT, TTL, LedgerBench, draft

ROOT = Path(__file__).parents[1]
HELD = 60_000
DAY = 86_400_000
HERE = pytest.mark.parametrize("database_uri", ["sqlite"], indirect=True)


@pytest.fixture
def clock(database):
    return frozen(database)


@pytest.fixture
def bench(clock):
    return LedgerBench(clock, announces=True)


@pytest.fixture
def kept(clock):
    return Deliveries(clock)


def rows(database):
    query = select(tables.delivery).order_by(tables.delivery.c.created_at, tables.delivery.c.event)
    return database.read(lambda connection: connection.execute(query).mappings().all())


def take(kept):
    taken = kept.take(for_ms=HELD)
    assert taken is not None
    return taken


# --- the row ---


def test_a_new_proposal_has_its_message_beside_it(clock, bench):
    proposal = bench.propose()
    (row,) = rows(clock)
    assert (row["event"], row["proposal"], row["attempts"]) == ("proposal.recorded", proposal.id, 0)
    assert row["created_at"] == row["due_at"] == proposal.created_at


def test_a_site_without_a_webhook_has_none(clock):
    LedgerBench(clock).propose()
    assert rows(clock) == []


def test_neither_a_twin_nor_a_dismissed_call_nor_a_refusal_is_announced(clock, bench):
    bench.propose({"order": 1})
    bench.ledger.record(draft({"order": 1}))
    dismissed = bench.propose({"order": 2})
    bench.dismiss(dismissed)
    assert isinstance(bench.ledger.record(draft({"order": 2})), Dismissed)
    for _ in range(4):
        bench.propose()
    bench.ledger.record(draft({"order": 3}))
    assert len(rows(clock)) == 6


def test_both_rows_are_written_or_neither(clock, bench):
    """What the process dies of between the two takes the proposal with it."""

    @event.listens_for(clock.engine, "before_cursor_execute")
    def fail(connection, cursor, statement, *rest):
        if "INTO litro_delivery" in statement:
            raise RuntimeError("the plug was pulled")

    with pytest.raises(RuntimeError):
        bench.propose({"order": 1})
    event.remove(clock.engine, "before_cursor_execute", fail)
    assert (bench.ledger.find()[0], rows(clock)) == ([], [])


# --- one at a time ---


def test_a_message_is_one_takers_for_its_time_and_then_anybodys(clock, bench, kept):
    bench.propose()
    first = take(kept)
    assert (first.attempts, first.due_at) == (1, clock.ms + HELD)
    assert Deliveries(clock).take(for_ms=HELD) is None
    clock.move(HELD)
    again = take(Deliveries(clock))
    assert (again.id, again.attempts) == (first.id, 2)


def test_what_was_sent_is_never_due_again(clock, bench, kept):
    bench.propose()
    kept.close(take(kept))
    clock.move(TTL * 100)
    assert kept.take(for_ms=HELD) is None
    assert kept.due_in() is None


def test_what_was_put_off_is_due_after_its_pause(clock, bench, kept):
    bench.propose()
    kept.put_off(take(kept), for_ms=5_000)
    assert kept.due_in() == 5_000
    assert kept.take(for_ms=HELD) is None
    clock.move(5_000)
    assert take(kept).attempts == 2


def test_who_came_back_too_late_changes_nothing(clock, bench, kept):
    bench.propose()
    late = take(kept)
    clock.move(HELD)
    owner = take(kept)
    for end in (kept.close, kept.give_up, lambda taken: kept.put_off(taken, for_ms=1)):
        end(late)
        assert kept.due_in() == HELD
    kept.close(owner)
    assert kept.due_in() is None


def test_a_fresh_message_does_not_wait_behind_those_that_fail(bench, kept):
    bench.propose()
    kept.put_off(take(kept), for_ms=0)
    fresh = bench.propose()
    assert take(kept).proposal.id == fresh.id


@HERE
def test_a_database_that_is_away_says_so(database):
    tables.delivery.drop(database.engine)
    with pytest.raises(LedgerAway):
        Deliveries(database).due_in()


def sent_by(database_uri, folder, variant):
    command = [sys.executable, "-m", "tests.delivery_child", database_uri, str(folder), variant, "4"]
    subprocess.run(command, cwd=ROOT, check=True, timeout=120)
    return Counter((folder / "sent").read_text().split())


@pytest.mark.server
def test_of_processes_that_carry_at_once_one_has_each_message(database, database_uri, tmp_path):
    bench = LedgerBench(database, announces=True, most_open=100)
    for _ in range(60):
        bench.propose()
    sent = sent_by(database_uri, tmp_path, "real")
    assert (len(sent), set(sent.values())) == (60, {1})


@HERE
@pytest.mark.server
def test_control_reading_first_and_writing_then_sends_twice(database, database_uri, tmp_path):
    bench = LedgerBench(database, announces=True, most_open=100)
    for _ in range(60):
        bench.propose()
    assert max(sent_by(database_uri, tmp_path, "control").values()) > 1


# --- whether it is still so ---


@pytest.mark.parametrize("end", ["dismissed", "claimed", "expired", "gone"])
def test_a_proposal_that_no_longer_waits_is_not_announced(clock, bench, kept, end):
    proposal = bench.propose(session=None)
    match end:
        case "dismissed":
            bench.dismiss(proposal)
        case "claimed":
            bench.claim(proposal)
        case "expired":
            clock.move(TTL)
        case "gone":
            bench.dismiss(proposal)
            clock.move(1)
            assert bench.ledger.prune(days=0) == 1
    assert not take(kept).is_true


# --- an unknown outcome ---


def lost(bench):
    claim = bench.claimed()
    bench.ledger.start(claim)
    return bench.ledger.lose(claim)


def test_an_outcome_that_nobody_knows_is_announced_once(clock, bench, kept):
    proposal = lost(bench)
    assert [kept.note_unknown() for _ in range(3)] == [1, 0, 0]
    recorded, unknown = rows(clock)
    assert (recorded["event"], unknown["event"]) == ("proposal.recorded", "proposal.unknown")
    taken = {found.event: found for found in (take(kept), take(kept))}
    assert {found.proposal.id for found in taken.values()} == {proposal.id}
    assert (taken["proposal.recorded"].is_true, taken["proposal.unknown"].is_true) == (False, True)
    for found in taken.values():
        kept.close(found)
    assert kept.note_unknown() == 0


def test_a_claim_over_its_limit_is_found_by_the_clock_alone(clock, bench, kept):
    bench.ledger.start(bench.claimed())
    assert kept.note_unknown() == 0
    clock.move(LIMIT + 10_000)
    assert kept.note_unknown() == 1


def test_one_that_was_answered_meanwhile_is_not_announced(bench, kept):
    proposal = lost(bench)
    kept.note_unknown()
    bench.answer(proposal, happened=True)
    assert [take(kept).is_true for _ in range(2)] == [False, False]


def test_of_two_that_find_it_one_writes(clock, bench, kept):
    """The unique key decides: the other read before the one had written."""
    proposal = lost(bench)
    found = kept._unknown()
    row = {"id": "other", "event": "proposal.unknown", "proposal": proposal.id, "attempts": 0}
    values = insert(tables.delivery).values(**row, created_at=1, due_at=1)
    clock.write(lambda connection: connection.execute(values).close())
    assert [kept._note(one) for one in found] == [False]


# --- what did not arrive ---


def test_the_backlog_counts_what_waits_and_what_was_given_up_lately(clock, bench, kept):
    for _ in range(4):
        bench.propose()
    assert kept.backlog() == Backlog(waiting=0, failed=0)
    kept.give_up(take(kept))
    kept.put_off(take(kept), for_ms=1_000)
    kept.close(take(kept))
    assert kept.backlog() == Backlog(waiting=1, failed=1)
    clock.move(8 * DAY)
    assert kept.backlog() == Backlog(waiting=1, failed=0)


# --- pruning ---


def ids(database):
    return {row["id"] for row in rows(database)}


def test_what_is_over_goes_after_its_days_and_what_waits_stays(clock, bench, kept):
    for _ in range(3):
        bench.propose()
    kept.close(take(kept))
    kept.give_up(take(kept))
    assert kept.prune(days=1) == 0
    clock.move(DAY + 1)
    assert kept.prune(days=1) == 2
    assert len(ids(clock)) == 1


def test_the_row_of_an_unknown_outcome_stays_as_long_as_that(clock, bench, kept):
    """It would be announced again without it."""
    proposal = lost(bench)
    kept.note_unknown()
    for _ in range(2):
        kept.close(take(kept))
    clock.move(300 * DAY)
    kept.prune(days=1)
    assert kept.note_unknown() == 0
    bench.answer(proposal, happened=False)
    clock.move(1)
    kept.prune(days=0)
    assert ids(clock) == set()


def test_the_rows_of_proposals_that_are_gone_go_too(clock, bench, kept):
    bench.dismiss(bench.propose(session=None))
    bench.propose()
    clock.move(1)
    assert bench.ledger.prune(days=0) == 1
    assert kept.prune(days=None) == 1
    assert len(ids(clock)) == 1


def test_a_row_can_stand_without_its_proposal(clock, kept):
    """A table of its own, without a foreign key: pruning proposals never waits for messages."""
    row = {"id": "m", "event": "proposal.recorded", "proposal": "gone", "attempts": 0}
    statement = insert(tables.delivery).values(**row, created_at=1, due_at=1)
    clock.write(lambda connection: connection.execute(statement).close())
    assert take(kept).proposal is None


def test_a_clock_that_was_set_back_makes_nothing_due_twice(clock, bench, kept):
    bench.propose()
    taken = take(kept)
    clock.move(-HELD)
    assert kept.take(for_ms=HELD) is None
    kept.close(taken)
    assert kept.due_in() is None


@HERE
def test_looking_for_what_is_due_writes_nothing(database, tmp_path):
    """Every process looks every 30 seconds: it must not take SQLite's one lock for that."""
    kept = Deliveries(database)
    other = open_database(str(database.engine.url))
    with other.engine.connect() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        connection.execute(update(tables.delivery).values(attempts=0))
        assert (kept.due_in(), kept.note_unknown()) == (None, 0)
    other.engine.dispose()
