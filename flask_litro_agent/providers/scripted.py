"""A provider without a model: a function says what the model would say.

For tests, demos and evals. The function gets the request and the number of the turn, and keeps no state of its
own: whatever it wants to know (which tool answered what) stands in ``request.messages``::

    def shop(request, turn):
        if request.messages[-1].role == "user":
            yield call("find_products", query="tent")
        else:
            yield from say("Two tents are in stock.", seconds=0.05)

    agent = Agent(model=scripted(shop))
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flask_litro_agent.contracts import (
    AssistantState,
    ChatRequest,
    Done,
    Message,
    Note,
    ProviderError,
    ProviderEvent,
    ReasoningDelta,
    Stop,
    Text,
    TextDelta,
    ToolCall,
    ToolCallEvent,
    ToolResult,
    Usage,
)

__all__ = ["Delay", "Script", "Scripted", "call", "delay", "say", "scripted"]

logger = logging.getLogger(__name__)

_BYTES_PER_TOKEN = 4
_EVENTS = (TextDelta, ReasoningDelta, ToolCallEvent, AssistantState, Usage, Done, ProviderError)


@dataclass(frozen=True, slots=True)
class Delay:
    """A pause of the model, in seconds; a stop ends it at once."""

    seconds: float


Script = Callable[[ChatRequest, int], Iterable["ProviderEvent | Delay | str"]]


def delay(seconds: float) -> Delay:
    """Return a pause."""
    return Delay(seconds)


def say(text: str, *, seconds: float = 0.0) -> Iterator[TextDelta | Delay]:
    """Yield a text word by word, with a pause of that many seconds between two words."""
    words = text.split(" ")
    for number, word in enumerate(words):
        if number and seconds:
            yield Delay(seconds)
        yield TextDelta(word if number == len(words) - 1 else word + " ")


def call(name: str, /, **arguments: Any) -> ToolCallEvent:
    """Return a call of a tool; its id is given when it is sent."""
    return ToolCallEvent(id="", name=name, input=arguments)


def scripted(function: Script, *, model: str = "scripted") -> Scripted:
    """Return a provider that answers with what ``function(request, turn)`` yields.

    ``turn`` is the number of the person's messages in the request, so 1 for the first. A text is a delta; a call
    without an id gets one; ``Usage`` (estimated) and ``Done`` are added when the function ends without them.
    """
    return Scripted(function, model)


@dataclass(frozen=True, slots=True)
class Scripted:
    """The provider that ``scripted`` returns."""

    function: Script
    model: str

    def stream(self, request: ChatRequest, stop: Stop) -> Iterator[ProviderEvent]:
        """Yield what the function yields; an exception in it is a ProviderError that names its type only."""
        try:
            yield from _complete(self._said(request, stop), request, stop)
        except Exception as error:  # the script is foreign code
            logger.exception("litro: the script of the model %.80r raised", self.model)
            yield ProviderError("configuration", f"the script raised {type(error).__name__}")

    def _said(self, request: ChatRequest, stop: Stop) -> Iterator[ProviderEvent]:
        turn = sum(message.role == "user" and not _is_note(message) for message in request.messages)
        lines = self.function(request, turn)
        for line in (lines,) if isinstance(lines, str) else lines:
            if isinstance(line, Delay):
                stop.wait(line.seconds)
            if stop.is_set:
                return
            if not isinstance(line, Delay):
                yield _event(line)


def _is_note(message: Message) -> bool:
    return all(isinstance(part, Note) for part in message.parts)


def _event(line: ProviderEvent | str) -> ProviderEvent:
    if isinstance(line, str):
        return TextDelta(line)
    if not isinstance(line, _EVENTS):
        raise TypeError(f"a script yields provider events, Delay and str, not {type(line).__name__}")
    return line


def _complete(events: Iterator[ProviderEvent], request: ChatRequest, stop: Stop) -> Iterator[ProviderEvent]:
    """Pass the events on, with ids for the calls and with Usage and Done at the end when they are missing."""
    before = sum(isinstance(part, ToolCall) for message in request.messages for part in message.parts)
    calls, written, has_usage = 0, 0, False
    ending: Done | None = None
    for event in events:
        match event:
            case Done():
                ending = event
                break
            case ProviderError():
                yield event
                return
            case ToolCallEvent():
                calls += 1
                written += len(event.name) + len(json.dumps(event.input, default=str))
                yield event if event.id else dataclasses.replace(event, id=f"call_{before + calls}")
                continue
            case TextDelta(text) | ReasoningDelta(text):
                written += len(text.encode("utf-8", "replace"))
            case Usage():
                has_usage = True
        yield event
    if stop.is_set:
        return
    if not has_usage:
        yield Usage(input_tokens=_tokens(_size(request)), output_tokens=_tokens(written))
    yield ending or Done("tool_calls" if calls else "stop")


def _tokens(size: int) -> int:
    return -(-size // _BYTES_PER_TOKEN)


def _size(request: ChatRequest) -> int:
    """Return about how many bytes of text the request has."""
    size = len(request.system.encode("utf-8", "replace"))
    for message in request.messages:
        size += sum(len(_text(part).encode("utf-8", "replace")) for part in message.parts)
    return size


def _text(part: object) -> str:
    match part:
        case Text(text):
            return text
        case ToolCall(name=name, input=arguments):
            return name + _json(arguments)
        case ToolResult(output=output):
            return _json(output)
        case _:
            return ""


def _json(value: Mapping[str, Any] | Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
