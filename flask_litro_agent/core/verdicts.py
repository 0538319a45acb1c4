"""What all policies together say of one call: deny beats allow, no allow is a deny, and whatever fails denies."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal

from flask_litro_agent.contracts import Actor, Policy, Stop, ToolFacts, Verdict
from flask_litro_agent.core.execution import Executor, Finished, NotStarted, Raised, inline
from flask_litro_agent.errors import Overloaded

__all__ = ["Decision", "Verdicts", "copied", "permission_facts"]

logger = logging.getLogger(__name__)

#: ``broken`` is a deny for which a policy is to blame that raised, or gave no Verdict.
Decision = Literal["allow", "deny", "broken"]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Asks the policies, each time all of them, in a thread of their own: ``seconds`` is what they get together.

    ``around`` gives the context in which they are asked.
    """

    policies: Sequence[Policy]
    execute: Executor = inline
    around: Callable[[], AbstractContextManager[object]] = nullcontext
    seconds: float = 5.0

    def decide(self, actor: object, tool: ToolFacts, arguments: dict[str, Any] | None) -> Decision:
        """Say whether this actor may call the tool; ``arguments`` is None before they are known."""
        if not issubclass(type(actor), Actor):  # isinstance believes what an object says of its class
            return "deny"
        effects = self._effects(actor, tool, arguments)
        if "broken" in effects:
            return "broken"
        return "allow" if "allow" in effects and "deny" not in effects else "deny"

    def _effects(self, actor: object, tool: ToolFacts, arguments: dict[str, Any] | None) -> list[str]:
        """Return what each policy says; Overloaded when there is no thread in which they could be asked."""
        effects: list[str] = []

        def ask(report: object) -> None:
            with self.around():
                for policy in self.policies:
                    effects.append(_ask(policy, actor, tool, arguments))

        match self.execute(ask, self.seconds, Stop(), lambda value: None):
            case Finished():
                return effects
            case NotStarted(error):
                raise Overloaded(
                    "no thread is left here to ask the policies: ask again in a moment"
                ) from error
            case Raised(KeyboardInterrupt() as error):
                raise error
            case Raised(error):
                logger.error(
                    "litro gate: the policies could not be asked about %s: denied", tool.name, exc_info=error
                )
            case _:
                slow = ", ".join(type(policy).__name__ for policy in self.policies[len(effects) :][:1])
                told = "litro gate: policy %s said nothing about %s within %.3g seconds: denied"
                logger.error(told, slow, tool.name, self.seconds)
        return ["broken"]


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
