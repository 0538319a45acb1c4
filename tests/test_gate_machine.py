"""The gate against a model of a few dicts: whatever people, settings, code and processes do, each click runs once."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from marshmallow import fields

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.ceiling import Level
from flask_litro_agent.core.execution import inline
from flask_litro_agent.core.gate import NeedsApproval
from flask_litro_agent.core.ledger import Ledger
from flask_litro_agent.core.proposals import State
from flask_litro_agent.core.standing import DEAD_MS, GRACE_MS
from flask_litro_agent.errors import AgentError, Forbidden, NothingDone, ProposalClosed
from tests.gate_bench import ANN, LIMITS, OLA, TTL_MS, GateBench, Order, Spy

OTO = Actor("oto", "Oto", OLA.permissions)
ANNA = replace(ANN, permissions=ANN.permissions | {"orders:read"})
PEOPLE = {"ann": ANNA, "ola": OLA, "oto": OTO}
LIMIT_MS = int(LIMITS.tool_seconds * 1000)
DISMISSED_MS, MOST_OPEN = 600_000, 5
ROWS = st.integers(0, 9)
OPERATORS = st.sampled_from(["ola", "oto"])
MOVES = st.sampled_from([1, LIMIT_MS + GRACE_MS + 1, DEAD_MS + 1, TTL_MS - 1, TTL_MS, DISMISSED_MS])


class Wider(Order):
    reason = fields.String(load_default="")


SCHEMAS = (Order, Wider)


class GateMachine(RuleBasedStateMachine):
    """``rows`` is what is known of each proposal; ``levels``, ``schema`` and ``held`` are the site as it is now."""

    @initialize()
    def start(self):
        self.folder = tempfile.TemporaryDirectory()
        self.fate = "ok"
        self.spy = Spy(self.run)
        self.schema = 0
        self.bench = GateBench(Path(self.folder.name), self.tool(), first=Level.PROPOSE)
        self.levels = {"site": Level.PROPOSE, "agent:desk": Level.EXECUTE}
        self.held = {name: set(person.permissions) for name, person in PEOPLE.items()}
        self.rows = {}
        self.serve()
        for number in range(3):
            self.ask(number)

    def tool(self):
        return self.spy.tool(params=SCHEMAS[self.schema])

    def run(self, params, ctx):
        if self.fate == "nothing":
            raise NothingDone("no")
        if self.fate == "raises":
            raise RuntimeError("in the middle")
        return {"done": params["number"]}

    def serve(self):
        """Start the site anew over the same ledger."""
        self.bench.people.clear()
        self.bench.people.update(
            {
                name: replace(PEOPLE[name], permissions=frozenset(held))
                for name, held in self.held.items()
                if held
            }
        )
        ledger = Ledger(self.bench.database, self.bench.audit)
        self.gate = self.bench.gate_for(self.tool(), ledger=ledger).within(inline)

    # the model

    def state(self, row):
        now = self.bench.database.ms
        if row["state"] is State.PROPOSED and now - row["at"] >= TTL_MS:
            return State.EXPIRED
        if row["state"] is State.CLAIMED and now - row["claimed_at"] > min(DEAD_MS, LIMIT_MS + GRACE_MS):
            return State.UNKNOWN
        return row["state"]

    def some(self, number):
        ones = list(self.rows.values())
        return ones[number % len(ones)] if ones else None

    def open(self, **wanted):
        return [row for row in self.rows.values() if self.state(row) is State.PROPOSED and fits(row, wanted)]

    def is_listed(self):
        return min(self.levels.values()) >= Level.PROPOSE

    def may_decide(self, who):
        return {"litro:approve", "orders:edit"} <= self.held[who]

    def void_reason(self, row):
        """Return what the first check about the proposal that fails says."""
        if row["schema"] != self.schema:
            return "contract_changed"
        if not self.is_listed():
            return "ceiling"
        if not self.held["ann"]:
            return "proposer_unknown"
        return None if "orders:edit" in self.held["ann"] else "proposer_forbidden"

    def asked(self, work):
        """Return how it ended: None, or the class of what was raised."""
        try:
            work()
        except AgentError as error:
            return type(error)
        return None

    # what happens

    @rule(number=st.integers(0, 6))
    def propose(self, number):
        self.ask(number)

    def ask(self, number):
        actor = replace(ANNA, permissions=frozenset(self.held["ann"]))
        outcome = self.bench.call(arguments={"number": number}, actor=actor, gate=self.gate)
        same = {"number": number, "schema": self.schema}
        since = self.bench.database.ms - DISMISSED_MS
        refused = [
            row
            for row in self.rows.values()
            if fits(row, same) and row["state"] is State.DISMISSED and row["settled_at"] > since
        ]
        if not self.is_listed():
            assert outcome.code == "unknown_tool"
        elif "orders:edit" not in self.held["ann"]:
            assert outcome.code == "forbidden"
        elif twins := self.open(**same):
            assert (outcome.proposal.id, outcome.is_new) == (twins[0]["proposal"].id, False)
        elif refused:
            assert outcome.code == "dismissed"
        elif len(self.open()) >= MOST_OPEN:
            assert outcome.code == "failed"
        else:
            assert isinstance(outcome, NeedsApproval)
            assert outcome.is_new
            self.rows[outcome.proposal.id] = {
                **same,
                "proposal": outcome.proposal,
                "at": self.bench.database.ms,
                "state": State.PROPOSED,
                "claimed_at": 0,
                "settled_at": 0,
                "outcome": None,
                "reason": None,
                "runs": 0,
            }

    @rule(
        number=ROWS,
        who=OPERATORS,
        is_shown=st.sampled_from([True, True, True, False]),
        fate=st.sampled_from(["ok", "ok", "nothing", "raises"]),
    )
    def approve(self, number, who, is_shown, fate):
        self.click(number, who, is_shown, fate)

    @rule(number=ROWS)
    def approve_when_all_is_well(self, number):
        self.make_all_well()
        self.click(number, "ola", True, "ok")

    @rule(number=ROWS, left=st.sampled_from([(), ("orders:read",)]))
    def approve_when_only_the_proposer_lost_something(self, number, left):
        self.make_all_well()
        self.held["ann"] = set(left)
        self.serve()
        self.click(number, "ola", True, "ok")

    def make_all_well(self):
        self.held = {name: set(person.permissions) for name, person in PEOPLE.items()}
        self.serve()
        for scope in self.levels:
            self.set_level(scope, Level.PROPOSE)

    def click(self, number, who, is_shown, fate):
        if not (row := self.some(number)):
            return
        self.fate = fate
        digest = row["proposal"].digest if is_shown else "0" * 64
        told = self.asked(lambda: self.gate.approve(row["proposal"].id, digest, PEOPLE[who]))
        if not self.may_decide(who):
            assert told is Forbidden
        elif self.state(row) is not State.PROPOSED:
            assert told is ProposalClosed
        elif reason := self.void_reason(row):
            assert told is ProposalClosed
            row.update(state=State.VOID, reason=reason)
        elif not is_shown:
            assert told is ProposalClosed
        else:
            assert told is None
            ends = {"ok": (State.EXECUTED, "ok"), "nothing": (State.EXECUTED, "failed")}
            state, outcome = ends.get(fate, (State.UNKNOWN, None))
            row.update(state=state, outcome=outcome, runs=1)

    @rule(number=ROWS, who=OPERATORS, is_shown=st.sampled_from([True, True, False]))
    def dismiss(self, number, who, is_shown):
        if not (row := self.some(number)):
            return
        digest = row["proposal"].digest if is_shown else "0" * 64
        told = self.asked(lambda: self.gate.dismiss(row["proposal"].id, digest, PEOPLE[who], "no"))
        if not self.may_decide(who):
            assert told is Forbidden
        elif self.state(row) is State.PROPOSED and is_shown:
            assert told is None
            row.update(state=State.DISMISSED, settled_at=self.bench.database.ms)
        else:
            assert told is ProposalClosed

    @rule(number=ROWS, who=OPERATORS, happened=st.booleans())
    def answer(self, number, who, happened):
        if not (row := self.some(number)):
            return
        told = self.asked(lambda: self.gate.answer(row["proposal"].id, PEOPLE[who], happened=happened))
        if not self.may_decide(who):
            assert told is Forbidden
        elif self.state(row) is State.UNKNOWN:
            assert told is None
            row.update(state=State.EXECUTED, outcome="ok" if happened else "failed")
        else:
            assert told is ProposalClosed

    @rule(number=ROWS, who=OPERATORS)
    def crash(self, number, who):
        """A process claims it and dies."""
        if not (row := self.some(number)):
            return
        one, dying = row["proposal"], Ledger(self.bench.database, self.bench.audit)
        epoch = self.bench.ceiling.levels().epoch
        claim = dying.claim(one.id, one.digest, operator_id=who, epoch=epoch)
        assert (claim is not None) is (self.state(row) is State.PROPOSED)
        if claim is not None:
            dying._claimants.release(claim.claim_id)
            row.update(state=State.CLAIMED, claimed_at=self.bench.database.ms)

    @rule(
        who=st.sampled_from(sorted(PEOPLE)),
        permission=st.sampled_from(sorted({*OLA.permissions, *ANNA.permissions})),
    )
    def revoke(self, who, permission):
        self.held[who].discard(permission)
        self.serve()

    @rule(who=st.sampled_from(sorted(PEOPLE)))
    def give_back(self, who):
        self.held[who] = set(PEOPLE[who].permissions)
        self.serve()

    @rule(
        scope=st.sampled_from(["site", "agent:desk"]), level=st.sampled_from([Level.READ, *list(Level)[2:]])
    )
    def set_ceiling(self, scope, level):
        self.set_level(scope, level)

    def set_level(self, scope, level):
        self.bench.ceiling.set(scope, level, by="test")
        self.levels[scope] = level

    @rule()
    def change_the_schema(self):
        self.schema = 1 - self.schema
        self.serve()

    @rule()
    def restart(self):
        self.serve()

    @rule(milliseconds=MOVES)
    def wait(self, milliseconds):
        self.bench.database.move(milliseconds)

    # what must hold

    @invariant()
    def every_proposal_stands_as_the_model_says(self):
        if not hasattr(self, "rows"):
            return
        for name, row in self.rows.items():
            now = self.bench.now(row["proposal"])
            assert (now.state, now.outcome, now.reason) == (self.state(row), row["outcome"], row["reason"])
            assert name == now.id

    @invariant()
    def everything_ran_that_was_approved_and_once(self):
        if not hasattr(self, "rows"):
            return
        ran = Counter(ctx.proposal_id for _, ctx in self.spy.calls)
        assert ran == Counter({name: row["runs"] for name, row in self.rows.items() if row["runs"]})

    def teardown(self):
        if not hasattr(self, "rows"):
            return
        assert self.bench.audit.verify().faults == ()
        kinds = Counter(self.bench.audited())
        states = Counter(row["state"] for row in self.rows.values())
        assert (kinds["dismissed"], kinds["void"]) == (states[State.DISMISSED], states[State.VOID])
        self.bench.database.engine.dispose()
        self.folder.cleanup()


def fits(row, wanted):
    return all(row[name] == value for name, value in wanted.items())


def test_the_gate_does_what_the_model_does():
    sizes = settings(max_examples=25, stateful_step_count=30, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(GateMachine, settings=sizes)
