"""A model's server on a loopback socket that says exactly what a test tells it to, cut as the test cuts it.

    with Upstream(b"data: one\\n\\n", gate, b"data: two\\n\\n") as upstream:
        provider = my_provider(base_url=upstream.url)

A part of the answer is bytes (sent at once), a number (seconds of silence), an Event (waited for), or ``SILENCE``
(nothing more, until the client hangs up). The answer ends with the connection.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["SILENCE", "Part", "Received", "Upstream"]

_PATIENCE = 30.0
#: The server stays connected and says nothing.
SILENCE: Final = float("inf")

Part = bytes | float | threading.Event


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it arrived; header names are lower case."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Upstream:
    """The server; a context manager. Every connection gets the same answer."""

    def __init__(
        self,
        *parts: Part,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        before_headers: Part | None = None,
    ) -> None:
        self.requests: list[Received] = []
        #: set when a request has arrived, and when a client hung up
        self.asked = threading.Event()
        self.hung_up = threading.Event()
        self._parts = parts
        self._before = before_headers
        lines = {"content-type": "text/event-stream", "connection": "close", **(headers or {})}
        head = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in lines.items())]
        self._head = ("\r\n".join(head) + "\r\n\r\n").encode("latin-1")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ended = threading.Event()
        self._open: list[socket.socket] = []

    @property
    def url(self) -> str:
        host, port = self._listener.getsockname()
        return f"http://{host}:{port}/v1"

    def __enter__(self) -> Upstream:
        threading.Thread(target=self._accept, name="upstream", daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._ended.set()
        for one in (self._listener, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while not self._ended.is_set():
                client, _ = self._listener.accept()
                self._open.append(client)
                threading.Thread(target=self._serve, args=(client,), name="upstream", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.settimeout(_PATIENCE)
            self.requests.append(_received(client))
            self.asked.set()
            self._perform(client, self._before)
            client.sendall(self._head)
            for part in self._parts:
                self._perform(client, part)
            client.shutdown(socket.SHUT_WR)
            self._wait_for_end(client, _PATIENCE)

    def _perform(self, client: socket.socket, part: Part | None) -> None:
        if isinstance(part, bytes):
            try:
                client.sendall(part)
            except OSError:
                self.hung_up.set()
                raise
        elif isinstance(part, threading.Event):
            part.wait(_PATIENCE)
        elif part is not None:
            self._wait_for_end(client, part)

    def _wait_for_end(self, client: socket.socket, seconds: float) -> None:
        client.settimeout(min(seconds, _PATIENCE))
        try:
            if not client.recv(1):
                self.hung_up.set()
        except TimeoutError:
            return
        except OSError:
            self.hung_up.set()


def _received(client: socket.socket) -> Received:
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(client)
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += _more(client)
    return Received(first.split(" ")[1], headers, body)


def _more(client: socket.socket) -> bytes:
    data = client.recv(65536)
    if not data:
        raise ConnectionError("the client hung up")
    return data
