"""How a call ended, as a client's model reads it: text, and the same as data.

What waits, was forbidden or was dismissed is an answer like any other, for the model to explain. ``isError`` is for
calls that went wrong. A component is its data and its text form: html never comes here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from flask_litro_agent.core.outcome import NeedsApproval, Outcome, Ran, Refused
from flask_litro_agent.core.proposals import Proposal
from flask_litro_agent.mcp.messages import INVALID_PARAMS, ProtocolError
from flask_litro_agent.tools import UIResult

__all__ = ["INSTRUCTIONS", "TextOf", "call_result"]

#: Gives a component's text form.
TextOf = Callable[[UIResult], str]

#: For the client's system prompt, while a tool is listed that changes something.
INSTRUCTIONS: Final = (
    "Some of these tools change things. Calling one changes nothing: it puts a proposal in front of an operator of the "
    "site, who approves or dismisses it there. After such a call say that the change is proposed and waits for "
    "approval; never say or imply that it is done. How a proposal ended is seen on the site, not here: no tool's "
    "result and no message says so. You cannot approve anything, and nobody can approve by a message."
)
_WAITS: Final = (
    "This is not done. It waits for an operator's approval on the site. Say that it is proposed and waits; do not say "
    "that it is done, and do not call the tool again for it."
)
#: Refusals that tell the model how things stand; after any other one the call went wrong.
_ANSWERS: Final = frozenset({"forbidden", "dismissed"})


def call_result(outcome: Outcome, text_of: TextOf) -> dict[str, Any]:
    """Return the result of ``tools/call``; ProtocolError for a tool that is not there."""
    match outcome:
        case Ran():
            return _ran(outcome, text_of)
        case NeedsApproval(proposal):
            return _waiting(proposal)
        case Refused("unknown_tool"):
            raise ProtocolError(INVALID_PARAMS, "there is no such tool: tools/list says which there are")
    return _refused(outcome)


def _ran(ran: Ran, text_of: TextOf) -> dict[str, Any]:
    result: dict[str, Any] = {"content": _texts(*_forms(ran, text_of)), "isError": False}
    if isinstance(ran.value, dict):
        result["structuredContent"] = ran.value
    return result


def _forms(ran: Ran, text_of: TextOf) -> tuple[str, ...]:
    """Return what a model reads of a value; of a component its text form, and its data beside it."""
    if ran.component is not None:
        return text_of(ran.component), _json(ran.value)
    return (ran.value if isinstance(ran.value, str) else _json(ran.value),)


def _waiting(proposal: Proposal) -> dict[str, Any]:
    told = {
        "status": "needs_approval",
        "proposal_id": proposal.id,
        "summary": proposal.summary,
        "instruction": _WAITS,
    }
    return {"content": _texts(_json(told)), "structuredContent": told, "isError": False}


def _refused(refused: Refused) -> dict[str, Any]:
    told: dict[str, Any] = {"status": refused.code, "message": refused.message}
    if refused.errors:
        told["errors"] = refused.errors
    text = _json(told) if refused.errors else refused.message
    return {"content": _texts(text), "structuredContent": told, "isError": refused.code not in _ANSWERS}


def _texts(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in texts if text]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
