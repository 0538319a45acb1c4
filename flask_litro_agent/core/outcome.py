"""What a call comes to: it ran, it waits for an approval, or it was refused; and where the call stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from flask_litro_agent.contracts import Stop
from flask_litro_agent.core.proposals import Proposal
from flask_litro_agent.tools import UIResult

__all__ = ["CallSite", "NeedsApproval", "Outcome", "Ran", "Refused", "Relation"]

Relation = Literal["again", "reverse"]


@dataclass(frozen=True, slots=True)
class Ran:
    """The tool ran: its value as plain JSON, and the component to show when it returned one."""

    value: Any
    component: UIResult | None = None


@dataclass(frozen=True, slots=True)
class NeedsApproval:
    """Nothing has happened: the change waits as a proposal. ``is_new`` is False for one that was there already."""

    proposal: Proposal
    is_new: bool = True


@dataclass(frozen=True, slots=True)
class Refused:
    """The tool gave no value: one of ``events.TOOL_ERROR_CODES``, and a sentence that the model may read."""

    code: str
    message: str
    errors: Mapping[str, Any] | None = None


Outcome = Ran | NeedsApproval | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSite:
    """Where in a session a call stands, who watches it, and the seconds that its caller has left.

    ``owner`` is the session's, by default the actor; ``via`` names the token by which a call came in; ``made_from`` is
    the proposal that this call repeats or reverses.
    """

    session_id: str | None = None
    turn_id: str | None = None
    call_id: str | None = None
    progress: Callable[[Any], None] = field(default=lambda value: None, repr=False)
    stop: Stop = field(default_factory=Stop, repr=False)
    seconds: float = float("inf")
    owner: str | None = None
    via: str | None = None
    made_from: str | None = None
    relation: Relation | None = None
