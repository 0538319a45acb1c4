"""What crosses each wall: the four protocols that a plugin may implement, and the values they exchange.

Nobody inherits to fit. A class that has the methods is a provider, a session store, a renderer or a policy;
the contract classes in ``flask_litro_agent.testing`` say whether it behaves like one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

__all__ = [
    "Actor",
    "AssistantState",
    "ChatRequest",
    "Done",
    "Entry",
    "Holder",
    "Image",
    "Lease",
    "Message",
    "Options",
    "Part",
    "Policy",
    "Provider",
    "ProviderError",
    "ProviderEvent",
    "Reasoning",
    "ReasoningDelta",
    "Rendered",
    "Renderer",
    "SessionInfo",
    "SessionKey",
    "SessionStore",
    "Stop",
    "Text",
    "TextDelta",
    "ToolCall",
    "ToolCallEvent",
    "ToolFacts",
    "ToolResult",
    "ToolSpec",
    "Usage",
    "Verdict",
]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks: an id that owns sessions, a name to show, and the permissions held at this moment.

    A permission may be a pattern that ends in ``*``: ``orders:*`` holds ``orders:read``.
    """

    id: str
    name: str
    permissions: frozenset[str] = frozenset()
    data: Mapping[str, Any] = field(default_factory=dict)

    def may(self, permission: str) -> bool:
        """Whether the actor's own set holds this permission."""
        if permission in self.permissions:
            return True
        return any(held.endswith("*") and permission.startswith(held[:-1]) for held in self.permissions)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A policy's answer about one call. Deny beats allow; without any allow it is a deny."""

    effect: Literal["allow", "deny", "abstain"]
    reason: str = ""

    @classmethod
    def allow(cls) -> Verdict:
        return cls("allow")

    @classmethod
    def deny(cls, reason: str = "") -> Verdict:
        return cls("deny", reason)

    @classmethod
    def abstain(cls) -> Verdict:
        return cls("abstain")


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """A tool as a policy sees it: what it declares, never its function. ``permission`` None is PUBLIC."""

    name: str
    description: str
    permission: str | None
    mode: Literal["read", "propose", "execute"]


@runtime_checkable
class Policy(Protocol):
    """Decides whether an actor may call a tool. The gate asks every active policy, each time."""

    def decide(self, actor: Actor, tool: ToolFacts, arguments: Mapping[str, Any] | None) -> Verdict:
        """Return a Verdict; anything else, and anything raised, is a deny.

        Asked twice for a call: first with ``arguments=None`` (may this actor use this tool at all?), then with
        the arguments as the schema loaded them. Both answers must allow.
        """
        ...


class Stop:
    """A request to stop that can be heard anywhere: set once, never cleared, safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._next = 0

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        """Ask to stop; every callback runs once, in this thread, and what one of them raises is dropped."""
        with self._lock:
            self._event.set()
            callbacks, self._callbacks = list(self._callbacks.values()), {}
        for callback in callbacks:
            _quietly(callback)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until asked to stop, or for that many seconds; return whether it was asked."""
        return self._event.wait(seconds)

    def on(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Run the callback at the stop (at once if it has come); return a function that takes it back."""
        with self._lock:
            if not self._event.is_set():
                number, self._next = self._next, self._next + 1
                self._callbacks[number] = callback
                return lambda: self._forget(number)
        _quietly(callback)
        return lambda: None

    def _forget(self, number: int) -> None:
        with self._lock:
            self._callbacks.pop(number, None)


def _quietly(callback: Callable[[], None]) -> None:
    try:
        callback()
    except Exception:  # a connection that is already gone cannot be shut down twice
        return


@dataclass(frozen=True, slots=True)
class Text:
    text: str


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
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
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


class SessionKey(NamedTuple):
    """A log's key. ``owner`` is the actor's id; ``session`` is the client's word, so never a file name."""

    agent: str
    owner: str
    session: str


class Entry(NamedTuple):
    """One event in the log: its line with the newline, and beside it JSON bytes that no browser ever gets."""

    seq: int
    kind: str
    line: bytes
    private: bytes | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to append to one session; ``epoch`` grows with every acquisition of that session."""

    key: SessionKey
    token: str
    epoch: int
    turn_id: str | None = None


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a session's lease now: the turn, or None for a writer without one (a deletion, say)."""

    turn_id: str | None
    epoch: int


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session in a list; the times are milliseconds since the Unix epoch."""

    key: SessionKey
    created: int
    updated: int


@runtime_checkable
class SessionStore(Protocol):
    """The session log. Every method may raise StoreError; a deleted session raises SessionDeleted."""

    def append(self, key: SessionKey, entries: Sequence[Entry], lease: Lease) -> None:
        """Store the entries, all or none a reader can tell apart; LeaseLost when the lease is not the current one.

        ``entries[0].seq`` is ``last_seq + 1``, and the rest follow without a gap. When this returns, every
        entry is readable by every process, also after ``kill -9`` of this one.
        """
        ...

    def read(self, key: SessionKey, after: int = 0, kinds: frozenset[str] | None = None) -> Iterator[Entry]:
        """Yield the entries with ``seq > after``, in order, of those kinds; nothing for an unknown session."""
        ...

    def wait(self, key: SessionKey, after: int, seconds: float) -> bool:
        """Wait until there may be an entry after ``after``, at most that long; True is a hint to read."""
        ...

    def acquire(self, key: SessionKey, ttl: float, turn_id: str | None = None) -> Lease | None:
        """Become the session's one writer for ``ttl`` seconds, or return None: somebody else is."""
        ...

    def renew(self, lease: Lease) -> bool:
        """Hold the lease for another ttl; False when it is no longer ours."""
        ...

    def release(self, lease: Lease) -> None:
        """Give the lease back; nothing happens when it is no longer ours."""
        ...

    def holder(self, key: SessionKey) -> Holder | None:
        """Return who holds the lease now, in any process."""
        ...

    def is_leased(self, key: SessionKey) -> bool:
        """Return whether anybody, in any process, holds the lease now."""
        ...

    def stop(self, key: SessionKey, turn_id: str) -> None:
        """Leave word that this turn shall stop; its process finds it by ``stopped``."""
        ...

    def stopped(self, turn_ids: Sequence[str]) -> frozenset[str]:
        """Return which of these turns somebody asked to stop."""
        ...

    def last_seq(self, key: SessionKey) -> int:
        """Return the last entry's seq, 0 for an unknown session."""
        ...

    def list(
        self, owner: str, *, agent: str | None = None, after: str | None = None, limit: int = 50
    ) -> tuple[Sequence[SessionInfo], str | None]:
        """Return one page of an owner's sessions, newest first, and the cursor of the next page or None."""
        ...

    def delete(self, key: SessionKey, lease: Lease) -> None:
        """Remove the session's content for good and leave a tombstone; the id stays closed."""
        ...


@dataclass(frozen=True, slots=True)
class Rendered:
    """A component as html, and what the page needs to bring it to life."""

    html: str
    hydrate: Mapping[str, Any] | None = None


@runtime_checkable
class Renderer(Protocol):
    """Turns a component's name and props into html."""

    def render(self, component: str, props: Mapping[str, Any]) -> Rendered:
        """Return the html; raise for an unknown component."""
        ...
