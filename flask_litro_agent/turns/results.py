"""A call's answer as the event that stands in the place of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flask_litro_agent import events
from flask_litro_agent.contracts import Rendered, ToolCall
from flask_litro_agent.core.outcome import Refused
from flask_litro_agent.core.proposals import Proposal
from flask_litro_agent.turns import approval_rule
from flask_litro_agent.turns.writer import Draft

__all__ = ["Seal", "component", "not_run", "proposed", "refused", "value"]

#: Gives the private part of a component's payload.
Seal = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]


def refused(call: ToolCall, refusal: Refused) -> Draft:
    """Return the result of a call that gave no value."""
    error: dict[str, Any] = {"code": refusal.code, "message": refusal.message}
    if refusal.errors:
        error["errors"] = refusal.errors
    return Draft(events.TOOL_RESULT, {**_named(call), "error": error})


def not_run(call: ToolCall, reason: str) -> Draft:
    """Return the result of a call that the turn's end came before."""
    return refused(call, Refused("failed", f"not run: the turn ended ({reason})"))


def value(call: ToolCall, output: Any, *, shown: bool) -> Draft:
    """Return a tool's value; one that is not shown is private."""
    if shown:
        return Draft(events.TOOL_RESULT, {**_named(call), "output": output})
    return Draft(events.TOOL_RESULT, _named(call), {"output": output})


def component(call: ToolCall, data: Any, rendered: Rendered, seal: Seal) -> Draft:
    """Return a component, sealed, with the data that the model gets."""
    payload = {**_named(call), "html": rendered.html, "data": data}
    if rendered.text is not None:
        payload["text"] = rendered.text
    if rendered.hydrate is not None:
        payload["hydrate"] = rendered.hydrate
    return Draft(events.UI, payload, seal(payload))


def proposed(call: ToolCall, proposal: Proposal) -> Draft:
    """Return the card's event; for a call that met an open twin, a result that names it: there is no second card."""
    if proposal.call_id != call.id:
        return value(call, approval_rule.waiting(proposal.id), shown=True)
    shown = {
        "proposal_id": proposal.id,
        "summary": proposal.summary,
        "expires_at": proposal.expires_at,
    }
    return Draft(events.PROPOSAL, {**_named(call), **shown})


def _named(call: ToolCall) -> dict[str, Any]:
    return {"call_id": call.id, "name": call.name}
