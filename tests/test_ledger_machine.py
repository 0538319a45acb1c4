"""The ledger against a model of a few dicts: any order of decisions, deaths and moments, and one truth."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from flask_litro_agent.core.ledger import Dismissed, Flooded, Recorded, Twin
from flask_litro_agent.core.proposals import State, session_digest
from flask_litro_agent.core.standing import DEAD_MS, EARLY_MS, GRACE_MS
from flask_litro_agent.core.tables import metadata
from tests.databases import frozen, new_ledger, open_database
from tests.ledger_bench import LIMIT, TTL, LedgerBench, draft

START_MS, DISMISSED_MS, MOST_OPEN = 5_000, 600_000, 3
NUMBERS = st.integers(0, 7)
SESSIONS = st.sampled_from(["s1", "s2"])
MOVES = st.sampled_from([1, 4_999, DEAD_MS, DEAD_MS + 1, LIMIT + GRACE_MS + 1, TTL - 1, TTL, DISMISSED_MS])


class LedgerMachine(RuleBasedStateMachine):
    """Two processes at one ledger; ``rows`` is the model, each row what is known of one proposal."""

    database = None  # set by the test

    @initialize()
    def start(self):
        self.clock = frozen(self.database)
        for table in (
            metadata.tables["litro_proposal"],
            metadata.tables["litro_claimant"],
            metadata.tables["litro_listener"],
        ):
            self.clock.write(lambda connection, table=table: connection.execute(table.delete()).close())
        self.rows, self.beats, self.decisions = {}, {}, 0
        self.audited = len(list(LedgerBench(self.clock).audit.rows()))
        self.benches = [self.process(), self.process()]

    def process(self):
        return LedgerBench(self.clock, most_open=MOST_OPEN)

    def state(self, row):
        """Return how a row stands, by the model."""
        if row["state"] is State.PROPOSED:
            age = self.clock.ms - row["at"]
            return State.PROPOSED if -EARLY_MS < age < TTL else State.EXPIRED
        if row["state"] is not State.CLAIMED:
            return row["state"]
        silent = self.clock.ms - self.beats.get(row["claimant"], 0) > DEAD_MS
        over = self.clock.ms > row["claimed_at"] + LIMIT + GRACE_MS
        return State.UNKNOWN if silent or over else State.CLAIMED

    def some(self, number):
        """Return one of the rows, or nothing while there is none."""
        ones = list(self.rows.values())
        return ones[number % len(ones)] if ones else None

    def close(self, row, **changes):
        """Expect that a decision about an open row goes through."""
        is_open = self.state(row) is State.PROPOSED
        if is_open:
            row.update(changes, settled_at=self.clock.ms)
            self.decisions += 1
        return is_open

    @rule(which=st.integers(0, 1), arguments=st.integers(0, 4), session=SESSIONS)
    def record(self, which, arguments, session):
        answer = self.benches[which].ledger.record(draft(arguments, session=session))
        same = [row for row in self.rows.values() if row["arguments"] == arguments]
        twins = [row for row in same if self.state(row) is State.PROPOSED]
        refused = [
            row
            for row in same
            if row["state"] is State.DISMISSED and row["settled_at"] > self.clock.ms - DISMISSED_MS
        ]
        if twins:
            assert isinstance(answer, Twin)
            assert [answer.proposal.id] == [row["id"] for row in twins]
            twins[0]["told"].setdefault(session, None)
        elif refused:
            assert isinstance(answer, Dismissed)
            assert answer.proposal.id in {row["id"] for row in refused}
        elif self.open_in(session) >= MOST_OPEN:
            assert answer == Flooded(MOST_OPEN)
        else:
            assert isinstance(answer, Recorded)
            assert answer.is_new
            self.add(answer.proposal, arguments, session)

    def open_in(self, session):
        return sum(
            row["session"] == session and self.state(row) is State.PROPOSED for row in self.rows.values()
        )

    def add(self, proposal, arguments, session):
        self.rows[proposal.id] = {
            "id": proposal.id,
            "proposal": proposal,
            "arguments": arguments,
            "at": self.clock.ms,
            "state": State.PROPOSED,
            "claim": None,
            "claimant": None,
            "claimed_at": 0,
            "started": False,
            "outcome": None,
            "truth": None,
            "settled_at": None,
            "session": session,
            "told": {session: None},
        }

    @rule(which=st.integers(0, 1), number=NUMBERS, is_shown=st.booleans())
    def claim(self, which, number, is_shown):
        if not (row := self.some(number)):
            return
        bench = self.benches[which]
        digest = row["proposal"].digest if is_shown else "0" * 64
        claim = bench.ledger.claim(row["id"], digest, operator_id="operator", epoch=0)
        self.beats[bench.ledger._claimants.id] = self.clock.ms
        if not is_shown:
            assert claim is None
            return
        values = {"claim": claim, "claimed_at": self.clock.ms, "claimant": bench.ledger._claimants.id}
        assert (claim is not None) is self.close(row, state=State.CLAIMED, **values)
        if claim is not None:
            bench.ledger._claimants.release(claim.claim_id)  # this machine beats by a rule, not by a thread

    @rule(which=st.integers(0, 1), number=NUMBERS)
    def begin(self, which, number):
        if not (row := self.some(number)) or row["claim"] is None:
            return
        is_early = self.clock.ms - row["claimed_at"] < START_MS
        expected = row["state"] is State.CLAIMED and not row["started"] and is_early
        assert self.benches[which].ledger.start(row["claim"]) is expected
        row["started"] = row["started"] or expected

    @rule(which=st.integers(0, 1), number=NUMBERS, outcome=st.sampled_from(["ok", "failed"]))
    def settle(self, which, number, outcome):
        if not (row := self.some(number)) or row["claim"] is None:
            return
        before = self.state(row)
        settled = self.benches[which].ledger.settle(row["claim"], outcome=outcome)
        if before is not State.EXECUTED or row["truth"] == "operator":
            late = before is not State.CLAIMED
            if row["truth"] == "operator" and row["outcome"] != outcome:
                row["told"] = dict.fromkeys(row["told"])
            row.update(state=State.EXECUTED, outcome=outcome, truth="late" if late else None)
            row["settled_at"] = self.clock.ms
            self.decisions += 1
        assert (settled.outcome, settled.truth) == (row["outcome"], row["truth"])

    @rule(which=st.integers(0, 1), number=NUMBERS)
    def lose(self, which, number):
        if not (row := self.some(number)) or row["claim"] is None:
            return
        lost = self.benches[which].ledger.lose(row["claim"])
        if row["state"] is State.CLAIMED:
            row["claimant"] = None
            self.decisions += 1
        assert lost.state is self.state(row)

    @rule(which=st.integers(0, 1), number=NUMBERS, decision=st.sampled_from(["dismiss", "void"]))
    def refuse(self, which, number, decision):
        if not (row := self.some(number)):
            return
        bench = self.benches[which]
        if decision == "dismiss":
            assert (bench.dismiss(row["proposal"]) is not None) is self.close(row, state=State.DISMISSED)
        else:
            done = bench.ledger.void(row["id"], reason="ceiling", by="site")
            assert done is self.close(row, state=State.VOID)

    @rule(number=NUMBERS, happened=st.booleans())
    def answer(self, number, happened):
        if not (row := self.some(number)):
            return
        is_unknown = self.state(row) is State.UNKNOWN
        answered = self.benches[0].answer(row["proposal"], happened=happened)
        assert (answered is not None) is is_unknown
        if is_unknown:
            row.update(state=State.EXECUTED, outcome="ok" if happened else "failed", truth="operator")
            row["settled_at"] = self.clock.ms
            self.decisions += 1

    @rule(session=SESSIONS)
    def tell(self, session):
        """Every session hears of each end of what it was shown, its own and others', and of nothing else."""
        key, ledger = session_digest("desk", "7", session), self.benches[0].ledger
        for owed in ledger.owed(key):
            assert ledger.told(key, owed.id, owed.state, owed.outcome)
            assert not ledger.told(key, owed.id, owed.state, owed.outcome)
            assert self.rows[owed.id]["told"][session] is not owed.state
            self.rows[owed.id]["told"][session] = owed.state
        shown = {one: row for one, row in self.rows.items() if session in row["told"]}
        over = {one: self.state(row) for one, row in shown.items()}
        over = {one: state for one, state in over.items() if state not in (State.PROPOSED, State.CLAIMED)}
        assert {one: shown[one]["told"][session] for one in over} == over

    @rule(session=SESSIONS)
    def delete_a_session(self, session):
        """What is open in it is void, and others hear that; the session itself hears nothing any more."""
        key, ledger = session_digest("desk", "7", session), self.benches[0].ledger
        voided = ledger.void_session(key, reason="session_deleted", by="7")
        ledger.forget_session(key)
        held = [row for row in self.rows.values() if row["session"] == session and session in row["told"]]
        expected = [row["id"] for row in held if self.close(row, state=State.VOID)]
        assert sorted(voided) == sorted(expected)
        for row in self.rows.values():
            row["told"].pop(session, None)

    @rule(milliseconds=MOVES)
    def wait(self, milliseconds):
        self.clock.move(milliseconds)

    @rule(which=st.integers(0, 1))
    def beat(self, which):
        self.benches[which].ledger.beat()
        self.beats[self.benches[which].ledger._claimants.id] = self.clock.ms

    @rule(which=st.integers(0, 1))
    def die(self, which):
        """The process is gone and with it its beat; another takes its place."""
        self.benches[which] = self.process()

    @invariant()
    def every_row_stands_as_the_model_says(self):
        if not hasattr(self, "rows"):
            return
        found = {one.id: one for one in self.benches[0].ledger.find(limit=1_000)[0]}
        assert {one: row.state for one, row in found.items()} == {
            one: self.state(row) for one, row in self.rows.items()
        }
        for one, row in self.rows.items():
            assert (found[one].outcome, found[one].truth) == (row["outcome"], row["truth"])
            assert (found[one].started_at is not None) is row["started"]

    def teardown(self):
        """Every decision is one audit row, and the chain holds."""
        if hasattr(self, "rows"):
            assert len(self.benches[0].audited()) - self.audited == self.decisions


@pytest.mark.parametrize("embedded", [True, False], ids=["sqlite", "servers"])
def test_the_ledger_does_what_the_model_does(embedded, request):
    """On SQLite always; on the servers with fewer and shorter runs, because each costs a second."""
    if embedded:
        with tempfile.TemporaryDirectory() as folder:
            database = open_database(new_ledger(Path(folder) / "ledger.db"))
            explore(database, examples=40, steps=30)
            database.engine.dispose()
        return
    for server in ("postgresql_server", "mariadb_server"):
        with request.getfixturevalue(server).ledger() as uri:
            database = open_database(uri)
            explore(database, examples=5, steps=20)
            database.engine.dispose()


def explore(database, *, examples, steps):
    class Machine(LedgerMachine):
        pass

    Machine.database = database
    sizes = settings(
        max_examples=examples, stateful_step_count=steps, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(Machine, settings=sizes)
