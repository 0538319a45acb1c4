"""The events that close what was begun: a call that gave no value, an error, and the turn itself."""

from __future__ import annotations

from typing import Any

from flask_litro_agent import events
from flask_litro_agent.contracts import ToolCall
from flask_litro_agent.core.gate import Refused
from flask_litro_agent.turns.history import History
from flask_litro_agent.turns.writer import Draft

__all__ = ["error", "refusal", "turn_end", "unanswered"]


def error(code: str, message: str, *, retryable: bool = False) -> Draft:
    """Return an ``error``, with one of ``events.ERROR_CODES``."""
    return Draft(events.ERROR, {"code": code, "message": message, "retryable": retryable})


def refusal(call: ToolCall, refused: Refused) -> Draft:
    """Return the result of a call that gave no value."""
    said: dict[str, Any] = {"code": refused.code, "message": refused.message}
    if refused.errors:
        said["errors"] = refused.errors
    return Draft(events.TOOL_RESULT, {"call_id": call.id, "name": call.name, "error": said})


def unanswered(history: History, message: str) -> list[Draft]:
    """Return a result for each call of the open turn that has none."""
    return [refusal(call, Refused("failed", message)) for call in history.open_calls]


def turn_end(history: History, reason: str) -> Draft:
    """Return the last event of the open turn, with one of ``events.TURN_END_REASONS``."""
    return Draft(events.TURN_END, {"turn_id": history.open_turn, "reason": reason, "usage": history.usage})
