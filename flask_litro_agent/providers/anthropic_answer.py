"""The answer of Anthropic's Messages API: payloads in, provider events out.

Source of the format: the Anthropic API reference (streaming messages), and what gateways make of it. An answer is a
list of blocks, each opened, filled by deltas and closed; a block without an index is the one opened last.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from flask_litro_agent.contracts import (
    AssistantState,
    Done,
    ProviderEvent,
    ReasoningDelta,
    TextDelta,
    ToolCallEvent,
)
from flask_litro_agent.providers.arguments import Arguments
from flask_litro_agent.providers.characters import Characters, cleaned
from flask_litro_agent.providers.frames import DONE
from flask_litro_agent.providers.identifiers import Names
from flask_litro_agent.providers.reasons import finish_reason
from flask_litro_agent.providers.tokens import Tokens

__all__ = ["AnthropicAnswer"]

_KNOWN_DELTAS = frozenset({"text", "thinking", "signature", "partial_json", "citation"})
#: Seconds of silence, pings apart, that end an answer after its stop reason.
_AFTER_STOP_REASON = 1.0


@dataclass(slots=True)
class _Block:
    kind: str
    start: Mapping[str, Any]
    text: list[str] = field(default_factory=list)
    signature: str = ""
    arguments: Arguments = field(default_factory=Arguments)
    citations: list[Any] = field(default_factory=list)
    is_strange: bool = False


class AnthropicAnswer:
    """The state of one answer; ``marks`` is put into the state that is kept."""

    def __init__(self, names: Names, marks: Mapping[str, Any]) -> None:
        self.is_complete = False
        self._names = names
        self._marks = marks
        self._blocks: list[_Block] = []
        self._by_index: dict[object, _Block] = {}
        self._text = Characters()
        self._reasoning = Characters()
        self._tokens = Tokens()
        self._stop_reason = ""
        self._has_begun = False

    @property
    def has_ended(self) -> bool:
        return bool(self._stop_reason) or (self.is_complete and self._has_begun)

    @property
    def patience(self) -> float | None:
        return _AFTER_STOP_REASON if self._stop_reason else None

    def take(self, payload: Mapping[str, Any], name: str) -> Iterator[ProviderEvent]:
        """Yield the events of one stream event, or of a whole message."""
        kind = "message_stop" if payload is DONE else payload.get("type") or name
        match kind:
            case "message_start":
                yield from self._message(_mapping(payload.get("message")))
            case "message":
                yield from self._message(payload)
            case "content_block_start":
                yield from self._opened(_mapping(payload.get("content_block")), payload.get("index"))
            case "content_block_delta":
                yield from self._delta(_mapping(payload.get("delta")), payload.get("index"))
            case "message_delta":
                self._has_begun = True
                self._stopped(_mapping(payload.get("delta")))
                self._tokens.take(payload.get("usage"))
            case "message_stop":
                self.is_complete = True

    def flush(self) -> Iterator[ProviderEvent]:
        """Yield what was held back, and the usage."""
        yield ReasoningDelta(self._reasoning.end())
        yield TextDelta(self._text.end())
        if self._tokens.are_known:
            yield self._tokens.usage()

    def finish(self) -> Iterator[ProviderEvent]:
        """Yield the held-back text, the usage, the calls, the state and Done."""
        yield from self.flush()
        reason = finish_reason(self._stop_reason)
        calls = list(self._calls(is_cut=reason == "length"))
        yield from calls
        if blocks := self._kept():
            yield AssistantState({**self._marks, "blocks": cleaned(blocks)})
        if reason != "length" and calls:
            reason = "tool_calls"
        elif reason == "tool_calls" and not calls:
            reason = "other"
        yield Done(reason)

    def _message(self, message: Mapping[str, Any]) -> Iterator[ProviderEvent]:
        self._tokens.take(message.get("usage"), model=message.get("model"))
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            yield from self._opened(_mapping(block), None)
        self._stopped(message)

    def _stopped(self, delta: Mapping[str, Any]) -> None:
        if isinstance(reason := delta.get("stop_reason"), str) and reason:
            self._stop_reason = reason

    def _opened(self, start: Mapping[str, Any], index: object) -> Iterator[ProviderEvent]:
        self._has_begun = True
        block = _Block(str(start.get("type")), start)
        self._blocks.append(block)
        if index is not None:
            self._by_index[str(index)] = block
        if block.kind == "tool_use" and (given := start.get("input")):
            block.arguments.add(given)
        yield from self._filled(block, start)

    def _delta(self, delta: Mapping[str, Any], index: object) -> Iterator[ProviderEvent]:
        block = self._block(delta, index)
        if block is None:
            return
        block.arguments.add(delta.get("partial_json"))
        if "citation" in delta:
            block.citations.append(delta["citation"])
        block.is_strange = block.is_strange or not _KNOWN_DELTAS & delta.keys()
        yield from self._filled(block, delta)

    def _block(self, delta: Mapping[str, Any], index: object) -> _Block | None:
        """Return the block at the index; without one, the one that a gateway forgot to open, or the last."""
        if str(index) in self._by_index:
            return self._by_index[str(index)]
        last = self._blocks[-1] if self._blocks else None
        kind = next((kind for kind in ("text", "thinking") if kind in delta), None)
        if kind is None or (last is not None and index is None):
            return last
        self._has_begun = True
        block = _Block(kind, {"type": kind})
        self._blocks.append(block)
        if index is not None:
            self._by_index[str(index)] = block
        return block

    def _filled(self, block: _Block, piece: Mapping[str, Any]) -> Iterator[ProviderEvent]:
        """Take the text, the thinking and the signature of a start or a delta."""
        if block.kind == "thinking":
            if isinstance(signature := piece.get("signature"), str):
                block.signature += signature
            if isinstance(thought := piece.get("thinking"), str) and thought:
                block.text.append(thought)
                yield ReasoningDelta(self._reasoning.take(thought))
        elif block.kind in ("text", "tool_use") and isinstance(text := piece.get("text"), str) and text:
            block.text.append(text)
            yield TextDelta(self._text.take(text))

    def _calls(self, *, is_cut: bool) -> Iterator[ToolCallEvent]:
        used: set[str] = set()
        blocks = [block for block in self._blocks if block.kind == "tool_use"]
        for block in blocks:
            id, name = block.start.get("id"), block.start.get("name")
            if not isinstance(id, str) or not id or id in used:
                id = f"toolu_{uuid.uuid4().hex[:16]}"
            used.add(id)
            original = self._names.original(name) if isinstance(name, str) else ""
            yield block.arguments.call(id, original, is_cut=is_cut and block is self._blocks[-1])

    def _kept(self) -> list[dict[str, Any]]:
        """Return the blocks to send back, when there is more than text and calls."""
        kept = [block for block in map(_sent_back, self._blocks) if block]
        return kept if any(block["type"] not in ("text", "tool_use") for block in kept) else []


def _sent_back(block: _Block) -> dict[str, Any] | None:
    text = "".join(block.text)
    match block.kind:
        case "text":
            cited = {"citations": block.citations} if block.citations else {}
            return {"type": "text", "text": text, **cited} if text else None
        case "tool_use":
            return {"type": "tool_use"}
        case "thinking":
            signed = {"type": "thinking", "thinking": text, "signature": block.signature}
            return signed if block.signature else None
        case "redacted_thinking":
            return dict(block.start) if block.start.get("data") else None
    if block.is_strange:
        return None
    given = block.arguments.read() if not block.arguments.is_empty else None
    return {**block.start, **({"input": given} if given is not None else {})}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
