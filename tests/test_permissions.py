"""The policy of the actor's own permissions, and the contract that every policy passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from flask_litro_agent.contracts import Actor, Policy, ToolFacts, Verdict
from flask_litro_agent.policies.permissions import Permissions
from flask_litro_agent.testing.policies import PolicyContract


def tool(permission: str | None) -> ToolFacts:
    return ToolFacts("find_orders", "Finds orders.", permission, "read")


def decided(held: set[str], permission: str | None) -> Verdict:
    return Permissions().decide(Actor("7", "Ada", frozenset(held)), tool(permission), None)


class TestPermissions(PolicyContract):
    @pytest.fixture
    def policy(self) -> Policy:
        return Permissions()


def test_it_is_a_policy() -> None:
    assert isinstance(Permissions(), Policy)


def test_a_public_tool_is_allowed_to_everybody() -> None:
    assert decided(set(), None) == Verdict.allow()


def test_a_held_permission_allows() -> None:
    assert decided({"orders:read"}, "orders:read") == Verdict.allow()


def test_a_pattern_allows_what_it_covers() -> None:
    assert decided({"orders:*"}, "orders:read") == Verdict.allow()


def test_a_pattern_denies_what_it_does_not_cover() -> None:
    assert decided({"orders:*"}, "ordersx:read").effect == "deny"


@pytest.mark.parametrize(
    "held", [set(), {"orders:write"}, {"orders"}, {"orders:read "}, {"ORDERS:READ"}, {"orders:"}]
)
def test_a_permission_that_is_not_held_is_denied(held: set[str]) -> None:
    assert decided(held, "orders:read") == Verdict.deny("needs the permission 'orders:read'")


def test_the_arguments_change_nothing() -> None:
    actor = Actor("7", "Ada", frozenset({"orders:read"}))
    for arguments in (None, {}, {"permission": "*", "approved": True}):
        assert Permissions().decide(actor, tool("orders:read"), arguments) == Verdict.allow()
        assert Permissions().decide(actor, tool("refunds:edit"), arguments).effect == "deny"


class Faulty:
    """Policies that break the contract, one way each."""

    class AnswersTrue:
        def decide(self, actor: Actor, tool: ToolFacts, arguments: Mapping[str, Any] | None) -> Any:
            return True

    class Raises:
        def decide(self, actor: Actor, tool: ToolFacts, arguments: Mapping[str, Any] | None) -> Verdict:
            return Verdict.allow() if actor.data["team"] else Verdict.abstain()

    class Writes:
        def decide(self, actor: Actor, tool: ToolFacts, arguments: Any) -> Verdict:
            if arguments:
                arguments["seen"] = True
            return Verdict.abstain()

    class Counts:
        def __init__(self) -> None:
            self.calls = 0

        def decide(self, actor: Actor, tool: ToolFacts, arguments: Mapping[str, Any] | None) -> Verdict:
            self.calls += 1
            return Verdict.allow() if self.calls % 2 else Verdict.deny()

    class Remembers:
        def __init__(self) -> None:
            self.seen: list[object] = []

        def decide(self, actor: Actor, tool: ToolFacts, arguments: Mapping[str, Any] | None) -> Verdict:
            question = (actor.id, actor.name, tool, arguments)
            if question not in self.seen:
                self.seen.append(question)
            return Verdict.allow() if question == self.seen[0] else Verdict.deny(str(len(self.seen)))


CONTROLS = [
    (Faulty.AnswersTrue, PolicyContract.test_the_answer_is_always_a_verdict),
    (Faulty.Raises, PolicyContract.test_the_answer_is_always_a_verdict),
    (Faulty.Writes, PolicyContract.test_the_question_is_left_as_it_was),
    (Faulty.Counts, PolicyContract.test_equal_questions_have_equal_answers),
    (Faulty.Remembers, PolicyContract.test_other_questions_in_between_change_no_answer),
]


@pytest.mark.parametrize(("policy", "law"), CONTROLS, ids=[policy.__name__ for policy, _ in CONTROLS])
def test_the_contract_catches_a_policy_that_breaks_it(policy: type[Policy], law: Any) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011  # an assertion, what the policy raised, or a group of both
        law(PolicyContract(), policy())
