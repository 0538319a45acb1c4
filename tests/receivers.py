"""A webhook's receiver: a real server on this machine that takes messages, or does not, as a test wants it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

__all__ = ["SECRET", "Got", "Receiver", "closed_port", "receiver", "receiving"]

SECRET = "whsec_" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldY"


@dataclass(frozen=True)
class Got:
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Receiver:
    """Answers ``status`` with ``headers`` and ``answer`` after ``delay`` seconds, or as ``how`` says.

    ``how``: ``hang`` never answers, ``cut`` hangs up instead, ``die`` hangs up in the middle of the body, ``garbage``
    is no HTTP, ``drip`` sends a header's letters one by one without end.
    """

    def __init__(self) -> None:
        self.got: list[Got] = []
        self.status, self.headers, self.answer, self.delay, self.how = 204, {}, b"", 0.0, ""
        self.released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                body = self.rfile.read(length)
                given = {name.lower(): value for name, value in self.headers.items()}
                outer.got.append(Got(self.path, given, body))
                outer.respond(self)

            def do_GET(self) -> None:
                self.do_POST()

            def log_message(self, *args: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/hook?key=canary-key"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def times(self) -> Counter[str]:
        """How often each message came."""
        return Counter(got.id for got in self.got)

    def respond(self, handler: BaseHTTPRequestHandler) -> None:
        self.released.wait(self.delay)
        match self.how:
            case "hang":
                self.released.wait(60)
            case "cut":
                hang_up(handler)
            case "garbage":
                handler.wfile.write(b"\x00\xff<html>nonsense\r\n\r\n")
                handler.close_connection = True
            case "drip":
                self._drip(handler)
            case "die":
                handler.wfile.write(
                    f"HTTP/1.1 {self.status} X\r\ncontent-length: 1000\r\n\r\n<html>".encode()
                )
                handler.wfile.flush()
                time.sleep(0.05)
                hang_up(handler)
            case _:
                self._answer(handler)

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(self.status)
        for name, value in {"content-length": str(len(self.answer)), **self.headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(self.answer)

    def _drip(self, handler: BaseHTTPRequestHandler) -> None:
        try:
            handler.wfile.write(b"HTTP/1.1 204 No Content\r\nx-slow: ")
            while not self.released.wait(0.05):
                handler.wfile.write(b"x")
                handler.wfile.flush()
        except OSError:
            handler.close_connection = True


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    """End the connection here and now."""
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def closed_port() -> str:
    """Return an address at which nobody listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{found.getsockname()[1]}/hook"


@contextmanager
def receiving() -> Iterator[Receiver]:
    made = Receiver()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made
