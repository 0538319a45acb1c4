"""One question to a server and its streamed answer, whatever the dialect.

A dialect brings two things: the request's body, and an ``Answer`` that turns payloads into provider events. This
module owns everything between them and the socket, and the one rule: nothing is raised, and the last event is Done
or ProviderError, unless a stop came.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from flask_litro_agent.contracts import Options, ProviderError, ProviderEvent, Stop
from flask_litro_agent.providers import http, refusals
from flask_litro_agent.providers.deltas import merged
from flask_litro_agent.providers.frames import DONE, Broken, payloads
from flask_litro_agent.providers.sse import Event, EventStream, StreamTooLarge

__all__ = ["Answer", "Ask", "converse", "headers", "key", "limits", "url_fault"]

_ERROR_BODY = 65536
_ERROR_BODY_SECONDS = 5.0
_HEADERS = {
    "content-type": "application/json",
    "accept": "text/event-stream, application/json",
    "accept-encoding": "gzip",
    "user-agent": "flask-litro-agent",
}


class Answer(Protocol):
    """The state of one answer in some dialect."""

    #: the server said that nothing follows
    is_complete: bool

    @property
    def has_ended(self) -> bool:
        """Whether the model has ended its answer, so that a connection that breaks now breaks nothing."""
        ...

    @property
    def patience(self) -> float | None:
        """How many seconds of silence end the answer, None while it has not ended."""
        ...

    def take(self, payload: Mapping[str, Any], name: str) -> Iterator[ProviderEvent]:
        """Yield the events of one payload; ``name`` is the stream event's name."""
        ...

    def flush(self) -> Iterator[ProviderEvent]:
        """Yield what was held back, and the usage."""
        ...

    def finish(self) -> Iterator[ProviderEvent]:
        """Yield the rest of a complete answer: held-back text, calls, state, usage, Done."""
        ...


@dataclass(frozen=True, slots=True)
class Ask:
    """What to send. ``instead(status, body)`` may give another body to send once, after a refusal."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    instead: Callable[[int, bytes], bytes | None] | None = None


def headers(own: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return what every question sends, then the dialect's own headers, then those of the site."""
    return {**_HEADERS, **own, **{name.lower(): value for name, value in given.items()}}


def key(given: str | None, variable: str) -> str:
    """Return the given key, or the environment's."""
    return (os.environ.get(variable, "") if given is None else given).strip()


def url_fault(base_url: str) -> str | None:
    """Return what is wrong with a base URL, or None."""
    if base_url.startswith(("http://", "https://")):
        return None
    if not base_url.strip():
        return "no URL of the model's server: set base_url, such as http://localhost:11434/v1"
    return "the URL of the model's server must start with http:// or https://: check base_url"


def limits(options: Options) -> http.Limits:
    """Return the limits of an exchange with these options."""
    return http.Limits(idle_seconds=options.idle_seconds, total_seconds=options.total_seconds)


def converse(
    make: Callable[[], Ask], answer: Answer, *, bounds: http.Limits, stop: Stop
) -> Iterator[ProviderEvent]:
    """Make the question, ask, and yield the events of the answer as they arrive; never raise."""
    try:
        ask = make()
    except (TypeError, ValueError):
        yield ProviderError("bad_request", "the conversation cannot be written as JSON")
        return
    until = time.monotonic() + bounds.total_seconds
    try:
        refused = yield from _asked(ask, ask.body, answer, bounds, stop)
        again = ask.instead(*refused.said) if refused and ask.instead else None
        if again is not None:
            left = dataclasses.replace(bounds, total_seconds=max(0.0, until - time.monotonic()))
            refused = yield from _asked(ask, again, answer, left, stop)
    except http.Stopped:
        return
    except http.UpstreamFailed as failed:
        yield failed.error
        return
    if refused:
        yield refused.error


@dataclass(frozen=True, slots=True)
class _Refused:
    error: ProviderError
    said: tuple[int, bytes]


def _asked(
    ask: Ask, body: bytes, answer: Answer, bounds: http.Limits, stop: Stop
) -> Generator[ProviderEvent, None, _Refused | None]:
    """Ask once: yield the events of an answer, or return the refusal."""
    with http.post(ask.url, headers=ask.headers, body=body, limits=bounds, stop=stop) as exchange:
        if exchange.status < 300:
            yield from _Reading(exchange, answer, ask.secrets).events()
            return None
        said = exchange.body(limit=_ERROR_BODY, within=_ERROR_BODY_SECONDS)
    error = refusals.read_refusal(exchange.status, exchange.headers, said, secrets=ask.secrets)
    return _Refused(error, (exchange.status, said))


class _Reading:
    """The reading of one streamed answer, to its end."""

    def __init__(self, exchange: http.Exchange, answer: Answer, secrets: tuple[str, ...]) -> None:
        self._exchange = exchange
        self._answer = answer
        self._secrets = secrets
        self._stream = EventStream()
        self._is_over = False
        self._patience: float | None = None
        self._quiet_until: float | None = None
        self._refused: ProviderError | None = None
        self._cut: ProviderError | None = None

    def events(self) -> Iterator[ProviderEvent]:
        """Yield the events of every read when it is read, then the ending."""
        while not self._is_over:
            yield from merged(self._taken(self._read()))
        yield from merged(self._ending())

    def _read(self) -> list[Event]:
        within = None if self._quiet_until is None else max(0.0, self._quiet_until - time.monotonic())
        try:
            data = self._exchange.read(within=within)
            if data:
                return self._stream.feed(data)
            self._is_over = True
            return self._stream.end()
        except http.UpstreamFailed as failed:
            self._is_over, self._cut = True, failed.error
        except StreamTooLarge as large:
            self._is_over, self._cut = True, ProviderError("protocol", f"the answer cannot be read: {large}")
        return []

    def _taken(self, arrived: list[Event]) -> Iterator[ProviderEvent]:
        is_news = False
        for event in arrived:
            for provided in self._payloads(event.data, event.name):
                is_news = True
                yield provided
            if self._answer.is_complete or self._refused or self._cut:
                self._is_over = True
                return
        before, self._patience = self._patience, self._answer.patience
        if self._patience is None:
            self._quiet_until = None
        elif is_news or self._patience != before:
            self._quiet_until = time.monotonic() + self._patience

    def _payloads(self, data: str, name: str) -> Iterator[ProviderEvent]:
        try:
            for payload in payloads(data):
                if refusals.complaint(payload) is not None or (name == "error" and payload is not DONE):
                    self._refused = refusals.refusal(payload, secrets=self._secrets)
                    return
                yield from self._answer.take(payload, name)
        except Broken as broken:
            self._cut = _truncated() if self._is_over else _protocol(str(broken))
            return
        if name == "error" and self._refused is None:
            self._refused = refusals.refusal(data, secrets=self._secrets)

    def _ending(self) -> Iterator[ProviderEvent]:
        if not (self._answer.has_ended or self._refused or self._cut):
            yield from self._unframed()
        if self._answer.has_ended and not self._refused:
            yield from self._answer.finish()
            return
        yield from self._answer.flush()
        yield self._refused or self._cut or _truncated()

    def _unframed(self) -> Iterator[ProviderEvent]:
        """Read an answer that is no event stream: plain JSON, which may be an error."""
        text = self._stream.stray.strip()
        if "{" in text and not text.startswith("<"):
            yield from self._payloads(text, "")
        elif text:
            self._cut = _protocol("it is no event stream")


def _protocol(fault: str) -> ProviderError:
    return ProviderError("protocol", f"the answer cannot be read: {fault}", retryable=True)


def _truncated() -> ProviderError:
    return ProviderError("truncated", "the answer broke off", retryable=True)
