"""The events that close what was begun: an error, the calls that have no result, and the turn itself."""

from __future__ import annotations

from flask_litro_agent import events
from flask_litro_agent.core.outcome import Refused
from flask_litro_agent.turns.history import History
from flask_litro_agent.turns.results import refused
from flask_litro_agent.turns.writer import Draft

__all__ = ["error", "turn_end", "unanswered"]


def error(code: str, message: str, *, retryable: bool = False) -> Draft:
    """Return an ``error``, with one of ``events.ERROR_CODES``."""
    return Draft(events.ERROR, {"code": code, "message": message, "retryable": retryable})


def unanswered(history: History, message: str) -> list[Draft]:
    """Return a result for each call of the open turn that has none."""
    return [refused(call, Refused("failed", message)) for call in history.open_calls]


def turn_end(history: History, reason: str) -> Draft:
    """Return the last event of the open turn, with one of ``events.TURN_END_REASONS``."""
    return Draft(events.TURN_END, {"turn_id": history.open_turn, "reason": reason, "usage": history.usage})
