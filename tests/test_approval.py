"""Approving: each check on its own, the one run, and how it ended; an approved proposal runs at most once."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from marshmallow import Schema, ValidationError, fields

from flask_litro_agent.contracts import Actor, SessionKey, Verdict
from flask_litro_agent.core.execution import inline
from flask_litro_agent.core.gate import Gate
from flask_litro_agent.core.proposals import State, digest_of, session_digest
from flask_litro_agent.errors import (
    AgentError,
    BadRequest,
    Forbidden,
    LedgerAway,
    NotFound,
    NothingDone,
    Overloaded,
    ProposalClosed,
    SignInNeeded,
)
from flask_litro_agent.policies.permissions import Permissions
from flask_litro_agent.settings import Settings
from flask_litro_agent.tools import Mode, ui
from tests.bench import SOON, in_background, until
from tests.gate_bench import ANN, OLA, TTL_MS, GateBench, Order, Spy

HANDLED = "This proposal expired or was already handled"


@pytest.fixture
def spy():
    return Spy()


@pytest.fixture
def bench(tmp_path, spy):
    return GateBench(tmp_path, spy.tool())


def voided(bench, proposal, *, gate=None, operator=OLA):
    """Approve what must be void by now; return the reason."""
    with pytest.raises(ProposalClosed, match="can no longer be approved"):
        bench.approve(proposal, gate=gate, operator=operator)
    after = bench.now(proposal)
    assert after.state is State.VOID
    assert bench.audited()[-1] == "void"
    return after.reason


def forbidden(bench, proposal, *, operator=OLA, gate=None):
    """Try to approve what this operator may not; it stays open."""
    with pytest.raises(Forbidden) as caught:
        bench.approve(proposal, operator=operator, gate=gate)
    assert bench.now(proposal).state is State.PROPOSED
    return str(caught.value)


# --- what is approved runs, once, with what the card showed ---


def test_what_is_approved_runs_with_the_canonical_arguments(bench, spy):
    settled = bench.approve(bench.propose(arguments={"number": 7}))
    assert (settled.state, settled.outcome, settled.result) == (State.EXECUTED, "ok", {"done": 7})
    assert [params for params, _ in spy.calls] == [{"number": 7, "note": "none"}]
    assert (settled.decided_by, settled.truth) == ("ola", None)


def test_the_tool_knows_who_asked_who_approved_and_which_proposal_it_is(tmp_path):
    spy = Spy()
    bench = GateBench(tmp_path, spy.tool(as_of=lambda params, ctx: {"version": 3}))
    proposal = bench.propose(turn_id="t1", call_id="c1")
    bench.people["ann"] = renamed = replace(ANN, name="Ann B.")
    bench.approve(proposal)
    ((_, ctx),) = spy.calls
    assert (ctx.actor, ctx.approver) == (renamed, OLA)
    assert (ctx.agent, ctx.session_id, ctx.turn_id, ctx.call_id) == ("desk", "s1", "t1", "c1")
    assert (ctx.proposal_id, ctx.idempotency_key) == (proposal.id, f"litro-{proposal.id}")
    assert ctx.as_of == {"version": 3}


def test_a_second_approval_finds_it_handled(bench, spy):
    """D2: a double click, the back button, the form an hour later."""
    proposal = bench.propose()
    bench.approve(proposal)
    bench.database.move(3_600_000)
    with pytest.raises(ProposalClosed, match=HANDLED):
        bench.approve(proposal)
    assert spy.runs == 1
    assert bench.audited() == ["approved", "executed"]


def test_only_one_of_many_at_the_same_time_runs_it(tmp_path):
    spy = Spy()
    bench = GateBench(tmp_path, spy.tool())
    proposal = bench.propose()
    answers, ready = [], threading.Barrier(6)

    def click():
        ready.wait()
        try:
            answers.append(bench.approve(proposal).outcome)
        except ProposalClosed as closed:
            answers.append(str(closed))

    clicks = [threading.Thread(target=click) for _ in range(6)]
    for each in clicks:
        each.start()
    for each in clicks:
        each.join(30)
    assert sorted(answers) == [HANDLED] * 5 + ["ok"]
    assert spy.runs == 1


# --- the operator: a failed check leaves the proposal open ---


class MayAll(Actor):
    def may(self, permission):
        return True


@pytest.mark.parametrize(
    "operator",
    [
        None,
        "ola",
        Mock(spec=Actor, id="ola"),
        MayAll("ola", "Ola"),
        Actor("ola", "Ola", frozenset({"orders:edit"})),
        Actor("ola", "Ola", frozenset({"litro:approve"})),
        Actor("eve", "Eve", frozenset({"litro:approve", "orders:edit"})),
    ],
    ids=["nobody", "text", "mock", "subclass", "no approve", "no permission of the tool", "unknown"],
)
def test_who_may_not_decide_changes_nothing(bench, spy, operator):
    proposal = bench.propose()
    forbidden(bench, proposal, operator=operator)
    for decide in (
        lambda: bench.gate.dismiss(proposal.id, proposal.digest, operator),
        lambda: bench.gate.answer(proposal.id, operator, happened=True),
        lambda: bench.gate.reconcile(proposal.id, operator),
    ):
        with pytest.raises(Forbidden):
            decide()
    assert (spy.runs, bench.audited()) == (0, [])
    assert bench.now(proposal).state is State.PROPOSED


@pytest.mark.parametrize("left", [{"orders:edit"}, {"litro:approve"}, set()])
def test_a_role_that_was_taken_away_since_the_request_began_is_gone(bench, spy, left):
    """D7: what the site's loader knows at this moment counts, not what the request had cached."""
    proposal = bench.propose()
    bench.people["ola"] = replace(OLA, permissions=frozenset(left))
    forbidden(bench, proposal)
    assert spy.runs == 0


def test_a_loader_that_knows_more_than_the_request_lifts_nobody(bench):
    forbidden(bench, bench.propose(), operator=replace(OLA, permissions=frozenset({"orders:edit"})))


def test_a_refused_operator_is_noted(bench):
    forbidden(bench, bench.propose(), operator=ANN)
    (row,) = bench.refusals()
    assert (row["actor"], row["code"], row["origin"]) == ("ann", "forbidden", "approval")


@pytest.mark.parametrize("proposal_id", ["", "p1", "x" * 33, "a\x00b", "../x", "\ud800", None, 7])
def test_an_unknown_proposal_is_not_found(bench, proposal_id):
    with pytest.raises(NotFound, match="there is no such proposal"):
        bench.gate.approve(proposal_id, "0" * 64, OLA)


def test_a_stranger_learns_nothing_of_which_proposals_there_are(bench):
    with pytest.raises(Forbidden) as unknown:
        bench.gate.approve("p1", "0" * 64, ANN)
    assert str(unknown.value) == forbidden(bench, bench.propose(), operator=ANN)


# --- open ---


@pytest.mark.parametrize(("age", "runs"), [(TTL_MS - 1, 1), (TTL_MS, 0), (TTL_MS + 1, 0)])
def test_it_is_open_until_its_ttl_and_not_a_millisecond_longer(bench, spy, age, runs):
    """D4."""
    proposal = bench.propose()
    bench.database.move(age)
    if runs:
        bench.approve(proposal)
    else:
        with pytest.raises(ProposalClosed, match=HANDLED):
            bench.approve(proposal)
        assert bench.now(proposal).state is State.EXPIRED
    assert spy.runs == runs


def test_about_what_is_over_nobody_is_asked(tmp_path):
    asked = []
    bench = GateBench(tmp_path, Spy().tool(as_of=lambda params, ctx: asked.append(ctx)))
    proposal = bench.propose()
    bench.database.move(TTL_MS)
    with pytest.raises(ProposalClosed, match=HANDLED):
        bench.approve(proposal)
    assert len(asked) == 1


def test_it_may_expire_while_it_is_checked(tmp_path):
    spy = Spy()

    class Slow:
        def decide(self, actor, facts, arguments):
            if bench.is_slow and arguments is not None:  # the last of all checks
                bench.database.move(TTL_MS)
            return Verdict.abstain()

    bench = GateBench(tmp_path, spy.tool(), policies=[Permissions(), Slow()])
    bench.is_slow = False
    proposal = bench.propose()
    bench.is_slow = True
    with pytest.raises(ProposalClosed, match=HANDLED):
        bench.approve(proposal)
    assert spy.runs == 0


# --- the tool ---


def test_a_tool_that_is_gone_makes_it_void(bench, spy):
    """D8, D9: removed, or no longer the agent's."""
    proposal = bench.propose()
    assert voided(bench, proposal, gate=bench.gate_for(Spy().tool("other"))) == "tool_gone"


def test_an_agent_that_is_gone_makes_it_void_and_nothing_is_made_anew_of_it(bench, spy):
    open_one, done = bench.propose(), bench.approve(bench.propose(arguments={"number": 8}))
    old = bench.propose(arguments={"number": 9})
    bench.gate.dismiss(old.id, old.digest, OLA)
    given = {"ledger": bench.ledger, "actor_loader": bench.people.get, "protected": ()}
    bare = Gate({}, {}, [Permissions()], around=lambda context: contextlib.nullcontext(), **given)
    assert voided(bench, open_one, gate=bare) == "tool_gone"
    with pytest.raises(ProposalClosed, match="no longer has the tool"):
        bare.repeat(old.id, OLA)
    with pytest.raises(ProposalClosed, match="no longer has the tool"):
        bare.reverse(done.id, OLA)
    assert bare.proposal(done.id, OLA).outcome == "ok"
    assert spy.runs == 1


class WiderOrder(Order):
    extra = fields.String()


class OtherDefault(Order):
    note = fields.String(load_default="no note")


class LooseOrder(Order):
    number = fields.Integer(required=True)


class RenamedInside(Order):
    number = fields.Integer(required=True, strict=True, attribute="order_number")


CHANGES = [
    {"mode": Mode.EXECUTE},
    {"permission": "orders:edit:all"},
    {"params": WiderOrder},
    {"params": OtherDefault},
    {"params": LooseOrder},
    {"params": RenamedInside},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_tool_that_was_changed_makes_it_void(bench, spy, change):
    """D8."""
    proposal = bench.propose()
    for person in (ANN, OLA):
        bench.people[person.id] = replace(person, permissions=person.permissions | {"orders:edit:all"})
    gate = bench.gate_for(spy.tool(**change))
    assert voided(bench, proposal, gate=gate) == "contract_changed"
    assert spy.runs == 0


def test_a_tool_that_became_a_read_makes_it_void(bench, spy):
    proposal = bench.propose()
    gate = bench.gate_for(spy.tool(mode=Mode.READ))
    assert voided(bench, proposal, gate=gate) == "contract_changed"


def test_a_tool_that_became_milder_makes_it_void(tmp_path):
    """D8: from execute to propose, which would still wait for a click."""
    spy = Spy()
    bench = GateBench(tmp_path, spy.tool(mode=Mode.EXECUTE))
    proposal = bench.propose()
    assert voided(bench, proposal, gate=bench.gate_for(spy.tool(mode=Mode.PROPOSE))) == "contract_changed"
    assert spy.runs == 0


def test_a_tool_whose_words_changed_is_the_same_tool(bench, spy):
    proposal = bench.propose()
    gate = bench.gate_for(spy.tool(description="Change one order.", ttl=10))
    assert bench.approve(proposal, gate=gate).outcome == "ok"


# --- the ceiling and protected permissions ---


@pytest.mark.parametrize("scope", ["site", "agent:desk", "tool:desk.change"])
@pytest.mark.parametrize("word", ["off", "read"])
def test_a_lowered_ceiling_makes_it_void(bench, spy, scope, word):
    """D9."""
    proposal = bench.propose()
    bench.lower(scope, word)
    assert voided(bench, proposal) == "ceiling"
    assert spy.runs == 0


def test_an_execute_tool_needs_a_ceiling_of_execute(tmp_path):
    spy = Spy()
    bench = GateBench(tmp_path, spy.tool(mode=Mode.EXECUTE))
    proposal = bench.propose()
    bench.lower("site", "propose")
    assert voided(bench, proposal) == "ceiling"


def test_an_execute_tool_whose_permission_is_protected_by_now_makes_it_void(tmp_path):
    """D20: whatever was done to the gate after the start."""
    bench = GateBench(tmp_path, Spy().tool(mode=Mode.EXECUTE))
    proposal = bench.propose()
    bench.gate._wiring = replace(bench.gate._wiring, protected=("orders:*",))
    assert voided(bench, proposal) == "protected"


def moving(bench, words):
    """Return a policy that sets the ceiling while a proposal is being checked, one word at a time."""

    class Moves:
        def decide(self, actor, facts, arguments):
            if bench.is_moving and actor.id == "ola" and arguments is not None and words:
                bench.lower("site", words.pop(0))
            return Verdict.abstain()

    bench.is_moving = False
    return Moves()


def test_a_ceiling_that_falls_during_the_checks_is_seen_by_the_claim(bench, spy):
    proposal = bench.propose()
    gate = bench.gate_for(spy.tool(), policies=[Permissions(), moving(bench, ["read"])])
    bench.is_moving = True
    assert voided(bench, proposal, gate=gate) == "ceiling"
    assert spy.runs == 0


def test_a_ceiling_that_moves_and_still_allows_it_costs_only_another_look(bench, spy):
    proposal = bench.propose()
    words = ["propose"] * 4
    gate = bench.gate_for(spy.tool(), policies=[Permissions(), moving(bench, words)])
    bench.is_moving = True
    assert bench.approve(proposal, gate=gate).outcome == "ok"
    assert (words, spy.runs) == ([], 1)


def test_a_ceiling_that_never_rests_ends_the_attempt_and_leaves_it_open(bench, spy):
    proposal = bench.propose()
    words = ["propose"] * 9
    gate = bench.gate_for(spy.tool(), policies=[Permissions(), moving(bench, words)])
    bench.is_moving = True
    with pytest.raises(Overloaded):
        bench.approve(proposal, gate=gate)
    assert (len(words), spy.runs, bench.now(proposal).state) == (4, 0, State.PROPOSED)


# --- the proposer ---


def test_a_proposer_whom_nobody_knows_any_more_makes_it_void(bench, spy):
    """D6."""
    proposal = bench.propose()
    del bench.people["ann"]
    assert voided(bench, proposal) == "proposer_unknown"
    assert spy.runs == 0


def test_a_proposer_who_lost_the_permission_makes_it_void(bench, spy):
    """D6."""
    proposal = bench.propose()
    bench.people["ann"] = replace(ANN, permissions=frozenset())
    assert voided(bench, proposal) == "proposer_forbidden"
    assert spy.runs == 0


ENDS = [RuntimeError("canary"), SystemExit("canary"), BaseException("canary"), GeneratorExit()]
DECISIONS = {
    "approve": lambda gate, one: gate.approve(one.id, one.digest, OLA),
    "dismiss": lambda gate, one: gate.dismiss(one.id, one.digest, OLA),
    "answer": lambda gate, one: gate.answer(one.id, OLA, happened=True),
    "reconcile": lambda gate, one: gate.reconcile(one.id, OLA),
    "read": lambda gate, one: gate.proposal(one.id, OLA),
    "admit": lambda gate, one: gate.admits(OLA, "litro:admin"),
    "look": lambda gate, one: gate.hindrances([one], OLA),
    "again": lambda gate, one: gate.repeat(one.id, OLA),
}


def unchecked(decide):
    """Expect one sentence that says that nothing was done, and none of the words of what was raised."""
    with pytest.raises(AgentError, match=r"could not be checked \(error .*\): nothing was done") as caught:
        decide()
    assert (type(caught.value), caught.value.status) == (AgentError, 503)
    assert "canary" not in caught.value.message


@pytest.mark.parametrize("error", ENDS, ids=repr)
@pytest.mark.parametrize("decision", DECISIONS)
def test_whatever_a_loader_raises_about_the_operator_decides_nothing(bench, spy, decision, error):
    proposal = bench.propose()
    gate = bench.gate_for(spy.tool(), actor_loader=lambda actor_id: raises(error)(None, None))
    unchecked(lambda: DECISIONS[decision](gate, proposal))
    assert (spy.runs, bench.now(proposal).state) == (0, State.PROPOSED)


@pytest.mark.parametrize("error", ENDS, ids=repr)
def test_whatever_a_loader_raises_about_the_proposer_leaves_it_open(bench, spy, error):
    proposal = bench.propose()
    gate = bench.gate_for(
        spy.tool(), actor_loader=lambda actor_id: OLA if actor_id == "ola" else raises(error)(None, None)
    )
    unchecked(lambda: bench.approve(proposal, gate=gate))
    assert (spy.runs, bench.now(proposal).state) == (0, State.PROPOSED)
    assert bench.approve(proposal).state is State.EXECUTED, "a site that is whole again decides"


@pytest.mark.parametrize("error", ENDS, ids=repr)
def test_whatever_a_schema_raises_leaves_it_open(tmp_path, error):
    raised = []

    def check(value):
        if raised:
            raise error

    class Checked(Schema):
        number = fields.Integer(required=True, strict=True, validate=check)

    spy = Spy()
    bench = GateBench(tmp_path, spy.tool(params=Checked))
    proposal = bench.propose()
    raised.append(error)
    unchecked(lambda: bench.approve(proposal))
    assert (spy.runs, bench.now(proposal).state) == (0, State.PROPOSED)


def test_ctrl_c_is_nobodys_answer(bench, spy):
    proposal = bench.propose()
    gate = bench.gate_for(spy.tool(), actor_loader=lambda actor_id: raises(KeyboardInterrupt())(None, None))
    with pytest.raises(KeyboardInterrupt):
        bench.approve(proposal, gate=gate)
    assert bench.now(proposal).state is State.PROPOSED


# --- four eyes ---


BOTH = Actor("ann", "Ann", OLA.permissions)


@pytest.mark.parametrize(
    ("declared", "options"),
    [({"four_eyes": True}, {}), ({}, {"four_eyes": ("orders:*",)}), ({}, {"four_eyes": ("ORDERS:edit",)})],
)
def test_where_four_eyes_are_asked_for_the_proposer_may_not_approve(tmp_path, declared, options):
    """D10."""
    spy = Spy()
    bench = GateBench(tmp_path, spy.tool(**declared), **options)
    bench.people["ann"] = BOTH
    proposal = bench.propose()
    assert "four eyes" in forbidden(bench, proposal, operator=BOTH)
    assert (proposal.four_eyes, spy.runs) == (True, 0)
    assert bench.approve(proposal).outcome == "ok"


@pytest.mark.parametrize("age", [None, 301, -120])
def test_a_protected_permission_asks_for_a_fresh_sign_in_and_the_proposal_stays_open(tmp_path, age):
    spy = Spy()
    bench = GateBench(tmp_path, spy.tool(), protected=("orders:*",), approval_freshness=300)
    proposal = bench.propose()
    proved = None if age is None else time.time() - age
    with pytest.raises(SignInNeeded, match="prove once more who you are"):
        bench.gate.approve(proposal.id, proposal.digest, OLA, authenticated_at=proved)
    assert (bench.now(proposal).state, spy.runs) == (State.PROPOSED, 0)
    fresh = time.time() - 299
    assert bench.gate.approve(proposal.id, proposal.digest, OLA, authenticated_at=fresh).outcome == "ok"


def test_what_is_not_protected_asks_for_no_fresh_sign_in(tmp_path):
    bench = GateBench(tmp_path, Spy().tool(), approval_freshness=300)
    assert bench.approve(bench.propose()).outcome == "ok"


def test_a_dismissal_asks_for_no_fresh_sign_in(tmp_path):
    bench = GateBench(tmp_path, Spy().tool(), protected=("orders:*",), approval_freshness=300)
    proposal = bench.propose()
    assert bench.gate.dismiss(proposal.id, proposal.digest, OLA).state is State.DISMISSED


@pytest.mark.parametrize("denied", ["litro:approve", "change"])
def test_a_policy_can_keep_somebody_from_deciding_at_all(tmp_path, denied):
    class Denying(Permissions):
        def decide(self, actor, tool, arguments):
            denies = actor.id == "ola" and tool.name == denied
            return Verdict.deny() if denies else super().decide(actor, tool, arguments)

    spy = Spy()
    bench = GateBench(tmp_path, spy.tool())
    proposal = bench.propose()
    bench.policies = [Denying()]
    gate = bench.gate_for(spy.tool())
    forbidden(bench, proposal, gate=gate)
    if denied == "litro:approve":
        with pytest.raises(Forbidden):
            gate.dismiss(proposal.id, proposal.digest, OLA)
    assert (bench.now(proposal).state, spy.runs) == (State.PROPOSED, 0)


def test_without_four_eyes_the_proposer_may_approve(bench):
    bench.people["ann"] = BOTH
    assert bench.approve(bench.propose(), operator=BOTH).outcome == "ok"


def test_four_eyes_hold_for_the_owner_of_the_conversation_too(tmp_path):
    bench = GateBench(tmp_path, Spy().tool(four_eyes=True))
    bench.people["ann"] = BOTH
    proposal = bench.propose(actor=OLA, owner="ann")
    assert "four eyes" in forbidden(bench, proposal, operator=BOTH)


def test_four_eyes_hold_for_whoever_proposed_in_anothers_conversation(tmp_path):
    bench = GateBench(tmp_path, Spy().tool(four_eyes=True))
    forbidden(bench, bench.propose(actor=OLA, owner="ann"))


def test_four_eyes_hold_for_who_got_the_conversation_since(tmp_path):
    bench = GateBench(tmp_path, Spy().tool(four_eyes=True))
    heir = bench.people["anna"] = replace(BOTH, id="anna")
    proposal = bench.propose()
    bench.ledger.move_session(session_digest("desk", "ann", "s1"), to=SessionKey("desk", "anna", "s1"))
    forbidden(bench, proposal, operator=heir)


def test_four_eyes_that_a_proposal_was_made_with_stay(tmp_path):
    spy = Spy()
    bench = GateBench(tmp_path, spy.tool(), four_eyes=("orders:*",))
    bench.people["ann"] = BOTH
    proposal = bench.propose()
    forbidden(bench, proposal, operator=BOTH, gate=bench.gate_for(spy.tool()))


@pytest.mark.parametrize("declared", [{"four_eyes": True}, {}])
def test_four_eyes_that_are_asked_for_since_hold_as_well(bench, spy, declared):
    bench.people["ann"] = BOTH
    proposal = bench.propose()
    gate = bench.gate_for(spy.tool(**declared), four_eyes=() if declared else ("orders:edit",))
    forbidden(bench, proposal, operator=BOTH, gate=gate)


# --- the bytes and the digest ---


def test_bytes_that_were_changed_in_the_database_make_it_void(bench, spy):
    proposal = bench.propose()
    bench.tamper(proposal, arguments=b'{"note":"none","number":8}')
    assert voided(bench, proposal) == "arguments_changed"
    assert spy.runs == 0


@pytest.mark.parametrize(
    "changed", [{"preview": b"[]"}, {"as_of": '"2"'}, {"proposer": "ola"}, {"owner": "eve"}]
)
def test_whatever_else_the_card_shows_and_was_changed_makes_it_void(bench, spy, changed):
    proposal = bench.propose()
    bench.tamper(proposal, **changed)
    assert voided(bench, proposal) == "arguments_changed"


@pytest.mark.parametrize("data", [b'{"number":7}', b'{"number": 7, "note": "none"}', b"{}", b"[]", b"{"])
def test_bytes_that_are_not_canonical_make_it_void_also_with_their_own_digest(bench, spy, data):
    proposal = bench.propose()
    digest = digest_of(proposal.id, replace(proposal, arguments=data))
    bench.tamper(proposal, arguments=data, digest=digest)
    assert voided(bench, bench.now(proposal)) == "arguments_changed"
    assert spy.runs == 0


def test_arguments_that_a_validator_no_longer_takes_make_it_void(tmp_path):
    allowed = [7]

    def known(number):
        if number not in allowed:
            raise ValidationError("No such order.")

    spy = Spy()
    params = Schema.from_dict({"number": fields.Integer(strict=True, validate=known)})
    bench = GateBench(tmp_path, spy.tool(params=params))
    proposal = bench.propose()
    allowed.clear()
    assert voided(bench, proposal) == "arguments_changed"
    assert spy.runs == 0


@pytest.mark.parametrize("digest", ["", "0" * 64, None, 7, "upper"])
def test_a_form_that_showed_something_else_changes_nothing(bench, spy, digest):
    """D11."""
    proposal = bench.propose()
    shown = proposal.digest.upper() if digest == "upper" else digest
    with pytest.raises(ProposalClosed, match="not the one that the page showed"):
        bench.gate.approve(proposal.id, shown, OLA)
    assert (spy.runs, bench.now(proposal).state) == (0, State.PROPOSED)


def test_another_proposals_digest_is_no_digest_of_this_one(bench):
    first, second = bench.propose(), bench.propose(arguments={"number": 8})
    with pytest.raises(ProposalClosed, match="not the one that the page showed"):
        bench.approve(first, digest=second.digest)


# --- as_of ---


@pytest.fixture
def stock(tmp_path):
    """A bench whose tool watches the version of what it changes."""
    spy = Spy()
    seen = {"version": 1}

    def as_of(params, ctx):
        if isinstance(seen["version"], Exception):
            raise seen["version"]
        return seen["version"]

    bench = GateBench(tmp_path, spy.tool(as_of=as_of))
    bench.seen, bench.spy = seen, spy
    return bench


@pytest.mark.parametrize("version", [2, "1", True, 1.0, None, NotFound("no such order")], ids=repr)
def test_a_version_that_moved_makes_it_void(stock, version):
    """E7: typed, so that 1, 1.0, true and "1" are four versions."""
    proposal = stock.propose()
    stock.seen["version"] = version
    assert voided(stock, proposal) == "as_of_changed"
    assert stock.spy.runs == 0


def test_a_version_that_stands_is_handed_to_the_tool(stock):
    assert stock.approve(stock.propose()).outcome == "ok"
    assert stock.spy.calls[0][1].as_of == 1


def test_a_version_that_nobody_can_say_now_changes_nothing(stock):
    proposal = stock.propose()
    stock.seen["version"] = RuntimeError("canary-database")
    with pytest.raises(AgentError, match="nothing was done") as caught:
        stock.approve(proposal)
    assert (caught.value.status, stock.spy.runs, stock.now(proposal).state) == (503, 0, State.PROPOSED)
    assert "canary" not in str(caught.value)


def test_asking_for_the_version_cannot_change_what_runs(tmp_path):
    spy = Spy()

    def as_of(params, ctx):
        params["number"] = 8
        return 1

    bench = GateBench(tmp_path, spy.tool(as_of=as_of))
    bench.approve(bench.propose())
    assert spy.calls[0][0]["number"] == 7


# --- the policies ---


class ByArguments:
    """Denies somebody the tool once the arguments are known, or from the start; ``answers`` may be changed."""

    def __init__(self):
        self.answers = {}

    def decide(self, actor, facts, arguments):
        if facts.name == "litro:approve":
            return Verdict.abstain()
        answer = self.answers.get((actor.id, arguments is not None), Verdict.abstain())
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.fixture
def judged(tmp_path):
    spy, policy = Spy(), ByArguments()
    bench = GateBench(tmp_path, spy.tool(), policies=[Permissions(), policy])
    bench.answers, bench.spy = policy.answers, spy
    return bench


@pytest.mark.parametrize(
    "answer",
    [Verdict.deny("no"), None, "yes", 1, Mock(name="mock"), RuntimeError("canary"), SystemExit(0)],
    ids=["deny", "none", "text", "number", "mock", "raises", "exits"],
)
def test_a_policy_that_denies_the_proposer_these_arguments_makes_it_void(judged, answer):
    """J2: and so does whatever is no Verdict."""
    proposal = judged.propose()
    judged.answers["ann", True] = answer
    assert voided(judged, proposal) == "policy"
    assert judged.spy.runs == 0


@pytest.mark.parametrize("answer", [Verdict.deny(), SystemExit(0)], ids=["deny", "exits"])
@pytest.mark.parametrize("known", [False, True])
def test_a_policy_that_denies_the_operator_leaves_it_open(judged, known, answer):
    proposal = judged.propose()
    judged.answers["ola", known] = answer
    assert "a policy" in forbidden(judged, proposal)
    assert judged.spy.runs == 0


def test_a_broken_policy_is_noted_at_an_approval(judged):
    proposal = judged.propose()
    judged.answers["ann", True] = "yes"
    voided(judged, proposal)
    assert [(row["code"], row["origin"]) for row in judged.refusals()] == [("policy_error", "approval")]


class Waits:
    """Says nothing to whoever it waits for, before ``go``; allows everybody else."""

    def __init__(self, *names):
        self.names = names
        self.go, self.asked = threading.Event(), threading.Event()

    def decide(self, actor, facts, arguments):
        if actor.id in self.names and facts.name != "litro:approve":
            self.asked.set()
            self.go.wait(60)
        return Verdict.allow()


@pytest.fixture
def slow(tmp_path):
    """A bench whose policies have three seconds; ``slow.waits`` never answers about who is in its ``names``."""
    spy, waits = Spy(), Waits()
    bench = GateBench(tmp_path, spy.tool(), policies=[Permissions(), waits], policy_seconds=3.0)
    bench.waits, bench.spy = waits, spy
    yield bench
    waits.go.set()


def test_a_policy_that_does_not_answer_about_the_proposer_is_a_deny(slow, caplog):
    """J2: it times out."""
    proposal = slow.propose()
    slow.waits.names = ("ann",)
    assert voided(slow, proposal) == "proposer_forbidden"
    assert slow.spy.runs == 0
    assert [row["code"] for row in slow.refusals()] == ["policy_error"]
    assert "Waits said nothing about change within 3 seconds: denied" in caplog.text


def test_a_policy_that_does_not_answer_about_the_operator_leaves_it_open(slow):
    proposal = slow.propose()
    slow.waits.names = ("ola",)
    forbidden(slow, proposal)
    assert slow.spy.runs == 0
    slow.waits.names = ()
    assert slow.approve(proposal).state is State.EXECUTED


def test_control_without_its_limit_an_approval_waits_for_the_policy(slow):
    proposal = slow.propose()
    slow.waits.names = ("ann",)
    thread, _ = in_background(lambda: slow.approve(proposal, gate=slow.gate.within(inline)))
    assert slow.waits.asked.wait(SOON)
    thread.join(0.5)
    assert thread.is_alive()
    slow.waits.go.set()
    thread.join(SOON)
    assert slow.now(proposal).state is State.EXECUTED


# --- the order of the checks ---


def test_an_operators_check_comes_before_everything_about_the_proposal(bench):
    proposal = bench.propose()
    bench.lower("site", "off")
    del bench.people["ann"]
    forbidden(bench, proposal, operator=ANN)


def test_void_reasons_come_in_their_order(tmp_path):
    """Each repaired fault uncovers the next one."""
    spy, versions = Spy(), [1]
    tool = spy.tool(as_of=lambda params, ctx: versions[0])
    bench = GateBench(tmp_path, tool, Spy().tool("other"))
    proposals = [bench.propose() for _ in range(1)]
    for number in range(4):
        proposals.append(bench.propose(arguments={"number": number}))
    bench.lower("site", "read")
    bench.people.pop("ann")
    versions[0] = 2
    other = bench.gate_for(Spy().tool("other"))
    assert voided(bench, proposals[0], gate=other) == "tool_gone"
    assert voided(bench, proposals[1], gate=bench.gate_for(spy.tool(params=WiderOrder))) == "contract_changed"
    assert voided(bench, proposals[2]) == "ceiling"
    bench.lower("site", "execute")
    assert voided(bench, proposals[3]) == "proposer_unknown"
    bench.people["ann"] = ANN
    assert voided(bench, proposals[4]) == "as_of_changed"


# --- no thread is left ---


@contextlib.contextmanager
def no_thread_left():
    """Let no thread start: none has room for a stack of a petabyte."""
    threading.stack_size(1 << 50)
    try:
        yield
    finally:
        threading.stack_size(0)


def test_who_cannot_beat_claims_nothing(bench, spy):
    proposal = bench.propose()
    with no_thread_left(), pytest.raises(Overloaded, match="no thread is left"):
        bench.approve(proposal, gate=bench.gate.within(inline))
    assert (spy.runs, bench.now(proposal).state) == (0, State.PROPOSED)
    assert bench.approve(proposal).state is State.EXECUTED


class Stuck:
    """A ledger after whose claim no thread can start any more."""

    def __init__(self, ledger, stack):
        self._ledger = ledger
        self._stack = stack

    def __getattr__(self, name):
        return getattr(self._ledger, name)

    def claim(self, *given, **named):
        claimed = self._ledger.claim(*given, **named)
        self._stack.enter_context(no_thread_left())
        return claimed


def test_a_tool_whose_thread_cannot_start_has_failed_for_sure_and_at_once(bench, spy):
    proposal = bench.propose()
    with contextlib.ExitStack() as stack:
        gate = bench.gate_for(spy.tool(), ledger=Stuck(bench.ledger, stack))
        settled = bench.approve(proposal, gate=gate)
    assert (settled.state, settled.outcome, settled.started_at) == (State.EXECUTED, "failed", None)
    assert settled.result == {"message": "no thread was left to run it in: nothing was done"}
    assert settled.error_id
    assert spy.runs == 0
    assert bench.audited()[-2:] == ["approved", "executed"]


def test_policies_that_no_thread_is_left_for_void_nothing(bench, spy):
    proposal = bench.propose()
    gate = bench.gate_for(spy.tool())
    with no_thread_left(), pytest.raises(Overloaded):
        bench.approve(proposal, gate=gate)
    assert (spy.runs, bench.now(proposal).state) == (0, State.PROPOSED)


def test_a_version_that_no_thread_is_left_to_ask_for_voids_nothing(tmp_path):
    spy = Spy()
    bench = GateBench(tmp_path, spy.tool(as_of=lambda params, ctx: 1))
    proposal, kept = bench.propose(), bench.gate  # whose policies have a thread already
    with no_thread_left(), pytest.raises(Overloaded):
        bench.approve(proposal, gate=kept)
    assert (spy.runs, bench.now(proposal).state) == (0, State.PROPOSED)


# --- how it ends ---


def exits(params, ctx):
    sys.exit(0)


def raises(error):
    def act(params, ctx):
        raise error

    return act


UNKNOWN = [
    exits,
    raises(RuntimeError("canary-secret")),
    raises(AgentError("I am not sure")),
    raises(KeyboardInterrupt()),
    raises(BaseException("canary-secret")),
    raises(GeneratorExit()),
    raises(LedgerAway("another ledger")),
]


@pytest.mark.parametrize("act", UNKNOWN)
@pytest.mark.parametrize("executor", [None, inline])
def test_whatever_a_tool_raises_its_outcome_is_unknown_and_it_is_spent(tmp_path, caplog, act, executor):
    """D12: never done, never failed, never again."""
    spy = Spy(act)
    bench = GateBench(tmp_path, spy.tool())
    gate = bench.gate if executor is None else bench.gate.within(executor)
    proposal = bench.propose()
    left = bench.approve(proposal, gate=gate)
    assert (left.state, left.outcome) == (State.UNKNOWN, None)
    assert left.error_id
    assert left.error_id in caplog.text
    with pytest.raises(ProposalClosed, match=HANDLED):
        bench.approve(proposal)
    assert spy.runs == 1
    assert bench.audited() == ["approved", "unknown"]
    (*_, row) = bench.audit.rows()
    assert row.data["error_id"] == left.error_id


def test_nothing_done_is_a_failure_for_sure(tmp_path):
    spy = Spy(raises(NothingDone("it is paid out already")))
    bench = GateBench(tmp_path, spy.tool())
    failed = bench.approve(bench.propose())
    assert (failed.state, failed.outcome, failed.result) == (
        State.EXECUTED,
        "failed",
        {"message": "it is paid out already"},
    )


@pytest.mark.parametrize("message", ["", "\ud800", "x" * 5000])
def test_a_message_that_cannot_be_kept_is_left_out(tmp_path, message):
    bench = GateBench(tmp_path, Spy(raises(NothingDone(message))).tool())
    failed = bench.approve(bench.propose())
    assert (failed.outcome, failed.result) == ("failed", None)


@pytest.mark.parametrize(
    "value", [object(), float("nan"), "x" * 300_000, {"a": ui("x-card", data=1)}, ui("x-card", data=object())]
)
def test_a_tool_that_returned_is_done_whatever_it_returned(tmp_path, value):
    bench = GateBench(tmp_path, Spy(lambda params, ctx: value).tool())
    done = bench.approve(bench.propose())
    assert (done.outcome, done.result) == ("ok", None)
    assert done.error_id


def test_a_components_data_is_the_result(tmp_path):
    """Law 8: the model hears data, never html."""
    bench = GateBench(tmp_path, Spy(lambda params, ctx: ui("x-card", data={"n": 1}, title="t")).tool())
    assert bench.approve(bench.propose()).result == {"n": 1}


def test_a_generators_return_value_is_the_result_and_its_progress_goes_nowhere(tmp_path):
    def act(params, ctx):
        yield object()
        return "all"

    bench = GateBench(tmp_path, Spy(act).tool())
    assert bench.approve(bench.propose()).result == "all"


def test_a_tool_that_was_never_entered_has_failed_for_sure(bench, spy):
    @contextlib.contextmanager
    def around(context):
        raise RuntimeError("no tenant")
        yield

    bench.around = around
    failed = bench.approve(bench.propose())
    assert (failed.outcome, spy.runs) == ("failed", 0)
    assert failed.error_id


@pytest.mark.parametrize("error", [RuntimeError("commit failed"), NothingDone("not me")])
def test_what_is_raised_around_a_tool_that_had_returned_makes_it_unknown(bench, spy, error):
    """A site may commit there: nobody can say what was written."""

    @contextlib.contextmanager
    def around(context):
        yield
        raise error

    bench.around = around
    assert bench.approve(bench.propose()).state is State.UNKNOWN
    assert spy.runs == 1


def test_a_context_that_swallows_what_the_tool_raised_makes_it_unknown(tmp_path):
    bench = GateBench(tmp_path, Spy(raises(RuntimeError())).tool())
    bench.around = lambda context: contextlib.suppress(RuntimeError)
    assert bench.approve(bench.propose()).state is State.UNKNOWN


@pytest.mark.parametrize(("late", "runs"), [(4_999, 1), (5_000, 0), (60_000, 0)])
def test_a_claim_that_was_held_up_does_not_start_late(bench, spy, late, runs):
    @contextlib.contextmanager
    def around(context):
        bench.database.move(late)
        yield

    bench.around = around
    settled = bench.approve(bench.propose())
    assert (spy.runs, settled.outcome) == (runs, "ok" if runs else "failed")


def test_a_callback_that_blocks_at_a_tools_stop_does_not_hold_up_the_operator(tmp_path):
    free = threading.Event()

    def clinging(params, ctx):
        ctx.stop.on(lambda: free.wait(60))

    bench = GateBench(tmp_path, Spy(clinging).tool())
    began = time.monotonic()
    try:
        assert bench.approve(bench.propose()).outcome == "ok"
        assert time.monotonic() - began < 20
    finally:
        free.set()


def test_a_tool_over_its_time_is_left_behind_and_its_late_truth_is_written(tmp_path):
    release, contexts = threading.Event(), []

    def act(params, ctx):
        contexts.append(ctx)
        release.wait(30)
        return "late"

    spy = Spy(act)
    bench = GateBench(tmp_path, spy.tool(), limits=Settings(tool_seconds=0.3).limits)
    proposal = bench.propose()
    try:
        left = bench.approve(proposal)
        assert left.state is State.CLAIMED
        assert contexts[0].stopped
        bench.database.move(300 + 5_001)
        assert bench.now(proposal).state is State.UNKNOWN
        with pytest.raises(ProposalClosed, match=HANDLED):
            bench.approve(proposal)
    finally:
        release.set()
    until(lambda: bench.now(proposal).state is State.EXECUTED)
    settled = bench.now(proposal)
    assert (settled.outcome, settled.result, settled.truth, spy.runs) == ("ok", "late", "late", 1)


def test_a_process_that_dies_in_a_tool_leaves_it_unknown_and_spent(tmp_path):
    """D12: os._exit."""
    child = Path(__file__).with_name("dying_child.py")
    done = subprocess.run([sys.executable, child, tmp_path], capture_output=True, timeout=60, text=True)
    assert (done.returncode, done.stderr) == (9, "")
    spy = Spy()
    bench = GateBench(tmp_path, spy.tool())
    ((proposal,), _) = bench.ledger.find()
    assert proposal.state is not State.EXECUTED
    bench.database.ms = (proposal.claimed_at or 0) + 15_001
    assert bench.now(proposal).state is State.UNKNOWN
    with pytest.raises(ProposalClosed, match=HANDLED):
        bench.approve(proposal)
    assert spy.runs == 0


def test_a_ledger_that_goes_away_during_the_run_says_so_and_never_runs_again(bench, spy, monkeypatch):
    def away(*args, **options):
        raise LedgerAway("the database is away")

    proposal = bench.propose()
    with monkeypatch.context() as patched:
        patched.setattr(bench.ledger, "settle", away)
        with pytest.raises(LedgerAway, match="could not write down how it ended"):
            bench.approve(proposal)
    with pytest.raises(ProposalClosed, match=HANDLED):
        bench.approve(proposal)
    assert spy.runs == 1


def test_a_start_that_nobody_can_confirm_does_not_run(bench, spy, monkeypatch):
    def away(claim):
        raise LedgerAway("the database is away")

    monkeypatch.setattr(bench.ledger, "start", away)
    assert bench.approve(bench.propose()).outcome == "failed"
    assert spy.runs == 0


def test_the_tool_runs_in_a_thread_of_its_own_and_inline_in_the_callers(tmp_path):
    spy = Spy(lambda params, ctx: threading.current_thread().name)
    bench = GateBench(tmp_path, spy.tool())
    assert bench.approve(bench.propose()).result == "litro-tool"
    proposal = bench.propose(arguments={"number": 8})
    assert bench.approve(proposal, gate=bench.gate.within(inline)).result == threading.current_thread().name


# --- dismiss, answer, reconcile ---


def test_what_is_dismissed_never_runs(bench, spy):
    """D3."""
    proposal = bench.propose()
    dismissed = bench.gate.dismiss(proposal.id, proposal.digest, OLA, " too much ")
    assert (dismissed.state, dismissed.note, dismissed.decided_by) == (State.DISMISSED, "too much", "ola")
    with pytest.raises(ProposalClosed, match=HANDLED):
        bench.approve(proposal)
    assert (spy.runs, bench.audited()) == (0, ["dismissed"])


def test_a_dismissal_of_something_else_is_none(bench):
    proposal = bench.propose()
    with pytest.raises(ProposalClosed, match=HANDLED):
        bench.gate.dismiss(proposal.id, "0" * 64, OLA)
    assert bench.now(proposal).state is State.PROPOSED


@pytest.mark.parametrize("note", [7, "x" * 2001, "\x00", "\ud800", ["no"]])
def test_a_note_that_cannot_be_kept_is_refused_before_anything(bench, note):
    proposal = bench.propose()
    with pytest.raises(BadRequest, match="a note is a text"):
        bench.gate.dismiss(proposal.id, proposal.digest, OLA, note)
    with pytest.raises(BadRequest, match="a note is a text"):
        bench.gate.answer(proposal.id, OLA, happened=True, note=note)
    assert bench.now(proposal).state is State.PROPOSED


@pytest.fixture
def lost(tmp_path):
    """A bench with one proposal whose outcome is unknown."""
    known = []
    spy = Spy(raises(RuntimeError()))
    bench = GateBench(tmp_path, spy.tool(reconcile=lambda key: known.append(key) or bench.said))
    bench.said, bench.known, bench.spy = None, known, spy
    bench.lost = bench.approve(bench.propose())
    assert bench.lost.state is State.UNKNOWN
    return bench


@pytest.mark.parametrize(("happened", "outcome"), [(True, "ok"), (False, "failed")])
def test_an_operator_says_how_an_unknown_one_ended(lost, happened, outcome):
    answered = lost.gate.answer(lost.lost.id, OLA, happened=happened, note="I looked")
    assert (answered.state, answered.outcome, answered.truth, answered.note) == (
        State.EXECUTED,
        outcome,
        "operator",
        "I looked",
    )
    with pytest.raises(ProposalClosed, match="not unknown"):
        lost.gate.answer(lost.lost.id, OLA, happened=True)


@pytest.mark.parametrize(("said", "outcome"), [(True, "ok"), (False, "failed")])
def test_the_other_side_says_how_it_ended(lost, said, outcome):
    lost.said = said
    settled = lost.gate.reconcile(lost.lost.id, OLA)
    assert (settled.outcome, settled.truth) == (outcome, "reconcile")
    assert lost.known == [lost.lost.idempotency_key]
    with pytest.raises(ProposalClosed, match="not unknown"):
        lost.gate.reconcile(lost.lost.id, OLA)


def test_another_side_that_does_not_know_leaves_it_unknown(lost):
    assert lost.gate.reconcile(lost.lost.id, OLA).state is State.UNKNOWN


def test_an_answer_of_another_kind_settles_nothing(lost):
    lost.said = "yes"
    unchecked(lambda: lost.gate.reconcile(lost.lost.id, OLA))
    assert lost.now(lost.lost).state is State.UNKNOWN


def test_a_tool_without_reconcile_cannot_be_asked(tmp_path):
    bench = GateBench(tmp_path, Spy(raises(RuntimeError())).tool())
    left = bench.approve(bench.propose())
    with pytest.raises(ProposalClosed, match="cannot be asked"):
        bench.gate.reconcile(left.id, OLA)


def test_only_an_unknown_one_can_be_answered_or_reconciled(bench):
    proposal = bench.propose()
    with pytest.raises(ProposalClosed, match="not unknown"):
        bench.gate.answer(proposal.id, OLA, happened=True)
    with pytest.raises(ProposalClosed, match="not unknown"):
        bench.gate.reconcile(proposal.id, OLA)


# --- again, and in reverse ---


def test_an_expired_one_is_proposed_again_as_a_new_row_that_waits(bench, spy):
    first = bench.propose()
    bench.database.move(TTL_MS)
    outcome = bench.gate.repeat(first.id, ANN)
    again = outcome.proposal
    assert again.id != first.id
    assert (again.arguments, again.session, again.owner) == (first.arguments, "s1", "ann")
    assert (again.made_from, again.relation, again.proposer) == (first.id, "again", "ann")
    assert (again.state, spy.runs) == (State.PROPOSED, 0)
    assert bench.approve(again).outcome == "ok"


def test_a_dismissed_one_can_be_proposed_again_at_once_by_a_person(bench):
    first = bench.propose()
    bench.gate.dismiss(first.id, first.digest, OLA)
    assert bench.gate.repeat(first.id, ANN).proposal.state is State.PROPOSED


def test_an_unknown_one_can_be_proposed_again_and_stays_unknown(lost):
    again = lost.gate.repeat(lost.lost.id, OLA).proposal
    assert (again.state, again.proposer, again.owner) == (State.PROPOSED, "ola", "ann")
    assert lost.now(lost.lost).state is State.UNKNOWN
    assert again.idempotency_key != lost.lost.idempotency_key


def test_what_is_open_or_done_is_not_proposed_again(bench):
    proposal = bench.propose()
    with pytest.raises(ProposalClosed, match="proposed again"):
        bench.gate.repeat(proposal.id, ANN)
    bench.approve(proposal)
    with pytest.raises(ProposalClosed, match="proposed again"):
        bench.gate.repeat(proposal.id, ANN)


def test_whoever_repeats_needs_the_permission_of_the_tool(bench):
    first = bench.propose()
    bench.database.move(TTL_MS)
    assert bench.gate.repeat(first.id, replace(ANN, permissions=frozenset())).code == "forbidden"


EVE = Actor("eve", "Eve", frozenset({"orders:edit"}))


@pytest.mark.parametrize("actor", [EVE, Actor("eve", "Eve", OLA.permissions)], ids=["stranger", "not known"])
def test_a_strangers_proposal_is_not_found(bench, actor):
    first = bench.propose()
    bench.database.move(TTL_MS)
    for ask in (bench.gate.repeat, bench.gate.reverse, bench.gate.proposal):
        with pytest.raises(NotFound):
            ask(first.id, actor)


@pytest.mark.parametrize("actor", [None, "ann", Mock(spec=Actor, id="ann")], ids=["none", "text", "mock"])
def test_nobody_reads_a_proposal(bench, actor):
    with pytest.raises(Forbidden):
        bench.gate.proposal(bench.propose().id, actor)


@pytest.mark.parametrize("actor", [ANN, OLA], ids=["owner", "operator"])
def test_its_owner_and_an_operator_read_it(bench, actor):
    proposal = bench.propose()
    assert bench.gate.proposal(proposal.id, actor) == proposal


@pytest.mark.parametrize("ask", ["repeat", "reverse"])
def test_what_is_made_anew_of_a_deleted_sessions_proposal_is_in_no_session(priced, ask):
    """There is no chat for its card, and nobody there who would hear how it ends: operators see it."""
    if ask == "repeat":
        old = priced.propose(arguments={"number": 8})
        priced.gate.dismiss(old.id, old.digest, OLA)
    else:
        old = priced.done
    priced.ledger.forget_session(session_digest("desk", "ann", "s1"))
    new = getattr(priced.gate, ask)(old.id, OLA).proposal
    assert (new.session, new.home, new.owner, new.made_from) == (None, None, "ann", old.id)
    done = priced.approve(new)
    assert (done.state, done.outcome) == (State.EXECUTED, "ok")


def test_what_is_made_anew_of_a_handed_over_sessions_proposal_is_in_the_heirs(priced):
    heir = SessionKey("desk", "anna", "s1")
    priced.ledger.move_session(session_digest("desk", "ann", "s1"), to=heir)
    assert priced.gate.reverse(priced.done.id, OLA).proposal.home == heir


def test_the_heir_of_a_session_reads_its_proposals_and_strangers_do_not(priced):
    heir = replace(ANN, id="anna")
    with pytest.raises(NotFound):
        priced.gate.proposal(priced.done.id, heir)
    priced.ledger.move_session(session_digest("desk", "ann", "s1"), to=SessionKey("desk", "anna", "s1"))
    assert priced.gate.proposal(priced.done.id, heir).id == priced.done.id


def test_repeating_finds_the_open_twin(bench):
    first = bench.propose()
    bench.database.move(TTL_MS)
    second = bench.propose()
    outcome = bench.gate.repeat(first.id, ANN)
    assert (outcome.proposal.id, outcome.is_new) == (second.id, False)


@pytest.fixture
def priced(tmp_path):
    """A bench whose tool names its inverse."""
    spy, made = Spy(lambda params, ctx: {"before": 5}), {}

    def inverse(params, result):
        value = made.get("inverse", ("change", {"number": result["before"], "note": params["note"]}))
        if isinstance(value, Exception):
            raise value
        return value

    bench = GateBench(
        tmp_path, spy.tool(inverse=inverse), Spy().tool("other"), Spy().tool("look", mode=Mode.READ)
    )
    bench.made, bench.spy = made, spy
    bench.done = bench.approve(bench.propose())
    return bench


def test_the_reverse_is_a_new_proposal_that_waits_for_its_own_decision(priced):
    back = priced.gate.reverse(priced.done.id, OLA).proposal
    assert (back.input, back.tool) == ({"number": 5, "note": "none"}, "change")
    assert (back.made_from, back.relation, back.proposer, back.owner) == (
        priced.done.id,
        "reverse",
        "ola",
        "ann",
    )
    assert (back.state, priced.spy.runs) == (State.PROPOSED, 1)
    assert priced.approve(back).outcome == "ok"


@pytest.mark.parametrize(
    ("inverse", "message"),
    [
        (None, "cannot be undone"),
        (("gone", {}), "no longer has the tool"),
        (("look", {"number": 1}), "no longer has the tool"),
    ],
)
def test_what_cannot_be_reversed_says_so(priced, inverse, message):
    priced.made["inverse"] = inverse
    with pytest.raises(ProposalClosed, match=message):
        priced.gate.reverse(priced.done.id, OLA)


def test_who_takes_it_back_cannot_be_changed_by_the_sites_own_code(priced):
    def around(context):
        context.actor.data["role"] = "admin"
        return contextlib.nullcontext()

    proposal = priced.approve(priced.propose())
    actor = replace(ANN, data={"role": "guest"})
    priced.around = around
    priced.gate.reverse(proposal.id, actor)
    assert actor.data == {"role": "guest"}


def test_an_inverse_that_raises_is_a_refusal_with_an_id(priced):
    priced.made["inverse"] = RuntimeError("canary")
    outcome = priced.gate.reverse(priced.done.id, OLA)
    assert outcome.code == "failed"
    assert "canary" not in outcome.message


def test_an_inverse_passes_the_gate_like_any_call(priced):
    priced.made["inverse"] = ("change", {"number": "x"})
    assert priced.gate.reverse(priced.done.id, OLA).code == "invalid_input"


def test_only_what_was_done_is_reversed(priced):
    proposal = priced.propose("other")
    with pytest.raises(ProposalClosed, match="Only what was done"):
        priced.gate.reverse(proposal.id, OLA)
    done = priced.approve(proposal)
    with pytest.raises(ProposalClosed, match="cannot be undone"):
        priced.gate.reverse(done.id, OLA)


def test_what_failed_is_not_reversed(tmp_path):
    bench = GateBench(tmp_path, Spy(raises(NothingDone())).tool(inverse=lambda params, result: None))
    failed = bench.approve(bench.propose())
    with pytest.raises(ProposalClosed, match="Only what was done"):
        bench.gate.reverse(failed.id, OLA)


# --- the audit ---


def test_every_decision_is_in_a_chain_that_verifies(bench):
    bench.approve(bench.propose())
    second = bench.propose(arguments={"number": 8})
    bench.gate.dismiss(second.id, second.digest, OLA)
    third = bench.propose(arguments={"number": 9})
    bench.lower("site", "off")
    voided(bench, third)
    assert bench.audited() == ["approved", "executed", "dismissed", "ceiling", "void"]
    assert bench.audit.verify().faults == ()


def test_the_audit_of_a_void_says_which_check(bench):
    proposal = bench.propose()
    del bench.people["ann"]
    voided(bench, proposal)
    (row,) = bench.audit.rows()
    assert (row.actor, row.subject, row.data["reason"]) == ("ola", proposal.id, "proposer_unknown")
