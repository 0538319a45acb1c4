"""ProviderContract: what a turn counts on in a provider, ours or a stranger's.

    class TestMyProvider(ProviderContract):
        def provider(self, url):
            return my_provider("some-model", base_url=url, api_key=self.key)

        def delta(self, text):          # the bytes by which the server says a text
            return b"data: " + json.dumps({"text": text}).encode() + b"\\n\\n"

        def end(self):                  # the bytes by which it says that the answer is complete
            return b"data: [DONE]\\n\\n"

The upstream is a real server on a loopback socket, so that a stop is proven on a real connection.
"""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from flask_litro_agent.contracts import (
    ChatRequest,
    Done,
    Message,
    Options,
    Provider,
    ProviderError,
    ProviderEvent,
    Stop,
    Text,
    TextDelta,
)
from flask_litro_agent.testing.upstream import SILENCE, Upstream

__all__ = ["ProviderContract", "collect", "question"]

_SOON = 1.0
_PATIENCE = 15.0


def question(text: str = "Hello?", *, options: Options | None = None) -> ChatRequest:
    """Return a request with one user message."""
    return ChatRequest("", (Message("user", (Text(text),)),), options=options or Options())


def collect(provider: Provider, request: ChatRequest | None = None) -> list[ProviderEvent]:
    """Return all events of one answer."""
    return list(provider.stream(request or question(), Stop()))


class ProviderContract:
    """Subclass it and say how the provider is made and what its server sends."""

    #: a key that must never be seen again
    key = "canary-0123456789abcdef"

    def provider(self, url: str) -> Provider:
        """Return a provider that asks the server at ``url`` with ``self.key``."""
        raise NotImplementedError

    def start(self) -> bytes:
        """Return what the server sends before the first text."""
        return b""

    def delta(self, text: str) -> bytes:
        """Return how the server says a text."""
        raise NotImplementedError

    def end(self) -> bytes:
        """Return how the server says that the answer is complete."""
        raise NotImplementedError

    def test_has_a_model_to_show(self) -> None:
        provider = self.provider("http://127.0.0.1:9/v1")
        assert isinstance(provider, Provider)
        assert provider.model

    def test_a_complete_answer_ends_with_one_done(self) -> None:
        with Upstream(self.start(), self.delta("Hello"), self.end()) as upstream:
            events = collect(self.provider(upstream.url))
        assert _texts(events) == "Hello"
        assert _endings(events) == [events[-1]]
        assert isinstance(events[-1], Done)

    def test_an_answer_cut_anywhere_is_the_same(self) -> None:
        answer = self.start() + self.delta("Größe ✓ 🦊") + self.end()
        with Upstream(*(answer[at : at + 1] for at in range(len(answer)))) as upstream:
            events = collect(self.provider(upstream.url))
        assert _texts(events) == "Größe ✓ 🦊"
        assert isinstance(events[-1], Done)

    def test_text_is_delivered_as_it_arrives(self) -> None:
        gate = threading.Event()
        with Upstream(self.start() + self.delta("one"), gate, self.delta("two"), self.end()) as upstream:
            events = self.provider(upstream.url).stream(question(), Stop())
            first = _next_text(events)
            gate.set()
            rest = _texts(list(events))
        assert (first, rest) == ("one", "two")

    @pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 429, 500, 503])
    def test_a_refusal_ends_with_one_error_that_never_names_the_key(self, status: int) -> None:
        body = b'{"error":{"type":"x","message":"the key %s is wrong"}}' % self.key.encode()
        headers = {"location": "http://127.0.0.1:9/", "content-type": "application/json", "x-key": self.key}
        with Upstream(body, status=status, headers=headers) as upstream:
            provider = self.provider(upstream.url)
            events = collect(provider)
        assert [type(event) for event in events] == [ProviderError]
        assert self.key not in repr(events) + repr(provider)
        assert len(upstream.requests) == 1

    def test_an_answer_that_breaks_off_ends_with_one_error(self) -> None:
        with Upstream(self.start(), self.delta("Hel")) as upstream:
            events = collect(self.provider(upstream.url))
        assert _texts(events) == "Hel"
        assert _endings(events) == [events[-1]]
        assert isinstance(events[-1], ProviderError)

    @pytest.mark.parametrize(
        "body", [b"", b"\xff\xfe", b"data: {\n\n", b"data: {}\n\n", b"<html>no</html>", b"[]"]
    )
    def test_an_answer_without_sense_ends_with_one_error(self, body: bytes) -> None:
        with Upstream(body) as upstream:
            events = collect(self.provider(upstream.url))
        assert [type(event) for event in events] == [ProviderError]

    def test_nobody_listening_is_one_error(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        events = collect(self.provider(f"http://127.0.0.1:{port}/v1"))
        assert [type(event) for event in events] == [ProviderError]

    def test_a_stop_before_the_headers_ends_it_within_a_second(self) -> None:
        with Upstream(before_headers=SILENCE) as upstream:
            stop, ended = Stop(), _Ended()
            ended.follow(self.provider(upstream.url), stop)
            assert upstream.asked.wait(_PATIENCE)
            assert ended.after(stop) < _SOON

    def test_a_stop_in_mid_stream_ends_it_within_a_second_and_hangs_up(self) -> None:
        with Upstream(self.start() + self.delta("one"), SILENCE) as upstream:
            stop, ended = Stop(), _Ended()
            ended.follow(self.provider(upstream.url), stop)
            assert ended.text.get(timeout=_PATIENCE) == "one"
            assert ended.after(stop) < _SOON
            assert upstream.hung_up.wait(_PATIENCE)

    def test_leaving_the_answer_hangs_up(self) -> None:
        with Upstream(self.start() + self.delta("one"), SILENCE) as upstream:
            events = self.provider(upstream.url).stream(question(), Stop())
            assert _next_text(events) == "one"
            getattr(events, "close", lambda: None)()
            assert upstream.hung_up.wait(_PATIENCE)

    def test_a_silent_server_meets_the_idle_deadline(self) -> None:
        request = question(options=Options(idle_seconds=0.3, total_seconds=60))
        with Upstream(self.start() + self.delta("one"), SILENCE) as upstream:
            began = time.monotonic()
            events = collect(self.provider(upstream.url), request)
        assert isinstance(events[-1], ProviderError)
        assert events[-1].code == "timeout"
        assert time.monotonic() - began < _PATIENCE

    def test_a_server_that_dribbles_meets_the_total_deadline(self) -> None:
        request = question(options=Options(idle_seconds=60, total_seconds=0.6))
        dribble = (b": \n", 0.05) * 400
        with Upstream(self.start(), *dribble, self.end()) as upstream:
            began = time.monotonic()
            events = collect(self.provider(upstream.url), request)
        assert isinstance(events[-1], ProviderError)
        assert events[-1].code == "timeout"
        assert time.monotonic() - began < _PATIENCE


class _Ended:
    """Follows an answer in a thread, and knows when it ended."""

    def __init__(self) -> None:
        self.text: queue.Queue[str] = queue.Queue()
        self._at: float | None = None
        self._thread: threading.Thread | None = None

    def follow(self, provider: Provider, stop: Stop) -> None:
        self._thread = threading.Thread(target=self._run, args=(provider, stop), daemon=True)
        self._thread.start()

    def after(self, stop: Stop) -> float:
        """Stop, and return how many seconds later the answer ended."""
        assert self._thread is not None
        began = time.monotonic()
        stop.set()
        self._thread.join(_PATIENCE)
        return (self._at or float("inf")) - began

    def _run(self, provider: Provider, stop: Stop) -> None:
        for event in provider.stream(question(), stop):
            if isinstance(event, TextDelta):
                self.text.put(event.text)
        self._at = time.monotonic()


def _texts(events: list[ProviderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def _endings(events: list[ProviderEvent]) -> list[ProviderEvent]:
    return [event for event in events if isinstance(event, (Done, ProviderError))]


def _next_text(events: Iterator[ProviderEvent]) -> str:
    return next(event.text for event in events if isinstance(event, TextDelta))
