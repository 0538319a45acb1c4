"""A question to a model and its answer: the protocol ``Provider`` and its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from flask_litro_agent.contracts.stop import Stop

__all__ = [
    "AssistantState",
    "ChatRequest",
    "Done",
    "Image",
    "Message",
    "Note",
    "Options",
    "Part",
    "Provider",
    "ProviderError",
    "ProviderEvent",
    "Reasoning",
    "ReasoningDelta",
    "Text",
    "TextDelta",
    "ToolCall",
    "ToolCallEvent",
    "ToolResult",
    "ToolSpec",
    "Usage",
]


@dataclass(frozen=True, slots=True)
class Text:
    """Words in a message."""

    text: str


@dataclass(frozen=True, slots=True)
class Note(Text):
    """Words of the site in a user message, not of the person: how a proposal ended. Any provider sends them as text."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image; ``data`` is base64 without a prefix."""

    media_type: str
    data: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Reasoning that comes from elsewhere; a provider keeps its own in the message's ``state``."""

    text: str
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the assistant made; ``invalid`` when its arguments could not be trusted (then see ``raw``)."""

    id: str
    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    invalid: bool = False
    raw: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to a call: any JSON value, or text and image parts; ``error`` marks a failure."""

    call_id: str
    name: str
    output: Any
    error: bool = False


Part = Text | Image | Reasoning | ToolCall | ToolResult


@dataclass(frozen=True, slots=True)
class Message:
    """One message: ``user`` has Text and Image, ``assistant`` Text, Reasoning and ToolCall, ``tool`` ToolResult.

    ``state`` is what the provider asked to get back with this assistant message (its last AssistantState).
    """

    role: Literal["user", "assistant", "tool"]
    parts: tuple[Part, ...]
    state: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it; ``parameters`` is a JSON Schema 2020-12 document."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to ask. ``idle_seconds`` bounds each silence of the upstream, ``total_seconds`` the whole answer."""

    max_tokens: int | None = None
    temperature: float | None = None
    idle_seconds: float = 60.0
    total_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question to a model. A valid request: every call has its result, in the next message."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    options: Options = field(default_factory=Options)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Words of the answer, as they arrive."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """Words of the model's reasoning, as they arrive."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallEvent:
    """A complete call. ``input`` is a JSON object; with ``invalid`` it is empty and ``raw`` has the text."""

    id: str
    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    invalid: bool = False
    raw: str = ""


@dataclass(frozen=True, slots=True)
class AssistantState:
    """JSON that the provider needs back with this assistant message; stored privately, never shown."""

    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of this request; None where the upstream does not say. ``model`` is the one that answered."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """The answer is complete: ``stop tool_calls length content_filter pause other``."""

    reason: str = "stop"


@dataclass(frozen=True, slots=True)
class ProviderError:
    """The answer failed. ``message`` may be shown: no key, no header, no body verbatim.

    ``code`` is one of ``auth not_found bad_request context_overflow content_filter rate_limit quota overloaded
    server network truncated protocol timeout bad_tool_args configuration``; ``retry_after`` is in seconds.
    """

    code: str
    message: str
    status: int | None = None
    retryable: bool = False
    retry_after: float | None = None


ProviderEvent = TextDelta | ReasoningDelta | ToolCallEvent | AssistantState | Usage | Done | ProviderError


@runtime_checkable
class Provider(Protocol):
    """A model's upstream."""

    @property
    def model(self) -> str:
        """What to call the model in reports and usage events; an attribute will do."""
        ...

    def stream(self, request: ChatRequest, stop: Stop) -> Iterator[ProviderEvent]:
        """Ask, and yield events as they arrive; the last is Done or ProviderError, and nothing is raised.

        Text that arrived in one read travels as one delta. After ``stop`` the iterator ends within a second,
        with or without a last event. Nothing is asked twice after an event was yielded.
        """
        ...
