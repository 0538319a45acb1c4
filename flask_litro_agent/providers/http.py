"""One streaming POST that can always be stopped.

The request runs in a thread of its own, which opens the connection, reads what arrives and closes it; the caller
waits on a queue. So a deadline is exact whatever the server does, and a stop is heard at once, also before the
first header: the late response is then closed unread. Redirects are not followed, and neither a ``.netrc`` nor a
proxy is taken from the environment.

    caller --- post() ---> Exchange <--- chunks --- thread (requests, raw.read1) <--- server
       \\-- leave: raw.shutdown() ends the thread's read; the thread closes the connection
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import requests
import urllib3

from flask_litro_agent.contracts import ProviderError, Stop
from flask_litro_agent.errors import LitroError

__all__ = ["Exchange", "Limits", "Stopped", "UpstreamFailed", "post"]

_READ = 65536
_MOST_PIECES = 1000
_MIB = 1024 * 1024
_UNUSABLE = (
    requests.exceptions.InvalidHeader,
    requests.exceptions.InvalidSchema,
    requests.exceptions.InvalidURL,
    requests.exceptions.MissingSchema,
    UnicodeError,
)
_TIMEOUTS = (requests.Timeout, urllib3.exceptions.TimeoutError, TimeoutError)


class UpstreamFailed(LitroError):
    """The exchange failed; ``error`` says how, in words that may be shown."""

    def __init__(self, error: ProviderError) -> None:
        super().__init__(error.message)
        self.error = error


class Stopped(LitroError):
    """The caller's ``stop`` came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an exchange may use: seconds to connect, of silence, in all; decoded bytes of an answer."""

    connect_seconds: float = 10.0
    idle_seconds: float = 60.0
    total_seconds: float = 300.0
    max_bytes: int = 64 * _MIB


@dataclass(frozen=True, slots=True)
class _Head:
    status: int
    headers: Mapping[str, str]


_Item = _Head | bytes | ProviderError | None  # b"" is the end, None wakes the reader


class Exchange:
    """The answer to one POST; for one thread. Leaving ``post`` ends it."""

    def __init__(self, limits: Limits, stop: Stop, arrived: queue.SimpleQueue[_Item]) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self._limits = limits
        self._stop = stop
        self._arrived = arrived
        self._behind: list[_Item] = []  # what was found behind the bytes of the last read
        self._heard_at = time.monotonic()
        self._deadline = self._heard_at + limits.total_seconds

    def read(self, *, within: float | None = None) -> bytes | None:
        """Return all bytes that have arrived, ``b""`` at the end, or None when ``within`` seconds pass without any.

        Raise UpstreamFailed for a cut connection, a deadline or a cap, and Stopped after a stop.
        """
        item = self._next(within)
        if not isinstance(item, bytes):
            return None
        return item + self._waiting() if item else item

    def body(self, *, limit: int, within: float) -> bytes:
        """Return the first ``limit`` bytes of the body, or as much of it as arrives within those seconds."""
        until = time.monotonic() + within
        body = b""
        while len(body) < limit:
            try:
                data = self.read(within=max(0.0, until - time.monotonic()))
            except UpstreamFailed:
                break
            if not data:
                break
            body += data
        return body[:limit]

    def await_head(self) -> None:
        """Wait for the status and the headers."""
        head = self._next(None)
        if isinstance(head, _Head):
            self.status, self.headers = head.status, head.headers

    def _waiting(self) -> bytes:
        """Return the bytes that wait in the queue, without what stands behind them."""
        pieces: list[bytes] = []
        with suppress(queue.Empty):
            while len(pieces) < _MOST_PIECES:
                item = self._arrived.get_nowait()
                if not (isinstance(item, bytes) and item):
                    self._behind.append(item)
                    break
                pieces.append(item)
        return b"".join(pieces)

    def _next(self, within: float | None) -> _Item:
        ends = min(self._deadline, self._heard_at + self._limits.idle_seconds)
        wait = max(0.0, ends - time.monotonic())
        wait = wait if within is None else min(wait, within)
        try:
            item = self._behind.pop() if self._behind else self._arrived.get(timeout=wait)
        except queue.Empty:
            item = None
        if self._stop.is_set:
            raise Stopped("stopped")
        if isinstance(item, ProviderError):
            raise UpstreamFailed(item)
        now = time.monotonic()
        if now >= self._deadline or (item is None and now >= ends):
            raise UpstreamFailed(_late(self._limits, in_all=now >= self._deadline))
        self._heard_at = now if item else self._heard_at
        return item


class _Connection:
    """The thread's side of an exchange: open, read, deliver, close."""

    def __init__(self, limits: Limits, arrived: queue.SimpleQueue[_Item]) -> None:
        self._limits = limits
        self._arrived = arrived
        self._lock = threading.Lock()
        self._response: requests.Response | None = None
        self._left = threading.Event()

    def run(self, url: str, headers: Mapping[str, str], body: bytes, proxies: Mapping[str, str]) -> None:
        """Ask, and deliver a head, then chunks, then ``b""``; a ProviderError instead when it fails."""
        timeout = (min(self._limits.connect_seconds, self._limits.total_seconds), self._limits.idle_seconds)
        try:
            with requests.Session() as session:
                session.trust_env = False
                with session.post(
                    url,
                    data=body,
                    headers=dict(headers),
                    proxies=dict(proxies),
                    stream=True,
                    allow_redirects=False,
                    timeout=timeout,
                ) as response:
                    self._read(response)
        except Exception as error:  # whatever it is, the caller must hear of it; its text may quote a header
            self._arrived.put(_failure(error, url))

    def leave(self) -> None:
        """End the thread's read, now or when the response comes. Closing is the thread's own business."""
        with self._lock:
            self._left.set()
            if self._response is not None:
                with suppress(Exception):  # not a socket, or one that is gone
                    self._response.raw.shutdown()

    def _read(self, response: requests.Response) -> None:
        with self._lock:
            if self._left.is_set():
                return
            self._response = response
        try:
            self._arrived.put(_Head(response.status_code, response.headers))
            left = self._limits.max_bytes  # counted here: what waits for a slow reader is in memory too
            while data := response.raw.read1(_READ, decode_content=True):
                left -= len(data)
                self._arrived.put(data if left >= 0 else _too_large(self._limits.max_bytes))
                if left < 0 or self._left.is_set():
                    return
            self._arrived.put(b"")
        finally:
            with self._lock:
                self._response = None


@contextmanager
def post(
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes,
    limits: Limits,
    stop: Stop,
    proxies: Mapping[str, str] | None = None,
) -> Iterator[Exchange]:
    """Ask, wait for the headers, and give the exchange; raise what ``Exchange.read`` raises.

    ``headers`` and ``url`` never appear in an error. ``proxies`` maps a scheme to a proxy's URL.
    """
    arrived: queue.SimpleQueue[_Item] = queue.SimpleQueue()
    connection = _Connection(limits, arrived)
    exchange = Exchange(limits, stop, arrived)
    thread = threading.Thread(
        target=connection.run, args=(url, headers, body, proxies or {}), name="litro-upstream", daemon=True
    )
    try:
        thread.start()
    except RuntimeError:
        raise UpstreamFailed(ProviderError("configuration", "this process has no thread left")) from None
    forget = stop.on(lambda: arrived.put(None))
    try:
        exchange.await_head()
        yield exchange
    finally:
        forget()
        connection.leave()


def _failure(error: Exception, url: str) -> ProviderError:
    host = _host(url)
    if isinstance(error, _UNUSABLE):
        return ProviderError("configuration", "the model's URL, key or headers cannot be sent: check them")
    if isinstance(error, requests.ConnectTimeout):
        return ProviderError("timeout", f"cannot connect to {host} in time", retryable=True)
    if isinstance(error, requests.exceptions.SSLError):
        return ProviderError("network", f"cannot connect to {host}: its certificate is not accepted")
    if isinstance(error, requests.ConnectionError) and not isinstance(error, requests.ReadTimeout):
        return ProviderError(
            "network", f"cannot connect to {host}, or it hung up: does the model run there?", retryable=True
        )
    if isinstance(error, _TIMEOUTS):
        return ProviderError("timeout", f"{host} fell silent", retryable=True)
    return ProviderError("network", f"the connection to {host} broke", retryable=True)


def _host(url: str) -> str:
    """Return the host and port, without what a URL may carry beside it."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or "the model's server"
    except ValueError:
        return "the model's server"


def _late(limits: Limits, *, in_all: bool) -> ProviderError:
    if in_all:
        return ProviderError(
            "timeout", f"no complete answer within {limits.total_seconds:g} s", retryable=True
        )
    return ProviderError(
        "timeout", f"the model's server was silent for {limits.idle_seconds:g} s", retryable=True
    )


def _too_large(size: int) -> ProviderError:
    return ProviderError("protocol", f"the answer is larger than {size} bytes")
