"""Thousands of requests that are wrong in every way: no 5xx, no exception in the log, and nothing written when refused.

The requests come from a seeded generator, so that a failure can be repeated: its message has the whole request.
"""

from __future__ import annotations

import json
import logging
import os
import random

import pytest

from tests.asking import site

REQUESTS = 1500
SEEDS = range(4)

NASTY = (
    "",
    " ",
    "..",
    ".",
    "%00",
    "%0a",
    "%0d%0aX-Evil:%201",
    "%2e%2e%2f",
    "%ff%fe",
    "%F0%9F%92%A5",
    "a/b",
    "//",
    "x" * 65,
    "y" * 5000,
    "S1",
    "s1 ",
    "s1%0a",
    "<script>",
    "{{7*7}}",
    "'\"`",
    "__init__",
    "__class__",
    "-1",
    "0",
    "1e9",
    "null",
    "％ｓ１",
)
AGENTS = ("desk",) * 12 + ("Desk", "desk%0a", "nobody", "_shared", "tools", *NASTY)
SESSIONS = (*(f"s{number}" for number in range(60)), "S1", "-", "_", *NASTY)
TURNS = ("t0", "t0123456789abcdef", *NASTY)
QUERIES = ("",) * 30 + tuple(
    f"{name}={value}"
    for name in ("from", "limit", "after", "text", "from[]")
    for value in ("1", "2", "99999", *NASTY)
)
METHODS = (
    ("GET",) * 8
    + ("POST",) * 8
    + ("DELETE",) * 3
    + ("HEAD", "PUT", "PATCH", "OPTIONS", "TRACE", "get", "LITRO")
)
ODD_HEADERS = {
    "Sec-Fetch-Site": ("same-origin", "none", "cross-site", "same-site", "", "x"),
    "Origin": ("http://localhost", "null", "http://evil.example", "[::1", "http://localhost:99999", "é", ""),
    "Host": ("localhost", "evil.example", "a@b", "", "[::1", "localhost:0", "x" * 300, "h\xe9"),
    "X-Forwarded-Host": ("localhost", "evil.example, localhost", ""),
    "X-Litro-Agent": ("1", "0", "1, 1", ""),
    "X-Actor": ("ann", "bob", "eve", "\xff" * 20, ""),
    "X-Locked-Out": ("1",),
    "Content-Type": (
        "application/json",
        "text/plain",
        "application/jsonx",
        "application/json; charset=\xff",
        "",
    ),
    "Content-Length": ("0", "5", "-1", "99999999999", "x", "1_0", ""),
    "Content-Encoding": ("gzip", "x"),
    "Transfer-Encoding": ("chunked", "gzip"),
    "Cookie": (
        "session=x",
        "session=" + "." * 3000,
        "session=eyJhIjoxfQ.x.y",
        "litro_visitor=visitor:x",
        "=;=;",
    ),
    "Range": ("bytes=0-1", "bytes=x"),
    "If-None-Match": ("*",),
    "Accept": ("text/html", "\xff"),
    "Expect": ("100-continue",),
    "User-Agent": ("\x1b[31m", "x" * 9000),
    "X-HTTP-Method-Override": ("DELETE",),
}
BODIES = (
    b'{"text": "hello"}',
    b'{"text": "hello", "seq": 1}',
    b'{"text": null}',
    b"{}",
    b"[]",
    b"",
    b"null",
    b'{"text": NaN}',
    b'{"text": 1e400}',
    b'{"text": "\\ud800"}',
    b"[" * 20_000,
    b'{"a":' * 3000,
    b'{"text": "' + b"x" * 300_000 + b'"}',
    b"\xff\xfe\x00\x00",
    b"text=hello",
)


def random_request(chance: random.Random) -> dict:
    """Return one request for the test client: more often than not right in most of its parts."""
    path = f"/__litro/agent/{chance.choice(AGENTS)}"
    if chance.random() < 0.9:
        path += f"/{chance.choice(SESSIONS)}"
    if chance.random() < 0.15:
        path += f"/turn/{chance.choice(TURNS)}"
    if chance.random() < 0.05:
        path = chance.choice(
            ("/__litro", "/__litro/", "/__litro/agent/", "/__litro/static/../x", path + "/", path + "//")
        )
    headers = {"X-Litro-Agent": "1", "X-Actor": chance.choice(("ann", "bob"))}
    for name, values in ODD_HEADERS.items():
        if chance.random() < 0.06:
            headers[name] = chance.choice(values)
    headers.setdefault("Content-Type", "application/json")
    query = chance.choice(QUERIES) + ("&follow=1" if chance.random() < 0.01 else "")
    return {
        "path": f"{path}?{query}" if query else path,
        "method": chance.choice(METHODS),
        "headers": headers,
        "data": mutated(chance, chance.choice((BODIES[0], chance.choice(BODIES)))),
    }


def mutated(chance: random.Random, body: bytes) -> bytes:
    if not body or chance.random() < 0.7:
        return body
    at = chance.randrange(len(body))
    return chance.choice(
        (body[:at], body[:at] + chance.randbytes(3) + body[at:], body[:at] + body[at + 1 :], body + body)
    )


def stored(folder) -> dict[str, int]:
    """Return the size of every file of the store."""
    return {
        entry.path: entry.stat().st_size
        for place, _, _ in os.walk(folder)
        for entry in os.scandir(place)
        if entry.is_file()
    }


class Alarms(logging.Handler):
    """Keeps what is logged as an error, or with an exception."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR or record.exc_info:
            self.records.append(f"{record.name}: {record.getMessage()} {record.exc_info}")


@pytest.fixture
def alarms():
    handler = Alarms()
    logging.getLogger().addHandler(handler)
    yield handler.records
    logging.getLogger().removeHandler(handler)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_request_breaks_anything(tmp_path, alarms, seed):
    app = site(tmp_path, LITRO_STREAM_SECONDS=0.1, LITRO_MAX_TURNS=10_000, LITRO_MAX_ACTOR_TURNS=10_000)
    clients = [app.test_client(), app.test_client(use_cookies=False)]
    chance = random.Random(seed)
    seen: dict[int, int] = {}
    before = stored(tmp_path / "sessions")
    for _ in range(REQUESTS):
        request = random_request(chance)
        response = chance.choice(clients).open(**request)
        body = response.get_data()
        response.close()
        seen[response.status_code] = seen.get(response.status_code, 0) + 1
        told = json.dumps({**request, "data": repr(request["data"][:200])})
        assert response.status_code < 500, told
        assert not alarms, f"{told}\n{alarms}"
        if response.request.path.startswith("/__litro/"):
            assert response.headers.get("X-Content-Type-Options") == "nosniff", told
        after = stored(tmp_path / "sessions")
        if response.status_code >= 300:
            assert after == before, told
            assert b"Traceback" not in body, told
        before = after
    # a control: the generator gets through every gate, and is stopped by every gate
    assert {200, 400, 403, 404, 405} <= set(seen), seen
