"""A ledger whose disk is full: one sentence for the operator, nothing is lost, and nothing runs twice."""

from __future__ import annotations

from collections import Counter

import pytest
from sqlalchemy import event, insert

from flask_litro_agent.core.execution import inline
from flask_litro_agent.core.gate import Refused
from flask_litro_agent.core.proposals import State
from flask_litro_agent.core.standing import DEAD_MS
from flask_litro_agent.core.tables import refusal
from flask_litro_agent.errors import LedgerAway, ProposalClosed
from tests.gate_bench import GateBench, Spy

MANY = 12
FILLER = {
    "at": 1,
    "agent": "desk",
    "actor": "7",
    "session": "s1",
    "tool": "x" * 80,
    "origin": "chat",
    "code": "forbidden",
}


class Disk:
    """How many pages SQLite may have: as many as it has, or a great many; when there is no room it says so itself."""

    def __init__(self, database):
        self.database, self.pages = database, 0
        event.listen(database.engine, "connect", self._limit)
        event.listen(database.engine, "checkout", lambda connection, *rest: self._limit(connection))

    def _limit(self, connection, *rest):
        connection.execute(f"PRAGMA max_page_count={self.pages or 1_000_000}").fetchall()

    def fill(self):
        self.pages = 1  # never less than there are
        with pytest.raises(LedgerAway):
            self._write(1_000)

    def empty(self):
        self.pages = 0

    def _write(self, rows):
        statement = insert(refusal).values(**FILLER)
        for _ in range(rows):
            self.database.write(lambda connection: connection.execute(statement).close())


@pytest.fixture
def spy():
    return Spy()


@pytest.fixture
def bench(tmp_path, spy):
    made = GateBench(tmp_path, spy.tool())
    made.gate = made.gate.within(inline)
    made.disk = Disk(made.database)
    return made


def test_an_approval_on_a_full_disk_is_one_sentence_and_runs_nothing_twice(bench, spy):
    """Wherever the room ends, at the claim, the start or the settlement: each runs at most once, and all are there."""
    ones = [bench.propose(arguments={"number": n}, session_id=f"s{n}") for n in range(MANY)]
    bench.disk.fill()
    away = []
    for one in ones:
        try:
            bench.approve(one)
        except LedgerAway as error:
            away.append(error.message)
    assert away, "the disk was never full"
    assert all("\n" not in message and "sqlite" not in message.lower() for message in away)

    bench.disk.empty()
    bench.database.move(DEAD_MS + 1)
    for one in ones:
        before = bench.now(one).state
        assert before in (State.PROPOSED, State.EXECUTED, State.UNKNOWN)
        if before is State.PROPOSED:
            assert bench.approve(one).state is State.EXECUTED
        else:
            with pytest.raises(ProposalClosed):
                bench.approve(one)
    ran = Counter(params["number"] for params, _ in spy.calls)
    assert set(ran.values()) == {1}
    assert {n for n, one in enumerate(ones) if bench.now(one).state is State.EXECUTED} <= ran.keys()
    assert bench.audit.verify().faults == ()


def test_a_proposal_on_a_full_disk_is_a_failed_call_and_goes_through_later(bench, spy):
    bench.disk.fill()
    outcomes = [bench.call(arguments={"number": n}, session_id=f"s{n}") for n in range(MANY)]
    refused = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
    assert {outcome.code for outcome in refused} == {"failed"}, "the disk was never full"
    bench.disk.empty()
    assert bench.propose(arguments={"number": 99}, session_id="later").state is State.PROPOSED
    assert spy.runs == 0
