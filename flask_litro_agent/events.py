"""The words a session is written in, and an event's one line of bytes.

An event is encoded once; the same bytes go to the log and to the wire (NDJSON). ``seq`` starts at 1 and has no
gaps; ``ts`` is milliseconds since the Unix epoch. The order of the members in a line is fixed
(seq, ts, kind, payload), so that a store can read ``seq`` and ``kind`` without decoding the payload. A line has
no newline but its last byte; readers split at it alone (U+2028 and the like stand in texts as they are).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask_litro_agent import strict_json
from flask_litro_agent.errors import InvalidJSON

__all__ = [
    "DURABLE",
    "ERROR",
    "ERROR_CODES",
    "FRAME",
    "HISTORY",
    "KINDS",
    "MESSAGE",
    "PROPOSAL",
    "PROPOSAL_SETTLED",
    "REASONING_DELTA",
    "SETTLED_STATES",
    "TEXT_DELTA",
    "TOOL_CALL",
    "TOOL_ERROR_CODES",
    "TOOL_PROGRESS",
    "TOOL_RESULT",
    "TURN_END",
    "TURN_END_REASONS",
    "TURN_START",
    "UI",
    "USAGE",
    "Event",
    "decode",
    "encode",
    "frame",
]

TURN_START = "turn-start"
MESSAGE = "message"
TEXT_DELTA = "text-delta"
REASONING_DELTA = "reasoning-delta"
TOOL_CALL = "tool-call"
TOOL_PROGRESS = "tool-progress"
TOOL_RESULT = "tool-result"
UI = "ui"
PROPOSAL = "proposal"
PROPOSAL_SETTLED = "proposal-settled"
USAGE = "usage"
ERROR = "error"
TURN_END = "turn-end"

KINDS = frozenset(
    {
        TURN_START,
        MESSAGE,
        TEXT_DELTA,
        REASONING_DELTA,
        TOOL_CALL,
        TOOL_PROGRESS,
        TOOL_RESULT,
        UI,
        PROPOSAL,
        PROPOSAL_SETTLED,
        USAGE,
        ERROR,
        TURN_END,
    }
)
#: What a history is made of: the projection reads these and nothing else.
HISTORY = frozenset(
    {TURN_START, MESSAGE, TOOL_CALL, TOOL_RESULT, UI, PROPOSAL, PROPOSAL_SETTLED, USAGE, TURN_END}
)
#: What a store makes durable (fsync) before it answers, under ``LITRO_FSYNC = turn``.
DURABLE = frozenset({MESSAGE, TOOL_CALL, TOOL_RESULT, UI, PROPOSAL, PROPOSAL_SETTLED, TURN_END})

TURN_END_REASONS = ("finished", "failed", "stopped", "limit", "interrupted")
TOOL_ERROR_CODES = (
    "unknown_tool",
    "forbidden",
    "invalid_input",
    "failed",
    "timeout",
    "too_large",
    "nested_ui",
    "dismissed",
)
#: What a ``proposal-settled`` event's ``state`` may be.
SETTLED_STATES = ("executed", "failed", "dismissed", "void", "expired", "outcome_unknown")
#: What an ``error`` event's ``code`` may be: the provider's conditions, then our own.
ERROR_CODES = (
    "auth",
    "not_found",
    "bad_request",
    "context_overflow",
    "content_filter",
    "rate_limit",
    "quota",
    "overloaded",
    "server",
    "network",
    "truncated",
    "protocol",
    "timeout",
    "bad_tool_args",
    "configuration",
    "internal",
)

_encode_text = json.JSONEncoder(ensure_ascii=False).encode
_encode_value = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
#: How every line begins, as a pattern: seq and kind are its groups.
FRAME = rb'\{"seq":([1-9][0-9]{0,17}),"ts":[0-9]{1,17},"kind":"([a-z-]{1,32})","payload":\{'
_BEGINNING = re.compile(FRAME)


@dataclass(frozen=True, slots=True)
class Event:
    """One event as a client reads it."""

    seq: int
    ts: int
    kind: str
    payload: Mapping[str, Any]


def encode(seq: int, ts: int, kind: str, payload: Mapping[str, Any]) -> bytes:
    """Return the event's line, newline included.

    What ``decode`` would not take back raises ValueError: NaN, Infinity, cycles, NUL, and lone surrogates (a
    UnicodeEncodeError). Depth, names and long integers are the doors' business; what is no JSON raises TypeError.
    """
    text = payload.get("text") if len(payload) == 1 else None
    # a delta: the text alone, into the fixed frame
    body = f'{{"text":{_encode_text(text)}}}' if isinstance(text, str) else _encode_value(payload)
    if "\\u0000" in body:  # a NUL, or a text about NUL
        strict_json.decode(body, depth=strict_json.STORED_DEPTH)
    return f'{{"seq":{seq},"ts":{ts},"kind":"{kind}","payload":{body}}}\n'.encode()


def decode(line: bytes) -> Event:
    """Return the event of one line; raise InvalidJSON when the line is not exactly such an event."""
    value = strict_json.decode(line, depth=strict_json.STORED_DEPTH)
    match value:
        case {"seq": int(seq), "ts": int(ts), "kind": str(kind), "payload": dict(payload)} if (
            len(value) == 4 and kind in KINDS and _whole(seq, 1) and _whole(ts, 0)
        ):
            return Event(seq, ts, kind, payload)
    raise InvalidJSON("not an event: it needs seq, ts, kind and payload, and nothing else")


def frame(line: bytes) -> tuple[int, str] | None:
    """Return (seq, kind) of a line by its fixed frame, without decoding it; None when it has none."""
    match = _BEGINNING.match(line)
    return (int(match[1]), match[2].decode()) if match else None


def _whole(number: int, least: int) -> bool:
    return number is not True and number is not False and number >= least
