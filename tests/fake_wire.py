"""The HTTP routes of a session over a log in memory, made to fail on request: the other side of the browser's tests.

One ``Fault`` is spent by each request to a session's log, in the order in which they were put; a request without one
is answered well. What the server saw is in ``wire.requests``.
"""

from __future__ import annotations

import itertools
import json
import re
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from flask_litro_agent.events import encode

Step = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What goes wrong with one request; nothing does by default."""

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    drop: bool = False  # close the connection unanswered, the work undone
    mute: bool = False  # do the work, then close the connection unanswered
    hang: bool = False  # stay silent before the headers until the client leaves, the work undone
    freeze: int | None = None  # stay silent for good after that many bytes of the body
    pieces: int | None = None  # send so many bytes at a time, apart
    lead: bytes = b""  # bytes before the first line
    cut: int | None = None  # break the connection after that many bytes of the body
    end: int | None = None  # end the body properly after that many lines
    twice: bool = False  # send each line, and then the one before it again
    lose: int | None = None  # leave out the line with this seq
    garble: int | None = None  # send half of the line with this seq, as a line


class Seen(NamedTuple):
    """One request as the server saw it; ``at`` is in seconds on a clock that only runs forward."""

    at: float
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


class Page(NamedTuple):
    """Something to serve beside the routes."""

    media_type: str
    body: bytes
    headers: Mapping[str, str] = {}


class Broken(Exception):
    """The connection is to be broken here."""


class Turn:
    """A turn as its script sees it."""

    def __init__(self, turn_id: str, text: str) -> None:
        self.id = turn_id
        self.text = text
        self.stop = threading.Event()


class Log:
    """One session: its lines, its running turn, and the faults that wait for its requests."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.lines: list[bytes] = []
        self.turn: Turn | None = None
        self.faults: deque[Fault] = deque()
        self.changed = threading.Condition()

    def append(self, *steps: Step) -> None:
        """Append events; their seq and ts are counted from the log's length."""
        with self.changed:
            for kind, payload in steps:
                seq = len(self.lines) + 1
                self.lines.append(encode(seq, 1_796_000_000_000 + seq, kind, payload))
            self.changed.notify_all()

    def begin(self, text: str) -> Turn:
        """Start a turn in the log, with the user's message."""
        turn = Turn(f"t{len(self.lines) + 1}", text)
        self.turn = turn
        self.append(
            ("turn-start", {"turn_id": turn.id, "agent": self.agent}),
            ("message", {"role": "user", "text": text}),
        )
        return turn

    def run(self, turn: Turn, steps: Iterable[Step]) -> None:
        """Append what the script says, then the end."""
        reason = "finished"
        for kind, payload in steps:
            if turn.stop.is_set():
                break
            if kind == "end":
                reason = payload["reason"]
                break
            self.append((kind, payload))
        self.end(turn, "stopped" if turn.stop.is_set() else reason)

    def end(self, turn: Turn, reason: str) -> None:
        """Write the turn's end, the last of its events."""
        with self.changed:
            self.turn = None
            self.append(("turn-end", {"turn_id": turn.id, "reason": reason, "usage": {}}))


def answer(turn: Turn) -> Iterator[Step]:
    """The default script: a short answer with letters of one to four bytes."""
    for text in ("Grüße, ", "水 und ", "🏔️ ", turn.text):
        yield "text-delta", {"text": text}
    yield "message", {"role": "assistant", "text": f"Grüße, 水 und 🏔️ {turn.text}"}


class FakeWire:
    """The server. Everything that may be set is set before the request that it is for."""

    def __init__(self, *, prefix: str = "/__litro") -> None:
        self.prefix = prefix
        self.pages: dict[str, Page] = {}
        self.logs: dict[str, Log] = {}
        self.requests: list[Seen] = []
        self.script: Callable[[Turn], Iterable[Step]] = answer
        self.heartbeat_seconds = 15.0
        self.stream_seconds = 30.0
        self.open_streams = 0
        self.closing = threading.Event()
        self._guard = threading.Lock()
        self._server = self._listen(0)
        self.port: int = self._server.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def log(self, session: str, agent: str = "demo") -> Log:
        """Return a session's log, a new one when there is none."""
        with self._guard:
            return self.logs.setdefault(session, Log(agent))

    def seen(self, method: str, session: str) -> list[Seen]:
        """Return the requests of this method to the log of a session."""
        path = f"{self.prefix}/agent/demo/{session}"
        return [seen for seen in list(self.requests) if seen.method == method and seen.path == path]

    def close_door(self) -> None:
        """Refuse connections from now on."""
        self._server.shutdown()
        self._server.server_close()

    def open_door(self) -> None:
        """Accept connections again, at the same port."""
        self._server = self._listen(self.port)

    def close(self) -> None:
        self.closing.set()
        self.close_door()

    def count(self, change: int) -> None:
        with self._guard:
            self.open_streams += change

    def _listen(self, port: int) -> ThreadingHTTPServer:
        server = _Server(("127.0.0.1", port), _Handler)
        server.wire = self
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return server


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64
    wire: FakeWire

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves in the middle is what these tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *arguments: Any) -> None:
        """Keep the test's output clean."""

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except Broken:
            self.close_connection = True
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)

    @property
    def wire(self) -> FakeWire:
        return self.server.wire

    def do_GET(self) -> None:
        session = self._take()
        if page := self.wire.pages.get(self.path.partition("?")[0]):
            self._whole(200, page.body, {"Content-Type": page.media_type, **page.headers})
        elif session is None:
            self._list()
        else:
            self._read(session)

    def do_POST(self) -> None:
        session = self._take()
        assert session is not None
        text = json.loads(self.seen.body)["text"]
        log = self.wire.log(session)
        fault = log.faults.popleft() if log.faults else Fault()
        self._fail_early(fault)
        if fault.status:
            return self._whole(fault.status, fault.body, fault.headers)
        if log.turn is not None:
            return self._refuse(409, "SessionBusy", "a turn is running", {"Litro-Turn": log.turn.id})
        first = len(log.lines)
        turn = log.begin(text)
        threading.Thread(target=log.run, args=(turn, self.wire.script(turn)), daemon=True).start()
        if fault.mute:
            raise Broken
        return self._stream(log, fault, first, turn_id=turn.id)

    def do_DELETE(self) -> None:
        session = self._take()
        _, _, turn_id = self.seen.path.partition("/turn/")
        log = self.wire.logs.get(session or "")
        if log is None:
            return self._refuse(404, "NotFound", "there is no such session")
        if not turn_id:
            del self.wire.logs[session or ""]
            return self._whole(204, b"", {})
        if log.turn is None or log.turn.id != turn_id:
            return self._refuse(404, "NotFound", "no such turn is running")
        log.turn.stop.set()
        return self._whole(202, b"{}", {"Content-Type": "application/json"})

    def _take(self) -> str | None:
        """Note the request; return the session that it is about."""
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.seen = Seen(time.monotonic(), self.command, parts.path, query, headers, body)
        self.wire.requests.append(self.seen)
        match = re.match(re.escape(self.wire.prefix) + "/agent/[^/]+/([^/]+)", parts.path)
        return match[1] if match else None

    def _read(self, session: str) -> None:
        log = self.wire.logs.get(session)
        fault = log.faults.popleft() if log and log.faults else Fault()
        self._fail_early(fault)
        if fault.status:
            return self._whole(fault.status, fault.body, fault.headers)
        if log is None or not log.lines:
            return self._refuse(404, "NotFound", "there is no such session")
        if fault.mute:
            raise Broken
        turn_id = log.turn.id if log.turn else None
        first = int(self.seen.query.get("from", "1")) - 1
        return self._stream(log, fault, first, turn_id=turn_id, follow="follow" in self.seen.query)

    def _list(self) -> None:
        if not self.seen.path.startswith(f"{self.wire.prefix}/agent/"):
            return self._refuse(404, "NotFound", "there is no such page")
        names = sorted(self.wire.logs)
        start = names.index(self.seen.query["after"]) + 1 if "after" in self.seen.query else 0
        rows = [{"id": name, "created": 1, "updated": 2} for name in names[start : start + 2]]
        more = rows[-1]["id"] if start + 2 < len(names) else None
        body = json.dumps({"sessions": rows, "next": more}).encode()
        return self._whole(200, body, {"Content-Type": "application/json"})

    def _fail_early(self, fault: Fault) -> None:
        if fault.hang:
            while not self._is_left():
                time.sleep(0.01)
        if fault.drop or fault.hang:
            raise Broken

    def _refuse(self, status: int, name: str, message: str, headers: Mapping[str, str] = {}) -> None:
        body = json.dumps({"name": name, "message": message, "status": status}).encode()
        self._whole(status, body, {"Content-Type": "application/json", **headers})

    def _whole(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self._head(status, {**headers, "Content-Length": str(len(body))})
        self.wfile.write(body)

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Cache-Control": "no-store", "Connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _stream(
        self, log: Log, fault: Fault, first: int, *, turn_id: str | None, follow: bool = False
    ) -> None:
        headers = {"Litro-Turn": turn_id or "idle", "Content-Type": "application/x-ndjson"}
        if self.command == "GET":
            headers["Litro-Last-Seq"] = str(len(log.lines))
        self._head(200, {**headers, "Transfer-Encoding": "chunked"})
        self.wire.count(1)
        try:
            self._body(fault, self._tail(log, first, turn_id=turn_id, follow=follow))
        finally:
            self.wire.count(-1)

    def _body(self, fault: Fault, lines: Iterator[bytes]) -> None:
        sent = self._send(fault, 0, fault.lead)
        before = b""
        for line in itertools.islice(lines, fault.end):
            sent = self._send(fault, sent, _spoil(fault, line))
            if fault.twice and before:
                sent = self._send(fault, sent, before)
            before = line or before
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, fault: Fault, sent: int, data: bytes) -> int:
        room = min(
            (limit for limit in (fault.cut, fault.freeze) if limit is not None), default=sent + len(data)
        )
        part = data[: max(0, room - sent)]
        for start in range(0, len(part), fault.pieces or max(1, len(part))):
            self._chunk(part[start : start + (fault.pieces or len(part))])
            time.sleep(0.002 if fault.pieces else 0)
        if len(part) == len(data):
            return sent + len(data)
        while fault.freeze is not None and not self._is_left():
            time.sleep(0.01)
        raise Broken

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _tail(self, log: Log, seq: int, *, turn_id: str | None, follow: bool) -> Iterator[bytes]:
        """Yield lines after ``seq`` as the routes promise, and blank lines in silence."""
        last = len(log.lines)
        until = time.monotonic() + self.wire.stream_seconds
        beat = time.monotonic() + self.wire.heartbeat_seconds
        while time.monotonic() < until and not self._is_left():
            with log.changed:
                lines = log.lines[seq:]
                if not lines:
                    log.changed.wait(0.02)
            for line in lines:
                yield line
                if turn_id and not follow and b'"turn-end"' in line and f'"{turn_id}"'.encode() in line:
                    return
            seq += len(lines)
            if turn_id is None and not follow and seq >= last:
                return
            if lines:
                beat = time.monotonic() + self.wire.heartbeat_seconds
            elif time.monotonic() > beat:
                beat += self.wire.heartbeat_seconds
                yield b"\n"

    def _is_left(self) -> bool:
        if self.wire.closing.is_set():
            return True
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""


def _spoil(fault: Fault, line: bytes) -> bytes:
    seq = json.loads(line)["seq"] if line.strip() else None
    if seq is not None and seq == fault.lose:
        return b""
    if seq is not None and seq == fault.garble:
        return line[: len(line) // 2] + b"\n"
    return line
