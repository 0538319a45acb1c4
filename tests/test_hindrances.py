"""core/hindrances.py: what a page says before the click is what the gate would say after it."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from flask_litro_agent.contracts import Verdict
from flask_litro_agent.errors import AgentError
from flask_litro_agent.policies.permissions import Permissions
from tests.gate_bench import ANN, OLA, GateBench, Spy


@pytest.fixture
def bench(tmp_path):
    return GateBench(tmp_path, Spy().tool(), protected=("orders:*",), approval_freshness=300)


def hindrance(bench, proposal, operator=OLA, *, proved=None):
    """Return what is said of it, and prove it at the gate: None alone is approved."""
    at = time.time() if proved is None else proved
    (found,) = bench.gate.hindrances([bench.now(proposal)], operator, authenticated_at=at)
    try:
        bench.gate.approve(proposal.id, proposal.digest, operator, authenticated_at=at)
        approved = True
    except AgentError:
        approved = False
    assert approved == (found is None)
    return found


def test_nothing_is_in_the_way_of_an_operator(bench):
    assert hindrance(bench, bench.propose()) is None


def test_whoever_may_not_approve_at_all(bench):
    assert hindrance(bench, bench.propose(), ANN) == "no_operator"


def test_an_operator_whom_the_site_does_not_know_any_more(bench):
    proposal = bench.propose()
    bench.people.pop("ola")
    assert hindrance(bench, proposal) == "no_operator"


@pytest.mark.parametrize("where", ["request", "site"])
def test_the_tools_own_permission_is_missing(bench, where):
    proposal, poor = bench.propose(), replace(OLA, permissions=frozenset({"litro:approve"}))
    if where == "site":
        bench.people["ola"] = poor
    assert hindrance(bench, proposal, OLA if where == "site" else poor) == "permission"


def test_a_policy_that_denies_the_operator_the_tool(bench):
    class NotOla(Permissions):
        def decide(self, actor, tool, arguments):
            denies = actor.id == "ola" and tool.name == "change"
            return Verdict.deny() if denies else super().decide(actor, tool, arguments)

    proposal = bench.propose()
    bench.policies = [NotOla()]
    bench.gate = bench.gate_for(Spy().tool())
    assert hindrance(bench, proposal) == "policy"


def test_whoever_asked_for_what_needs_four_eyes(tmp_path):
    bench = GateBench(tmp_path, Spy().tool(four_eyes=True))
    assert hindrance(bench, bench.propose(actor=OLA)) == "four_eyes"
    assert hindrance(bench, bench.propose(arguments={"number": 8}, actor=ANN)) is None


def test_a_sign_in_that_is_too_old(bench):
    assert hindrance(bench, bench.propose(), proved=time.time() - 400) == "stale"


def test_the_loader_is_asked_once_for_a_page(bench):
    proposals = [bench.now(bench.propose(arguments={"number": number})) for number in range(4)]
    asked = []
    people = bench.people

    class Counting(dict):
        def get(self, name, default=None):
            asked.append(name)
            return people.get(name, default)

    bench.people = Counting(people)
    gate = bench.gate_for(Spy().tool(), protected=("orders:*",))
    asked.clear()
    assert gate.hindrances(proposals, OLA) == [None] * 4
    assert asked == ["ola"]
