"""The answer of an OpenAI-compatible server: payloads in, provider events out.

Source of the format: the OpenAI API reference (chat completion chunks), and what servers make of it. Calls are given
at the end, because arguments may follow the finish reason; a finish reason ends nothing, since usage follows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flask_litro_agent.contracts import (
    AssistantState,
    Done,
    ProviderError,
    ProviderEvent,
    ReasoningDelta,
)
from flask_litro_agent.providers.characters import Characters, cleaned
from flask_litro_agent.providers.frames import DONE
from flask_litro_agent.providers.identifiers import Names
from flask_litro_agent.providers.openai_calls import Calls
from flask_litro_agent.providers.reasons import finish_reason
from flask_litro_agent.providers.thinking_tag import ThinkingTag
from flask_litro_agent.providers.tokens import Tokens

__all__ = ["OpenAIAnswer"]

_REASONING = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
_REASONED = frozenset({*_REASONING, "reasoning_details"})
_ABORTED = frozenset(
    {"abort", "aborted", "cancelled", "canceled", "error", "network_error", "insufficient_system_resource"}
)
#: Seconds of silence that end an answer after its finish reason: with the usage nothing more can be expected.
_AFTER_USAGE = 1.0
_AFTER_FINISH = 5.0


class OpenAIAnswer:
    """The state of one answer; ``marks`` is put into the state that is kept."""

    def __init__(self, names: Names, marks: Mapping[str, Any]) -> None:
        self.is_complete = False
        self._marks = marks
        self._calls = Calls(names)
        self._tag = ThinkingTag()
        self._text = Characters()
        self._reasoning = Characters()
        self._tokens = Tokens()
        self._fields: dict[str, Any] = {}
        self._finish = ""
        self._has_choices = False
        self._has_text = False
        self._has_reasoning = False
        self._is_refused = False

    @property
    def has_ended(self) -> bool:
        return bool(self._finish) or (self.is_complete and self._has_choices)

    @property
    def patience(self) -> float | None:
        if not self._finish or not self._calls.are_complete or not (self._has_text or self._calls):
            return None
        return _AFTER_USAGE if self._tokens.are_known else _AFTER_FINISH

    def take(self, payload: Mapping[str, Any], name: str) -> Iterator[ProviderEvent]:
        """Yield the events of one chunk, or of a whole completion."""
        if payload is DONE:
            self.is_complete = True
            return
        self._tokens.take(payload.get("usage"), model=payload.get("model"))
        if isinstance(groq := payload.get("x_groq"), dict):
            self._tokens.take(groq.get("usage"))
        for number, choice in enumerate(_list(payload.get("choices"))):
            if isinstance(choice, dict):
                yield from self._choice(choice, number)

    def flush(self) -> Iterator[ProviderEvent]:
        """Yield what was held back, and the usage."""
        yield from self._held()
        if self._tokens.are_known:
            yield self._tokens.usage()

    def finish(self) -> Iterator[ProviderEvent]:
        """Yield the held-back text, the calls, the state, the usage and Done."""
        if self._finish in _ABORTED:
            yield from self.flush()
            yield ProviderError("server", "the model's server aborted the answer", retryable=True)
            return
        reason = self._reason()
        yield from self._held()
        yield from self._calls.events(is_cut=reason == "length")
        if state := self._state():
            yield AssistantState({**self._marks, **state})
        if self._tokens.are_known:
            yield self._tokens.usage()
        yield Done(reason)

    def _held(self) -> Iterator[ProviderEvent]:
        yield ReasoningDelta(self._reasoning.end())
        yield from self._tag.take(self._text.end())
        yield from self._tag.end()

    def _choice(self, choice: Mapping[str, Any], number: int) -> Iterator[ProviderEvent]:
        self._has_choices = True
        self._tokens.take(choice.get("usage"))
        delta = choice.get("delta")
        is_whole = not delta and not (self._has_text or self._calls or self._has_reasoning)
        if is_whole and isinstance(message := choice.get("message"), dict):
            self._finish = self._finish or "stop"
            delta = message
        elif not delta and isinstance(choice.get("text"), str):
            delta = {"content": choice["text"]}
        if isinstance(delta, dict):
            yield from self._delta(delta, choice.get("index", number))
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            self._finish = finish.lower()

    def _delta(self, delta: Mapping[str, Any], choice: object) -> Iterator[ProviderEvent]:
        if not _REASONED.isdisjoint(delta):
            yield from self._reasoned(delta)
        yield from self._said(delta.get("content"))
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            self._is_refused = True
            yield from self._written(refusal)
        entries = delta.get("tool_calls")
        for number, entry in enumerate(_list([entries] if isinstance(entries, dict) else entries)):
            if isinstance(entry, dict):
                self._calls.take(entry, choice=choice, is_first=number == 0)
        if isinstance(legacy := delta.get("function_call"), dict):
            self._calls.take({"index": "function_call", "function": legacy}, choice=choice)
        if isinstance(extra := delta.get("extra_content"), dict):
            self._fields["extra_content"] = {**self._fields.get("extra_content", {}), **extra}

    def _reasoned(self, delta: Mapping[str, Any]) -> Iterator[ProviderEvent]:
        """Show the reasoning once, and keep it under every name it came with."""
        given = {name: delta[name] for name in _REASONING if isinstance(delta.get(name), str) and delta[name]}
        for name, text in given.items():
            self._fields[name] = self._fields.get(name, "") + text
        details = [item for item in _list(delta.get("reasoning_details")) if isinstance(item, dict)]
        if details:
            _append_details(self._fields.setdefault("reasoning_details", []), details)
        text = next(iter(given.values()), "") or "".join(
            str(item.get("text") or item.get("summary") or "") for item in details
        )
        if text:
            self._has_reasoning = True
            yield ReasoningDelta(self._reasoning.take(text))

    def _said(self, content: Any) -> Iterator[ProviderEvent]:
        """Yield content, which is a text or a list of parts."""
        if isinstance(content, str):
            yield from self._written(content)
            return
        for part in [content] if isinstance(content, dict) else _list(content):
            if isinstance(part, str):
                yield from self._written(part)
            elif isinstance(part, dict) and part.get("type") == "thinking":
                self._has_reasoning = True
                yield ReasoningDelta(self._reasoning.take(_text_of(part.get("thinking"))))
            elif isinstance(part, dict) and part.get("type") in ("text", "output_text", None):
                yield from self._written(_text_of(part.get("text")))

    def _written(self, text: str) -> Iterator[ProviderEvent]:
        self._has_text = self._has_text or bool(text)
        for delta in self._tag.take(self._text.take(text)):
            self._has_reasoning = self._has_reasoning or isinstance(delta, ReasoningDelta)
            yield delta

    def _reason(self) -> str:
        reason = finish_reason(self._finish)
        if reason == "length":
            return reason
        if self._calls:
            return "tool_calls"
        if reason == "tool_calls":
            return "stop" if self._has_text else "other"
        return "content_filter" if self._is_refused else reason

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = {}
        if self._fields:
            state["fields"] = cleaned(self._fields)
        if extras := self._calls.extras:
            state["calls"] = cleaned(extras)
        return state


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text_of(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "".join(str(item.get("text") or "") if isinstance(item, dict) else "" for item in _list(value))


def _append_details(kept: list[dict[str, Any]], details: list[dict[str, Any]]) -> None:
    """Add ``reasoning_details``, which come in pieces that belong together by type and index."""
    for item in details:
        last = kept[-1] if kept else {}
        if not (last and last.get("type") == item.get("type") and last.get("index") == item.get("index")):
            kept.append(dict(item))
            continue
        for name, value in item.items():
            grows = name in ("text", "summary", "data") and isinstance(value, str)
            if value is not None:
                last[name] = str(last.get(name) or "") + value if grows else value
