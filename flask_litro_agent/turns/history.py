"""The session log as the model's messages: a projection that grows with the log and is never rebuilt.

Every call in it has a result, also after a turn that died. A component's html is not read, so no model can see it.
How a proposal ended stands once, as a note in front of what the person says next; a turn that begins without a word of
the person begins with the note.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flask_litro_agent import events, strict_json
from flask_litro_agent.contracts import (
    Entry,
    Message,
    Part,
    SessionKey,
    SessionStore,
    Text,
    ToolCall,
    ToolResult,
)
from flask_litro_agent.errors import InvalidJSON
from flask_litro_agent.turns import approval_rule
from flask_litro_agent.turns.endings import TurnEnd

__all__ = ["History"]

logger = logging.getLogger(__name__)

_BYTES_A_TOKEN = 4
_INTERRUPTED = "no result: the turn was interrupted"


@dataclass(slots=True)
class _Round:
    """One answer of the model: its text, its calls, and what came back for them."""

    text: str = ""
    state: Mapping[str, Any] | None = None
    calls: list[ToolCall] = field(default_factory=list)
    results: dict[str, ToolResult] = field(default_factory=dict)

    def messages(self) -> Iterable[Message]:
        said: tuple[Part, ...] = (Text(self.text),) if self.text else ()
        if said or self.calls:
            yield Message("assistant", (*said, *self.calls), self.state)
        if self.calls:
            yield Message("tool", tuple(self.results.get(call.id) or _no_result(call) for call in self.calls))


@dataclass(slots=True)
class _Turn:
    turn_id: str
    settled: list[Mapping[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    rounds: list[_Round] = field(default_factory=list)
    asked_in: dict[str, _Round] = field(default_factory=dict)
    actor_id: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    size: int = 0
    finished: tuple[Message, ...] | None = None
    reason: str = ""

    def take_usage(self, payload: Mapping[str, Any]) -> None:
        cached = payload.get("cached_tokens")
        self.input_tokens += payload["input_tokens"]
        self.output_tokens += payload["output_tokens"]
        self.cached_tokens += cached if isinstance(cached, int) else 0
        self.model = str(payload.get("model", ""))

    def take_call(self, call: ToolCall) -> None:
        if not self.rounds or self.rounds[-1].results:
            self.rounds.append(_Round())
        self.rounds[-1].calls.append(call)
        self.asked_in[call.id] = self.rounds[-1]

    def messages(self) -> tuple[Message, ...]:
        if self.finished is not None:
            return self.finished
        told = [Message("user", (approval_rule.note(self.settled),))] if self.settled else []
        asked = [Message("user", (Text(text),)) for text in self.asked]
        return (*told, *asked, *(message for each in self.rounds for message in each.messages()))


class History:
    """What the model is told of one session, and where its log stands. Changed only by the lease's holder."""

    def __init__(self, *, context_tokens: int) -> None:
        self.seq = 0
        self.context_tokens = context_tokens
        self._turns: deque[_Turn] = deque()
        self._size = 0
        self._open: _Turn | None = None
        self._news: list[Mapping[str, Any]] = []
        self._news_size = 0
        self._written: set[tuple[str, str]] = set()

    def catch_up(self, store: SessionStore, key: SessionKey) -> None:
        """Read what another writer has added to the log since."""
        for entry in store.read(key, after=self.seq, kinds=events.HISTORY):
            self.feed(entry)
        self.seq = max(self.seq, store.last_seq(key))

    def feed(self, entry: Entry) -> None:
        """Take the log's next entry; entries of other kinds only move the position."""
        self.seq = entry.seq
        if entry.kind not in events.HISTORY:
            return
        try:
            payload = events.decode(entry.line).payload
            private = (
                strict_json.decode(entry.private, depth=strict_json.STORED_DEPTH) if entry.private else {}
            )
            self._note(entry.kind, payload, private, _size(entry, payload))
        except (InvalidJSON, KeyError, AttributeError):
            logger.warning("litro history: entry %d is not an event and is left out", entry.seq)

    def messages(self) -> tuple[Message, ...]:
        """Return the newest turns that fit the budget, the last one always."""
        return tuple(message for turn in self._turns for message in turn.messages())

    @property
    def has_news(self) -> bool:
        """Whether proposals have ended of which no turn has told the model yet."""
        return bool(self._news)

    @property
    def written(self) -> frozenset[tuple[str, str]]:
        """Every (proposal id, state) that the log has a ``proposal-settled`` of."""
        return frozenset(self._written)

    @property
    def open_turn(self) -> str | None:
        """The id of a turn that has begun and not ended."""
        return self._open.turn_id if self._open else None

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls of the open turn that have no result."""
        rounds = self._open.rounds if self._open else []
        return tuple(call for each in rounds for call in each.calls if call.id not in each.results)

    @property
    def usage(self) -> Mapping[str, int]:
        """The tokens of the open turn so far, as a ``turn-end`` says them."""
        turn = self._open or _Turn("")
        return {"input_tokens": turn.input_tokens, "output_tokens": turn.output_tokens}

    def last_end(self, key: SessionKey) -> TurnEnd | None:
        """Return how the newest turn ended; None while it is open."""
        turn = self._turns[-1] if self._turns else None
        if turn is None or turn is self._open:
            return None
        return TurnEnd(
            key=key,
            turn_id=turn.turn_id,
            actor_id=turn.actor_id,
            reason=turn.reason,
            model=turn.model,
            input_tokens=turn.input_tokens,
            output_tokens=turn.output_tokens,
            cached_tokens=turn.cached_tokens,
        )

    def _note(self, kind: str, payload: Mapping[str, Any], private: Mapping[str, Any], size: int) -> None:
        if kind == events.TURN_START:
            self._begin(str(payload["turn_id"]), str((_object(private.get("actor")) or {}).get("id", "")))
        if kind == events.PROPOSAL_SETTLED:
            self._settle(payload, private, size)
            return
        turn = self._open
        if turn is None:
            return
        turn.size += size
        self._size += size
        match kind, payload:
            case events.MESSAGE, {"role": "user", "text": str(text)}:
                turn.asked.append(text)
            case events.MESSAGE, {"text": str(text)}:
                turn.rounds.append(_Round(text, _object(private.get("state"))))
            case events.TOOL_CALL, _:
                turn.take_call(_call(payload, private))
            case ((events.TOOL_RESULT | events.UI), {"call_id": str(call_id)}) if call_id in turn.asked_in:
                # a result without its call would tell the model nothing
                turn.asked_in[call_id].results[call_id] = _result(payload, private)
            case events.PROPOSAL, {"call_id": str(call_id), "proposal_id": str(proposal_id)} if (
                call_id in turn.asked_in
            ):
                waiting = ToolResult(call_id, str(payload["name"]), approval_rule.waiting(proposal_id))
                turn.asked_in[call_id].results[call_id] = waiting
            case events.USAGE, {"input_tokens": int(), "output_tokens": int()}:
                turn.take_usage(payload)
            case events.TURN_END, _:
                self._end(turn, str(payload.get("reason", "")))
        self._drop_oldest()

    def _begin(self, turn_id: str, actor_id: str) -> None:
        self._open = _Turn(turn_id, self._news, actor_id=actor_id, size=self._news_size)
        self._size += self._news_size
        self._news, self._news_size = [], 0
        self._turns.append(self._open)

    def _settle(self, payload: Mapping[str, Any], private: Mapping[str, Any], size: int) -> None:
        """Keep the end for the turn that is just beginning, or else for the next one."""
        one = _settled(payload, private)
        self._written.add((one["proposal_id"], one["state"]))
        turn = self._open
        if turn is None or turn.asked or turn.rounds:
            self._news.append(one)
            self._news_size += size
        else:
            turn.settled.append(one)
            turn.size += size
            self._size += size

    def _end(self, turn: _Turn, reason: str) -> None:
        turn.finished, turn.reason = turn.messages(), reason
        turn.rounds, turn.asked_in = [], {}
        self._open = None

    def _drop_oldest(self) -> None:
        while self._size > self.context_tokens * _BYTES_A_TOKEN and len(self._turns) > 1:
            self._size -= self._turns.popleft().size


def _size(entry: Entry, payload: Mapping[str, Any]) -> int:
    """Return how many bytes of the budget an entry takes; of a component the model gets the data alone."""
    if entry.kind == events.UI:
        return len(strict_json.encode(payload.get("data")))
    return len(entry.line) + len(entry.private or b"")


def _object(value: Any) -> dict[str, Any] | None:
    """Return what must be an object or nothing; InvalidJSON for a forged one, which no provider could send."""
    if value is None or isinstance(value, dict):
        return value
    raise InvalidJSON("not an event: an object is something else")


def _call(payload: Mapping[str, Any], private: Mapping[str, Any]) -> ToolCall:
    return ToolCall(
        id=str(payload["call_id"]),
        name=str(payload["name"]),
        input=_object(private.get("input", payload.get("input"))) or {},
        invalid=bool(payload.get("invalid")),
        raw=str(private.get("raw", payload.get("raw", ""))),
    )


def _settled(payload: Mapping[str, Any], private: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the model is told of an end: neither who decided nor an error's id."""
    told = {"proposal_id": str(payload["proposal_id"]), "state": str(payload["state"])}
    more = {"note": payload.get("note"), "result": private.get("output")}
    more |= {name: private.get(name) for name in ("tool", "summary", "reason")}
    return told | {name: value for name, value in more.items() if value is not None}


def _result(payload: Mapping[str, Any], private: Mapping[str, Any]) -> ToolResult:
    call_id, name = str(payload["call_id"]), str(payload["name"])
    if "error" in payload:
        return ToolResult(call_id, name, payload["error"], error=True)
    output = private.get("output", payload.get("output", payload.get("data")))
    return ToolResult(call_id, name, output)


def _no_result(call: ToolCall) -> ToolResult:
    return ToolResult(call.id, call.name, {"code": "failed", "message": _INTERRUPTED}, error=True)
