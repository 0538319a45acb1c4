"""A proposal as its readers get it: every field as text, made from the canonical bytes that would run."""

from __future__ import annotations

import json
from typing import Any, Final

from flask_litro_agent.core.proposals import Proposal

__all__ = ["card"]

_SHOWN: Final = (
    "id",
    "agent",
    "session",
    "tool",
    "mode",
    "permission",
    "proposer",
    "summary",
    "preview",
    "as_of",
    "four_eyes",
    "digest",
    "created_at",
    "expires_at",
    "read_at",
    "settled_at",
    "outcome",
    "truth",
    "reason",
    "note",
    "made_from",
    "relation",
)
#: What only operators see.
_INNER: Final = ("owner", "turn", "call_id", "claimed_at", "started_at", "decided_by", "result", "error_id")


def card(proposal: Proposal, *, is_operator: bool) -> dict[str, Any]:
    """Return the proposal as JSON. ``fields`` are the arguments, each as JSON text: a browser's numbers would round."""
    names = _SHOWN + _INNER if is_operator else _SHOWN
    shown = {name: getattr(proposal, name) for name in names}
    fields = {name: _text(value) for name, value in proposal.input.items()}
    arguments = proposal.arguments.decode()
    return {**shown, "state": proposal.state.value, "arguments": arguments, "fields": fields}


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
