"""A proposal as its readers get it: every field as text, made from the canonical bytes that would run."""

from __future__ import annotations

import json
from typing import Any, Final

from flask_litro_agent.core import cards
from flask_litro_agent.core.proposals import Proposal
from flask_litro_agent.core.visible import Visible, visible
from flask_litro_agent.tools import Tool

__all__ = ["card", "part"]

_SHOWN: Final = (
    "id",
    "agent",
    "session",
    "tool",
    "mode",
    "permission",
    "proposer",
    "via",
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


def card(proposal: Proposal, *, is_operator: bool, tool: Tool | None = None) -> dict[str, Any]:
    """Return the proposal as JSON; ``tool`` is the one that would run now, None when it is gone.

    ``fields`` are the arguments, each as JSON text: a browser's numbers would round. ``lines`` are the same for people.
    """
    names = _SHOWN + _INNER if is_operator else _SHOWN
    shown = {name: getattr(proposal, name) for name in names}
    fields = {name: _text(value) for name, value in proposal.input.items()}
    lines = cards.lines(proposal.arguments, filled=proposal.filled, labels=proposal.labels)
    return {
        **shown,
        "state": proposal.state.value,
        "arguments": proposal.arguments.decode(),
        "fields": fields,
        "lines": [part(line) for line in lines],
        "labels": dict(proposal.labels or {}),
        "changes": _changes(proposal.preview),
        "component": _component(proposal.preview),
        "version": None if proposal.as_of is None else _named(visible(proposal.as_of)),
        "can_be_undone": None if tool is None else tool.inverse is not None,
    }


def _changes(preview: Any) -> list[dict[str, Any]] | None:
    """Return the lines of a preview; None when it is a component, or when there is none."""
    if not isinstance(preview, list):
        return None
    return [
        {
            "label": _named(visible(_said(change["label"]))),
            "before": part(cards.value(change["before"])),
            "after": part(cards.value(change["after"])),
        }
        for change in preview
    ]


def _component(preview: Any) -> dict[str, Any] | None:
    """Return a preview that is a component by its data."""
    if not isinstance(preview, dict):
        return None
    return {"name": _named(visible(_said(preview["component"]))), "data": part(cards.value(preview["data"]))}


def part(shown: cards.Part) -> dict[str, Any]:
    """Return a part of a card as JSON; without marks and a label where it has none."""
    told: dict[str, Any] = {"path": shown.path, "name": shown.name, "kind": shown.kind}
    if shown.marks:
        told["marks"] = shown.marks
    match shown:
        case cards.Line(text=text, label=label):
            told["text"] = text
            if label is not None:
                told["label"] = _named(label)
        case cards.Group(parts=parts):
            told["parts"] = [part(inner) for inner in parts]
        case cards.Table(columns=columns, rows=rows):
            told["columns"] = [_named(column) for column in columns]
            told["rows"] = [[cell and part(cell) for cell in row] for row in rows]
    return told


def _named(shown: Visible) -> dict[str, Any]:
    return {"text": shown.text, "marks": shown.marks} if shown.marks else {"text": shown.text}


def _said(value: Any) -> str:
    return value if isinstance(value, str) else _text(value)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
