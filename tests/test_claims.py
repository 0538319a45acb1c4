"""core/claims.py and core/claimants.py: claim, start, settle, and who is alive."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
import weakref
from dataclasses import replace

import pytest
from sqlalchemy import event, select, update
from sqlalchemy.exc import OperationalError

from flask_litro_agent.core import standing
from flask_litro_agent.core.claimants import Claimants
from flask_litro_agent.core.claims import START_MS, EpochMoved, facts
from flask_litro_agent.core.database import Database
from flask_litro_agent.core.proposals import State
from flask_litro_agent.core.tables import POLICY, claimant, epoch, proposal
from flask_litro_agent.errors import LedgerAway
from tests.databases import frozen, new_ledger, open_database
from tests.ledger_bench import LIMIT, OPERATOR, SESSION_KEY, LedgerBench

SOON = 30.0


@pytest.fixture
def clock(database):
    return frozen(database)


@pytest.fixture
def bench(clock):
    return LedgerBench(clock)


@pytest.fixture
def sqlite(tmp_path):
    """The embedded default, for what does not depend on the database."""
    opened = open_database(new_ledger(tmp_path / "ledger.db"))
    yield opened
    opened.engine.dispose()


def set_epoch(database, value):
    statement = update(epoch).where(epoch.c.id == POLICY).values(value=value)
    database.write(lambda connection: connection.execute(statement).close())


def beats(database):
    query = select(claimant.c.id, claimant.c.beat_at)
    return {row.id: row.beat_at for row in database.read(lambda connection: connection.execute(query).all())}


def until(holds):
    deadline = time.monotonic() + SOON
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# claiming


def test_a_claim_takes_the_row_and_says_who_and_when(bench, clock):
    one = bench.propose()
    clock.move(7)
    claim = bench.claim(one)
    taken = bench.now(one)
    assert claim.proposal == taken
    assert (taken.state, taken.claim_id, taken.claimed_at) == (State.CLAIMED, claim.claim_id, clock.ms)
    assert (taken.decided_by, taken.started_at, taken.settled_at) == (OPERATOR, None, None)
    assert beats(clock) == {claim.claimant: clock.ms}
    (row,) = bench.audit.rows()
    assert (row.kind, row.actor, row.subject, row.data) == ("approved", OPERATOR, one.id, facts(one))


def test_a_claim_is_won_once(bench):
    one = bench.propose()
    assert bench.claim(one)
    assert bench.claim(one) is None
    assert len(bench.audited()) == 1


def test_a_claim_needs_the_digest_that_was_shown(bench):
    """D11."""
    one = bench.propose()
    assert bench.ledger.claim(one.id, "0" * 64, operator_id=OPERATOR, epoch=0) is None
    assert bench.now(one).state is State.PROPOSED
    assert bench.audited() == []


def test_a_claim_under_another_epoch_does_not_go_through(bench, clock):
    one = bench.propose()
    set_epoch(clock, 1)
    for known in (0, 2):
        with pytest.raises(EpochMoved):
            bench.claim(one, epoch=known)
    assert bench.now(one).state is State.PROPOSED
    assert bench.claim(one, epoch=1)


def test_a_claim_without_an_epoch_row_does_not_go_through(bench, clock):
    one = bench.propose()
    clock.write(lambda connection: connection.execute(epoch.delete().where(epoch.c.id == POLICY)).close())
    with pytest.raises(EpochMoved):
        bench.claim(one)


def test_a_claim_that_waited_while_the_ceiling_fell_does_not_go_through(database):
    """A stranger holds the row; the epoch moves before it is let go, and the epoch was read first."""
    bench = LedgerBench(database)
    one = bench.propose()
    moving, outcome = threading.Event(), []

    def claim():
        moving.wait(SOON)
        try:
            outcome.append(bench.claim(one))
        except EpochMoved as error:
            outcome.append(error)

    thread = threading.Thread(target=claim)
    thread.start()

    def move(connection):
        connection.execute(update(epoch).where(epoch.c.id == POLICY).values(value=1))
        moving.set()
        time.sleep(0.3)  # the claim comes to the epoch's lock and waits there

    database.write(move)
    thread.join(SOON)
    assert [type(one) for one in outcome] == [EpochMoved]
    assert bench.now(one).state is State.PROPOSED


def test_a_claim_that_waited_for_its_row_beyond_the_lifetime_does_not_go_through(database):
    bench = LedgerBench(database)
    one = bench.propose(ttl_ms=400)
    holding, outcome = threading.Event(), []

    def hold(connection):
        connection.execute(select(proposal.c.id).where(proposal.c.id == one.id).with_for_update())
        holding.set()
        time.sleep(0.6)

    holder = threading.Thread(target=lambda: database.write(hold))
    holder.start()
    assert holding.wait(SOON)
    outcome.append(bench.claim(one))
    holder.join(SOON)
    assert outcome == [None]
    assert bench.now(one).state is State.EXPIRED


# starting


@pytest.mark.parametrize(("waited", "starts"), [(0, True), (START_MS - 1, True), (START_MS, False)])
def test_a_claim_that_waited_too_long_does_not_start(bench, clock, waited, starts):
    claim = bench.claimed()
    clock.move(waited)
    assert bench.ledger.start(claim) is starts
    assert bench.now(claim.proposal).started_at == (clock.ms if starts else None)


def test_a_claim_starts_once(bench):
    claim = bench.claimed()
    assert bench.ledger.start(claim)
    assert not bench.ledger.start(claim)


def test_what_is_settled_or_given_up_and_answered_does_not_start(bench):
    settled, answered = bench.claimed(), bench.claimed()
    bench.ledger.settle(settled, outcome="failed")
    bench.ledger.lose(answered)
    bench.answer(answered.proposal, happened=False)
    assert not bench.ledger.start(settled)
    assert not bench.ledger.start(answered)


def test_somebody_elses_claim_id_does_not_start(bench):
    claim = bench.claimed()
    assert not bench.ledger.start(replace(claim, claim_id="0" * 32))


# settling


def test_settling_writes_how_it_ended(bench, clock):
    claim = bench.claimed()
    clock.move(10)
    settled = bench.ledger.settle(claim, outcome="ok", result={"id": 7, "sum": "1.50"})
    assert settled == bench.now(claim.proposal)
    assert (settled.state, settled.outcome, settled.truth) == (State.EXECUTED, "ok", None)
    assert (settled.result, settled.settled_at) == ({"id": 7, "sum": "1.50"}, clock.ms)
    assert [row[0] for row in bench.audited()] == ["approved", "executed"]


def test_a_failure_has_the_id_under_which_the_log_knows_it(bench):
    settled = bench.ledger.settle(bench.claimed(), outcome="failed", error_id="e1")
    assert (settled.outcome, settled.error_id, settled.result) == ("failed", "e1", None)
    assert [row.data.get("error_id") for row in bench.audit.rows()] == [None, "e1"]


def test_settling_twice_changes_nothing(bench, clock):
    claim = bench.claimed()
    first = bench.ledger.settle(claim, outcome="ok", result=1)
    clock.move(5)
    again = bench.ledger.settle(claim, outcome="failed")
    assert (again.outcome, again.result, again.settled_at) == (first.outcome, 1, first.settled_at)
    assert len(bench.audited()) == 2


def test_there_are_two_outcomes(bench):
    with pytest.raises(ValueError, match="ok or failed"):
        bench.ledger.settle(bench.claimed(), outcome="unknown")


def test_a_truth_that_comes_after_unknown_is_flagged(bench, clock):
    claim = bench.claimed()
    clock.move(standing.DEAD_MS + 1)
    settled = bench.ledger.settle(claim, outcome="ok")
    assert (settled.state, settled.outcome, settled.truth) == (State.EXECUTED, "ok", "late")
    assert [row[0] for row in bench.audited()] == ["approved", "late"]


def test_a_truth_that_comes_after_an_operators_answer_is_written_and_flagged(bench):
    claim = bench.claimed()
    bench.ledger.lose(claim)
    bench.answer(claim.proposal, happened=False)
    settled = bench.ledger.settle(claim, outcome="ok", result="done")
    assert (settled.outcome, settled.truth, settled.result) == ("ok", "late", "done")
    *_, row = bench.audit.rows()
    assert (row.kind, row.data["answered"], row.data["outcome"]) == ("late", "failed", "ok")
    assert bench.ledger.settle(claim, outcome="failed").outcome == "ok", "and that is the last word"


def test_settling_with_a_claim_that_is_not_in_the_ledger_is_no_success(bench, clock):
    claim = bench.claimed()
    clock.write(lambda connection: connection.execute(proposal.delete()).close())
    with pytest.raises(LedgerAway, match="no longer in the ledger"):
        bench.ledger.settle(claim, outcome="ok")


def test_a_claim_that_is_given_up_is_unknown_at_once(bench):
    claim = bench.claimed()
    lost = bench.ledger.lose(claim, error_id="e7")
    assert (lost.state, lost.error_id, lost.outcome) == (State.UNKNOWN, "e7", None)
    assert [row[0] for row in bench.audited()] == ["approved", "unknown"]
    assert [one.id for one in bench.ledger.owed(SESSION_KEY)] == [lost.id]


def test_what_is_settled_is_not_given_up(bench):
    claim = bench.claimed()
    settled = bench.ledger.settle(claim, outcome="ok")
    assert bench.ledger.lose(claim, error_id="e7") == settled


# a COMMIT whose answer is lost, and a database that goes away


class Line:
    """Cuts the line around the first COMMIT that would write a proposal's row; ``then_away``: for longer than that."""

    def __init__(self, database: Database, when: str, *, then_away: bool = False) -> None:
        self.when, self.then_away = when, then_away
        self.is_armed = self.was_cut = self.is_away = False
        self._engine = database.engine
        self._dialect = self._engine.dialect
        self._commit = self._dialect.do_commit
        self._dialect.do_commit = self._cut
        event.listen(self._engine, "before_cursor_execute", self._watch)

    def _watch(self, connection, cursor, statement, *_):
        if self.is_away:
            raise OperationalError(statement, {}, self._lost())
        self.is_armed = self.is_armed or (statement.startswith("UPDATE litro_proposal") and not self.was_cut)

    def _cut(self, connection):
        if not self.is_armed:
            return self._commit(connection)
        if self.when == "after":
            self._commit(connection)
        self.is_armed, self.was_cut, self.is_away = False, True, self.then_away
        if self._dialect.name != "sqlite":
            connection.dbapi_connection.close()
        raise self._lost()

    def _lost(self):
        return self._dialect.loaded_dbapi.OperationalError(2013, "the line is cut")

    def mend(self):
        assert self.was_cut, "the fault was injected"
        self.is_away = False
        self._dialect.do_commit = self._commit
        event.remove(self._engine, "before_cursor_execute", self._watch)


def test_a_claim_whose_commit_was_answered_by_silence_is_ours_when_it_stands(database):
    bench = LedgerBench(database)
    one = bench.propose()
    line = Line(database, "after")
    claim = bench.claim(one)
    line.mend()
    assert bench.now(one).claim_id == claim.claim_id
    assert len(bench.audited()) == 1


def test_a_claim_whose_commit_did_not_arrive_is_not_ours(database):
    bench = LedgerBench(database)
    one = bench.propose()
    line = Line(database, "before")
    with pytest.raises(LedgerAway):
        bench.claim(one)
    line.mend()
    assert bench.now(one).state is State.PROPOSED
    assert bench.audited() == []
    assert bench.claim(one)


def test_a_claim_that_nobody_can_look_up_is_not_run_and_ends_as_unknown(database):
    bench = LedgerBench(database)
    one = bench.propose()
    line = Line(database, "after", then_away=True)
    with pytest.raises(LedgerAway):
        bench.claim(one)
    line.mend()
    assert bench.now(one).state is State.CLAIMED
    later = LedgerBench(frozen(database, database.time() + standing.DEAD_MS + 1_000))
    assert later.now(one).state is State.UNKNOWN


def test_a_start_whose_commit_is_lost_does_not_run(database):
    bench = LedgerBench(database)
    claim = bench.claimed()
    line = Line(database, "after")
    with pytest.raises(LedgerAway):
        bench.ledger.start(claim)
    line.mend()
    assert not bench.ledger.start(claim)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_settlement_whose_commit_is_lost_is_settled_by_doing_it_again(database, when):
    bench = LedgerBench(database)
    claim = bench.claimed()
    line = Line(database, when)
    settled = bench.ledger.settle(claim, outcome="ok", result=[1])
    line.mend()
    assert (settled.outcome, settled.truth, settled.result) == ("ok", None, [1])
    assert [row[0] for row in bench.audited()] == ["approved", "executed"]


# claimants


def test_a_process_beats_while_it_holds_claims_and_then_stops(sqlite, threads):
    claimants = Claimants(sqlite, beat_seconds=0.02)
    claimants.beat()
    claimants.hold("one", LIMIT)
    claimants.hold("two", LIMIT)
    first = beats(sqlite)[claimants.id]
    until(lambda: beats(sqlite)[claimants.id] > first)
    claimants.release("one")
    second = beats(sqlite)[claimants.id]
    until(lambda: beats(sqlite)[claimants.id] > second)
    claimants.release("two")
    until(lambda: not threads())
    claimants.hold("three", LIMIT)
    third = beats(sqlite)[claimants.id]
    until(lambda: beats(sqlite)[claimants.id] > third)
    claimants.release("three")


@pytest.fixture
def threads():
    """A function that returns the threads which began during this test and have not ended."""
    before = set(threading.enumerate())
    return lambda: set(threading.enumerate()) - before


def test_a_claim_that_nobody_lets_go_is_forgotten_after_its_time(sqlite, threads):
    claimants = Claimants(sqlite, beat_seconds=0.02)
    claimants.beat()
    claimants.hold("one", -standing.GRACE_MS)
    until(lambda: not threads())


def test_a_ledger_that_is_thrown_away_stops_beating(sqlite, threads):
    claimants = Claimants(sqlite, beat_seconds=0.02)
    claimants.beat()
    claimants.hold("one", LIMIT)
    known = weakref.ref(claimants)
    del claimants
    until(lambda: known() is None and not threads())


def test_a_beat_that_fails_is_logged_and_the_next_one_tried(sqlite, caplog):
    claimants = Claimants(sqlite, beat_seconds=0.02)
    claimants.beat()
    sqlite.write(lambda connection: connection.exec_driver_sql("ALTER TABLE litro_claimant RENAME TO away"))
    with caplog.at_level(logging.WARNING):
        claimants.hold("one", LIMIT)
        until(lambda: len(caplog.records) >= 2)
    sqlite.write(lambda connection: connection.exec_driver_sql("ALTER TABLE away RENAME TO litro_claimant"))
    first = beats(sqlite)[claimants.id]
    until(lambda: beats(sqlite)[claimants.id] > first)
    claimants.release("one")


def test_a_process_whose_row_was_pruned_makes_it_again(bench, clock):
    claim = bench.claimed()
    bench.ledger.settle(claim, outcome="ok")
    clock.move(86_400_001)
    bench.ledger.prune(days=10)
    assert beats(clock) == {}
    again = bench.claimed()
    assert beats(clock) == {again.claimant: clock.ms}
    assert bench.now(again.proposal).state is State.CLAIMED


FORK = """
import os, sys
from tests.databases import open_database
from tests.ledger_bench import LedgerBench

bench = LedgerBench(open_database(sys.argv[1]))
mine = bench.claimed(session="parent").claimant
bench.database.engine.dispose()
child = os.fork()
theirs = bench.claimed(arguments={"number": os.getpid()}, session="both").claimant  # or each finds the other's twin
if child == 0:
    os._exit(0 if theirs != mine else 3)
assert theirs == mine
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_is_a_claimant_of_its_own(sqlite):
    uri = sqlite.engine.url.render_as_string(hide_password=False)
    done = subprocess.run([sys.executable, "-c", FORK, uri], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    assert len(beats(sqlite)) == 2
