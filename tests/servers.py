"""Real servers with the test site, each on a free port, and the clients that the tests send to them.

``with serve("gevent", folder, "-w", "2", LITRO_GRACE_SECONDS=1) as server`` starts one, waits until it answers, and
kills its whole process group at the end; a traceback in its log fails the test. A port is the one that the server
was given by the kernel and printed, so no two tests can want the same.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.sessions.file import FileStore

ROOT = Path(__file__).parent.parent
SITE = "tests.site.app:create_app"
SOON = 120.0  # a busy machine takes its time to start a server

_PYWSGI = """
from gevent import monkey
monkey.patch_all()
from gevent import pywsgi, socket
from tests.site.app import create_app

listener = socket.create_server(("127.0.0.1", 0), backlog=256)
print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
pywsgi.WSGIServer(listener, create_app(), log=None).serve_forever()
"""
_GUNICORN = ("-m", "gunicorn", "-b", "127.0.0.1:0", "-k")
_WAITRESS = ("-m", "waitress", "--listen=127.0.0.1:0", "--threads=8")
# options go before the last word
COMMANDS = {
    "flask": ("-m", "flask", "--app", SITE, "run", "--port=0"),
    "gthread": (*_GUNICORN, "gthread", "--threads", "8", f"{SITE}()"),
    "gevent": (*_GUNICORN, "gevent", f"{SITE}()"),
    "sync": (*_GUNICORN, "sync", f"{SITE}()"),
    "waitress": (*_WAITRESS, "--call", SITE),
    "waitress with lookahead": (*_WAITRESS, "--channel-request-lookahead=1", "--call", SITE),
    "gevent.pywsgi": ("-c", _PYWSGI),
}


class Event(dict):
    """An event, and ``at``: when it came, in ms since the epoch."""

    def __init__(self, line: bytes) -> None:
        super().__init__(json.loads(line))
        self.at = time.time() * 1000

    @property
    def delay(self) -> float:
        """Milliseconds from the writer's clock to the reader's: both are this machine's."""
        return self.at - self["ts"]


class Stream:
    """One response and its connection; iterating gives events as they come."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.connection = connection
        self.response = connection.getresponse()
        self.status = self.response.status
        self.headers = self.response.headers
        self.turn = self.headers.get("Litro-Turn")
        self.process = int(self.headers.get("X-Process", 0))
        self.heartbeats = 0
        self.raw = b""

    def __iter__(self) -> Iterator[Event]:
        while line := self._line():
            self.raw += line
            if line == b"\n":
                self.heartbeats += 1
            else:
                yield Event(line)

    def _line(self) -> bytes:
        try:
            return self.response.readline()
        except (OSError, http.client.HTTPException):  # cut
            return b""

    def next(self, kind: str) -> Event:
        """Return the next event of a kind."""
        return next(event for event in self if event["kind"] == kind)

    def words(self, latches: list[Path]) -> list[str]:
        """Return the words of a turn that ``spelt`` wrote; each latch is opened when the word before it is here."""
        found = []
        for latch in latches:
            found.append(self.next("text-delta")["payload"]["text"].strip())
            latch.touch()
        return found

    def leave(self) -> None:
        """Close the connection."""
        self.response.close()
        self.connection.close()

    def json(self):
        return json.loads(self.response.read())


class Server:
    """A running server; ``ask`` and its kin speak HTTP to it as ann, or as another actor."""

    def __init__(self, process: subprocess.Popen, log: Path, *, port: int = 0) -> None:
        self.process = process
        self.port = port
        self._log = log
        self._streams: list[Stream] = []

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def connect(self, seconds: float = SOON) -> http.client.HTTPConnection:
        """Return a connection whose answers may be silent for so long."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)

    def connect_workers(self, count: int = 2) -> list[http.client.HTTPConnection]:
        """Return a kept connection to each worker."""
        found: dict[int, http.client.HTTPConnection] = {}
        deadline = time.monotonic() + SOON
        while len(found) < count and time.monotonic() < deadline:
            stream = self.ask("GET", "/")
            stream.response.read()
            if found.setdefault(stream.process, stream.connection) is not stream.connection:
                stream.leave()
        assert len(found) == count, f"{len(found)} workers answered:\n{self.log}"
        return list(found.values())

    def ask(self, method: str, path: str, *, body=None, actor="ann", connection=None, headers=()) -> Stream:
        connection = connection or self.connect()
        sent = {"X-Actor": actor, "X-Litro-Agent": "1", **dict(headers)}
        if body is not None:
            sent["Content-Type"] = "application/json"
        connection.request(method, path, body=None if body is None else json.dumps(body), headers=sent)
        self._streams.append(Stream(connection))
        return self._streams[-1]

    def post(self, session: str, *rounds, **how) -> Stream:
        """Start a turn with this script."""
        return self.ask("POST", _path(session), body={"text": json.dumps(rounds)}, **how)

    def get(self, session: str, query: str = "", **how) -> Stream:
        return self.ask("GET", _path(session) + query, **how)

    def follow(self, session: str, query: str = "?follow=1", **how) -> Stream:
        """Return a tail as soon as there is a slot: a stream gives its own back just after its last byte."""
        until(lambda: (stream := self.get(session, query, **how)).status == 200 or stream.leave())
        return self._streams[-1]

    def stop(self, session: str, turn: str, **how) -> int:
        return _status(self.ask("DELETE", f"{_path(session)}/turn/{turn}", **how))

    def status(self, session: str, query: str = "", **how) -> int:
        """Return the status of a GET, and leave."""
        return _status(self.get(session, query, **how))

    def events(self, session: str) -> list[Event]:
        """Return the whole log by as many requests as it takes until its last turn has ended."""
        return list(map(Event, self.replay(session).splitlines()))

    def replay(self, session: str) -> bytes:
        deadline = time.monotonic() + SOON
        while time.monotonic() < deadline:
            stream = self.get(session)
            events = list(stream)
            stream.leave()
            if events and events[-1]["kind"] == "turn-end":
                assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
                return b"".join(line for line in stream.raw.splitlines(keepends=True) if line != b"\n")
        raise AssertionError(f"the session {session} did not end:\n{self.log}")

    def hang_up(self) -> None:
        """Leave every stream that was asked for."""
        while self._streams:
            self._streams.pop().leave()

    def terminate(self) -> int:
        """Send SIGTERM and return the exit status."""
        self.process.terminate()
        return self.process.wait(SOON)


@contextlib.contextmanager
def serve(kind: str, folder: Path, *options: str, **settings) -> Iterator[Server]:
    """Run a server; ``settings`` are the site's, its sessions and its log are in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = {f"SITE_{name}": json.dumps(value) for name, value in settings.items()}
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, *COMMANDS[kind][:-1], *options, COMMANDS[kind][-1]],
            cwd=ROOT,
            env={**os.environ, "SITE_INSTANCE": str(folder), "PYTHONUNBUFFERED": "1", **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = Server(process, folder / "server.log")
    try:
        _wait_until_ready(server)
        yield server
    finally:
        server.hang_up()
        _kill(process)
    assert "Traceback" not in server.log, server.log


def spelt(words: str, folder: Path) -> tuple[list[list], list[Path]]:
    """Return the rounds of a turn that says a word when the latch behind the one before it is open, and the latches.

    Whoever is shown a word only with the next one waits for ever.
    """
    latches = [folder / f"{word}.latch" for word in words.split()]
    rounds = [
        [["say", word], ["call", "latch", {"path": str(latch)}]]
        for word, latch in zip(words.split(), latches, strict=True)
    ]
    return [*rounds, [["say", "."]]], latches


def stored(folder: Path, session: str, actor: str = "ann") -> list[dict]:
    """Return what a session's log holds, without asking a server."""
    store = FileStore(folder / "litro" / "sessions")
    return [json.loads(entry.line) for entry in store.read(SessionKey("desk", actor, session))]


def until(holds: Callable[[], object], *, seconds: float = SOON) -> float:
    """Wait until it holds and return the seconds that it took; fail at the deadline."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        if holds():
            return time.monotonic() - began
        time.sleep(0.02)
    raise AssertionError(f"it did not hold within {seconds} s")


def percentile(values, share: float) -> float:
    """Return the value below which that share of them lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _path(session: str) -> str:
    return f"/__litro/agent/desk/{session}"


def _status(stream: Stream) -> int:
    stream.leave()
    return stream.status


def _wait_until_ready(server: Server) -> None:
    with contextlib.suppress(AssertionError):
        until(lambda: _found_port(server) or server.process.poll() is not None)
    assert server.port, f"no server within {SOON} s:\n{server.log}"
    until(lambda: _answers(server))


def _found_port(server: Server) -> bool:
    address = re.search(r"http://127\.0\.0\.1:(\d+)", server.log)
    server.port = int(address[1]) if address else 0
    return bool(address)


def _answers(server: Server) -> bool:
    try:
        return _status(server.ask("GET", "/")) == 200
    except (OSError, http.client.HTTPException):
        return False


def _kill(process: subprocess.Popen) -> None:
    with contextlib.suppress(ProcessLookupError):  # the leader may be gone while its workers are not
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
