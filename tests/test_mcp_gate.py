"""One gate: its own tests and the contract of policies once more, with every call coming in by MCP."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from marshmallow import INCLUDE, Schema

from flask_litro_agent.agents import Agent, LoadedAgent
from flask_litro_agent.contracts import Policy, Stop, Verdict
from flask_litro_agent.core.gate import CallSite, Gate, NeedsApproval, Ran, Refused
from flask_litro_agent.mcp.messages import ProtocolError, Request
from flask_litro_agent.mcp.server import Call, Caller, Server
from flask_litro_agent.policies.permissions import Permissions
from flask_litro_agent.settings import Settings
from flask_litro_agent.testing.policies import PolicyContract
from flask_litro_agent.tools import PUBLIC, Mode, Tool
from tests import gate_bench, test_gate
from tests.gate_bench import ARGUMENTS, GateBench
from tests.test_gate import (  # noqa: F401
    order,
    ran,
    test_a_call_that_may_run_gives_its_value,
    test_a_forbidden_call_hears_nothing_about_its_arguments,
    test_a_generator_without_an_end_is_stopped_by_its_progress,
    test_a_generators_return_value_is_the_result,
    test_a_missing_identity_is_refused_before_a_policy_is_asked,
    test_a_policy_cannot_change_the_actor_that_the_next_one_is_asked_about,
    test_a_policy_cannot_change_what_runs,
    test_a_policy_is_asked_without_and_then_with_the_loaded_arguments,
    test_a_policy_may_deny_by_the_arguments,
    test_a_policy_that_raises_denies_and_is_not_quoted,
    test_a_tool_cannot_change_the_actor_that_the_next_call_is_decided_by,
    test_a_validation_error_inside_a_tool_is_a_failure_not_the_models_mistake,
    test_a_validator_that_raises_is_a_failed_call,
    test_an_awaitable_denies,
    test_an_output_over_the_cap_is_too_large,
    test_deny_beats_allow,
    test_invalid_arguments_name_every_field_and_run_nothing,
    test_no_policy_is_a_deny,
    test_policies_that_only_abstain_are_a_deny,
    test_whatever_a_tool_raises_is_an_id_in_production,
    test_whatever_is_no_verdict_denies,
)
from tests.test_gate_write import (  # noqa: F401
    bench,
    spy,
    test_a_policy_may_deny_by_the_arguments_as_they_would_run,
    test_reads_go_on_beside,
    test_the_row_is_made_from_the_canonical_bytes,
    test_there_is_no_flag_that_confirms,
    test_what_a_model_says_of_approvals_approves_nothing,
)

_AGENT = Agent(model="scripted:none", mcp_server=True)
_CODE_OF_A_NAME = "unknown_tool"


def by_mcp(gate: Gate, agent: str, name: str, arguments: Any, actor: Any, site: CallSite | None) -> Any:
    """Call a tool as a client of the handshake does; return what its answer says, as the gate says it."""
    server = Server(
        LoadedAgent(name=agent, agent=_AGENT, tools=gate.tools(agent)), gate, seconds=60.0, text_of=str
    )
    params = {"name": name, "arguments": arguments}
    request = Request(id=1, method="tools/call", params=params)
    heard = site.progress if site else lambda value: None
    try:
        call = server.answer(request, {}, Caller(actor=actor, token="Laptop (0)"), is_modern=False)
        assert isinstance(call, Call)
        return _outcome(call.run(heard, Stop()))
    except ProtocolError as error:
        return Refused(_CODE_OF_A_NAME, error.message)


def _outcome(result: dict[str, Any]) -> Any:
    told = result.get("structuredContent")
    text = result["content"][0]["text"]
    if not isinstance(told, dict) or "status" not in told:
        return Ran(_value(text))
    if told["status"] == "needs_approval":
        return told["proposal_id"]
    return Refused(told["status"], told["message"], told.get("errors"))


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # a text is told as it is
        return text


@pytest.fixture(autouse=True)
def door(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let both benches of the gate's tests come in by MCP."""

    def call(gate, name="order", arguments=None, *, actor=test_gate.ANN, site=None, agent="desk"):
        return by_mcp(gate, agent, name, arguments or {}, actor, site)

    def bench_call(self, name="change", arguments=None, *, actor=gate_bench.ANN, gate=None, **site):
        raw = ARGUMENTS if arguments is None else arguments
        outcome = by_mcp(gate or self.gate, "desk", name, raw, actor, None)
        return NeedsApproval(self.ledger.get(outcome)) if isinstance(outcome, str) else outcome

    monkeypatch.setattr(test_gate, "call", call)
    monkeypatch.setattr(GateBench, "call", bench_call)


def test_control_what_these_tests_import_does_come_in_by_mcp(order):  # noqa: F811
    outcome = test_gate.call(test_gate.gate_for(order), "orders")
    assert outcome.message == "there is no such tool: tools/list says which there are"


class _Open(Schema):
    class Meta:
        unknown = INCLUDE


class _AskedByMcp:
    """A policy as it shows at the door: it allows what a client's call of such a tool is not forbidden."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def decide(self, actor, tool, arguments):
        permission = PUBLIC if tool.permission is None else tool.permission
        looked = Tool(
            name=tool.name,
            description=tool.description,
            permission=permission,
            mode=Mode.READ,
            params=_Open(),
            function=lambda params, ctx: 1,
        )
        gate = Gate(
            {"desk": {tool.name: looked}},
            {"desk": Settings().limits},
            [self._policy],
            around=lambda context: contextlib.nullcontext(),
        )
        outcome = by_mcp(gate, "desk", tool.name, dict(arguments or {}), actor, None)
        is_refused = isinstance(outcome, Refused) and outcome.code == "forbidden"
        return Verdict.deny() if is_refused else Verdict.allow()


class TestPermissionsByMcp(PolicyContract):
    @pytest.fixture
    def policy(self) -> Policy:
        return _AskedByMcp(Permissions())
