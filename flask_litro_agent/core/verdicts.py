"""What all policies together say of one call: deny beats allow, no allow is a deny, and whatever fails denies."""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from flask_litro_agent.contracts import Actor, Policy, ToolFacts, Verdict

__all__ = ["Decision", "Verdicts", "copied", "permission_facts"]

logger = logging.getLogger(__name__)

#: ``broken`` is a deny for which a policy is to blame that raised, or gave no Verdict.
Decision = Literal["allow", "deny", "broken"]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Asks the policies, each time all of them."""

    policies: Sequence[Policy]

    def decide(self, actor: object, tool: ToolFacts, arguments: dict[str, Any] | None) -> Decision:
        """Say whether this actor may call the tool; ``arguments`` is None before they are known."""
        if not issubclass(type(actor), Actor):  # isinstance believes what an object says of its class
            return "deny"
        effects = {_ask(policy, actor, tool, arguments) for policy in self.policies}
        if "broken" in effects:
            return "broken"
        return "allow" if "allow" in effects and "deny" not in effects else "deny"


def copied(actor: Actor) -> Actor:
    """Return the actor for foreign code, which cannot change by it who is asked about next."""
    return replace(actor, data=dict(actor.data))


def permission_facts(permission: str) -> ToolFacts:
    """Return what policies are asked about where a permission is no tool's."""
    return ToolFacts(name=permission, description="", permission=permission, mode="read")


def _ask(policy: Policy, actor: Any, tool: ToolFacts, arguments: dict[str, Any] | None) -> str:
    try:
        verdict = policy.decide(copied(actor), tool, copy.deepcopy(arguments))
    except KeyboardInterrupt:
        raise
    except BaseException:
        logger.exception("litro gate: policy %s raised on %s: denied", type(policy).__name__, tool.name)
        return "broken"
    if type(verdict) is not Verdict or verdict.effect not in ("allow", "deny", "abstain"):
        logger.error("litro gate: policy %s gave no Verdict on %s: denied", type(policy).__name__, tool.name)
        return "broken"
    return verdict.effect
