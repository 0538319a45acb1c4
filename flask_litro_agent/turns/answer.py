"""One answer of a model, as it comes in: what is shown at once, and what is kept for the log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from flask_litro_agent import events, strict_json
from flask_litro_agent.contracts import (
    AssistantState,
    Done,
    ProviderError,
    ProviderEvent,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallEvent,
    Usage,
)
from flask_litro_agent.turns.writer import Draft

__all__ = ["Answer"]

_MOST = 2 * 1024 * 1024
_TOO_LARGE = f"the model's answer is larger than {_MOST} characters"
_CALL_SIZE = 128  # what a call takes beside its input
_RAW_LIMIT = 4096
_MESSAGE_LIMIT = 4096
#: A round's at most: a database adds up a day of them.
_MOST_TOKENS = 10**12
_NAME_LIMIT = 200  # longer than any tool's name, so a cut one names nothing


@dataclass(slots=True)
class Answer:
    """Collects one answer, so much and no more; ``started`` once anything of it was shown or kept."""

    texts: list[str] = field(default_factory=list)
    calls: list[ToolCallEvent] = field(default_factory=list)
    state: Mapping[str, Any] | None = None
    usage: Usage | None = None
    end: Done | ProviderError | None = None
    started: bool = False
    _size: int = field(default=0, init=False)

    def take(self, event: ProviderEvent) -> Draft | None:
        """Keep the event; return what of it is shown now. An answer that grows too large ends here, as an error."""
        self._size += 1 + _size(event)
        if self._size > _MOST:
            self.end = ProviderError("protocol", _TOO_LARGE)
            return None
        match event:
            case TextDelta(text) if text:
                self.started = True
                shown = _sayable(text)
                self.texts.append(shown)
                return Draft(events.TEXT_DELTA, {"text": shown})
            case ReasoningDelta(text) if text:
                self.started = True
                return Draft(events.REASONING_DELTA, {"text": _sayable(text)})
            case ToolCallEvent():
                self.started = True
                self.calls.append(_checked(event))
            case AssistantState(data):
                self.state = data
            case Usage():
                self.usage = event
            case ProviderError():
                self.end = replace(event, message=event.message[:_MESSAGE_LIMIT])
            case Done():
                self.end = event
        return None

    def drafts(self, calls: list[ToolCall], *, hidden: frozenset[str]) -> Iterator[Draft]:
        """Yield the message and the calls under our ids; what a hidden tool is asked is private."""
        text = "".join(self.texts)
        if text or self.state is not None:
            private = None if self.state is None else {"state": self.state}
            yield Draft(events.MESSAGE, {"role": "assistant", "text": text}, private)
        for call in calls:
            yield _call_draft(call, hidden=call.name in hidden)

    def usage_draft(self, number: int, model: str) -> Draft | None:
        """Return the round's usage; None when the upstream did not say."""
        if self.usage is None:
            return None
        payload = {
            "round": number,
            "input_tokens": _count(self.usage.input_tokens),
            "output_tokens": _count(self.usage.output_tokens),
            "model": (self.usage.model or model)[:_NAME_LIMIT],
        }
        if self.usage.cached_tokens is not None:
            payload["cached_tokens"] = _count(self.usage.cached_tokens)
        return Draft(events.USAGE, payload)


def _count(told: int | None) -> int:
    """Return a number of tokens that can be added up for years, whatever a provider says."""
    return min(max(int(told or 0), 0), _MOST_TOKENS)


def _size(event: ProviderEvent) -> int:
    """Return about how many characters the log needs for what an event brings."""
    match event:
        case TextDelta(str(text)) | ReasoningDelta(str(text)):
            return len(text)
        case ToolCallEvent(input=content):
            return _CALL_SIZE + _length(content)
        case AssistantState(data):
            return _length(data)
    return 0


def _length(content: object) -> int:
    try:
        return len(json.dumps(content, ensure_ascii=False))
    except (ValueError, TypeError, RecursionError):  # no JSON: it is not kept as it is
        return 0


def _sayable(text: str) -> str:
    """Return the text as JSON and UTF-8 can say it; a plugin's provider may send what they cannot."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def _checked(event: ToolCallEvent) -> ToolCallEvent:
    """Return the call as the log will say it; an invalid one when its input is not strict JSON.

    A plugin's provider may err.
    """
    name = _sayable(event.name[:_NAME_LIMIT])
    try:
        said = strict_json.decode(strict_json.encode(dict(event.input)))
    except (ValueError, TypeError, RecursionError):
        return ToolCallEvent(event.id, name, invalid=True, raw=_sayable(_text_of(event.input)[:_RAW_LIMIT]))
    return ToolCallEvent(event.id, name, said, event.invalid, _sayable(event.raw[:_RAW_LIMIT]))


def _text_of(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # too deep, or a stranger's
        return f"a {type(value).__name__} that cannot be shown"


def _call_draft(call: ToolCall, *, hidden: bool) -> Draft:
    named: dict[str, Any] = {"call_id": call.id, "name": call.name}
    asked: dict[str, Any] = {"input": dict(call.input)}
    told: dict[str, Any] = {"input": {}}
    if call.invalid:
        asked, told, named["invalid"] = {"raw": call.raw}, {"raw": ""}, True
    return Draft(events.TOOL_CALL, named | told, asked) if hidden else Draft(events.TOOL_CALL, named | asked)
