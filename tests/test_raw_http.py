"""What only a raw socket can send, to real servers: bodies without an end, lengths that lie, headers twice.

Whoever refuses it, the server or the guards: the answer comes at once, is no 5xx, and leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import socket
import time

import pytest

from tests.servers import serve, stored

pytestmark = pytest.mark.server
SERVERS = ["flask", "gevent", "waitress"]
NUMBER = itertools.count()
AT_ONCE = 5.0
PATH = "/__litro/agent/desk"
BODY = b'{"text": "hello"}'


@pytest.fixture(scope="module", params=SERVERS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def server(kind, tmp_path_factory):
    with serve(kind, tmp_path_factory.mktemp("raw"), LITRO_FSYNC="never") as running:
        yield running


def exchange(server, *parts: bytes, half_close: bool = False) -> bytes:
    """Send the bytes and return what comes back, to the end of one answer or of the connection, and at once."""
    with socket.create_connection(("127.0.0.1", server.port), AT_ONCE) as connection:
        began = time.monotonic()
        with contextlib.suppress(OSError):  # answered and closed before everything was sent
            for part in parts:
                connection.sendall(part)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while not is_whole(answer) and (chunk := connection.recv(65536)):
                answer += chunk
        assert time.monotonic() - began < AT_ONCE
        return answer


def is_whole(answer: bytes) -> bool:
    """Whether this is one whole answer that says how long it is."""
    top, _, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: ([0-9]+)", top.lower())
    return bool(length) and len(body) >= int(length[1]) > 0


def head(server, *lines: str, method="POST", session="raw", host=True) -> bytes:
    """Return a request's head, as ann and for one answer."""
    common = [f"Host: 127.0.0.1:{server.port}"] if host else []
    common += ["X-Actor: ann", "X-Litro-Agent: 1", "Content-Type: application/json", "Connection: close"]
    return "\r\n".join([f"{method} {PATH}/{session} HTTP/1.1", *common, *lines, "", ""]).encode("latin-1")


def statuses(answer: bytes) -> list[int]:
    return [int(found) for found in re.findall(rb"HTTP/1\.[01] ([0-9]{3})", answer)]


def test_the_control_is_let_in(server):
    answer = exchange(server, head(server, f"Content-Length: {len(BODY)}", session="control"), BODY)
    assert statuses(answer) == [200]
    assert b'"turn-end"' in answer


def test_a_chunked_body_within_the_limit_is_read(server):
    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
    answer = exchange(server, head(server, "Transfer-Encoding: chunked", session="chunked"), chunks)
    assert statuses(answer) == [200]


@pytest.mark.parametrize(
    ("lines", "body"),
    [
        (["Content-Length: -1"], BODY),
        (["Content-Length: 10000000000"], BODY),
        (["Content-Length: 99999999999999999999999999"], BODY),
        (["Content-Length: 5x"], BODY),
        (["Content-Length: +17"], BODY),
        (["Content-Length: 0x11"], BODY),
        (["Content-Length: 1_7"], BODY),
        (["Content-Length: \xb2"], BODY),
        ([f"Content-Length: {len(BODY)}", "Content-Length: 400"], BODY),
        (["Content-Length: 17, 400"], BODY),
        (["Content-Length: 400"], BODY),
        ([], BODY),
        (["Transfer-Encoding: chunked"], b"40000\r\n" + b"x" * 0x40000 + b"\r\n40000\r\n" + b"x" * 0x40000),
        (["Transfer-Encoding: chunked"], b"zz\r\nhello\r\n0\r\n\r\n"),
        (["Transfer-Encoding: chunked"], b"-5\r\nhello\r\n0\r\n\r\n"),
        (["Transfer-Encoding: chunked"], b"ffffffffffffffffffff\r\nhello"),
        (["Transfer-Encoding: chunked"], b"11\r\n{"),
        (["Transfer-Encoding: gzip"], BODY),
        (["Transfer-Encoding: xchunked"], BODY),
        (["Transfer-Encoding: chunked", "Content-Length: 17"], b"2\r\n{}\r\n0\r\n\r\n"),
        (["Content-Encoding: gzip", f"Content-Length: {len(BODY)}"], b"\x1f\x8b" + BODY[2:]),
    ],
    ids=lambda value: ", ".join(value) or "no length" if isinstance(value, list) else str(len(value)),
)
def test_a_body_that_lies_about_its_length_is_refused_at_once(server, kind, lines, body):
    """B5: by a 4xx, or by a closed connection; the server stands and nothing was written."""
    session = f"lie-{next(NUMBER)}"
    answer = exchange(server, head(server, *lines, session=session), body, half_close=True)
    assert all(400 <= status < 500 or status == 501 for status in statuses(answer)), answer
    assert server.status(session) == 404


@pytest.mark.parametrize(
    ("lines", "body"),
    [
        (["Content-Length: 10000000000"], b""),
        (["Transfer-Encoding: chunked"], b"80000\r\n" + b"x" * 0x50000),
    ],
    ids=["length", "chunked"],
)
def test_a_body_that_is_too_large_is_refused_before_it_has_come(server, kind, lines, body):
    """B5: the client still sends when 413 is said."""
    if kind == "waitress" and body:
        return  # reads a chunked body to its end before it asks the app
    assert statuses(exchange(server, head(server, *lines), body)) == [413]


@pytest.mark.parametrize(
    "lines",
    [
        ["Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"],
        ["Sec-Fetch-Site: same-origin, cross-site"],
        ["Origin: {ours}", "Origin: http://evil.example"],
        ["Origin: http://evil.example", "Origin: {ours}"],
        ["Origin: {ours}", "Origin: {ours}"],
        ["Origin: {ours} http://evil.example"],
        ["Origin:"],
        ["Sec-Fetch-Site:"],
        ["X-Litro-Agent: 1"],
        ["Host: evil.example"],
        ["X-Forwarded-Host: evil.example", "Origin: http://evil.example"],
        ["X-Forwarded-Host: evil.example", "X-Forwarded-Host: {host}", "Origin: http://evil.example"],
    ],
)
def test_a_header_twice_or_empty_is_refused(server, lines):
    """A4, A5, A8: two lines of one header are never read as one of them."""
    ours = {"ours": f"http://127.0.0.1:{server.port}", "host": f"127.0.0.1:{server.port}"}
    request = head(
        server, *(line.format(**ours) for line in lines), f"Content-Length: {len(BODY)}", session="twice"
    )
    answer = exchange(server, request, BODY)
    assert statuses(answer)[0] in (400, 403), answer
    assert b"evil" not in answer
    assert server.status("twice") == 404


def test_a_request_without_a_host_is_refused(server):
    answer = exchange(server, head(server, f"Content-Length: {len(BODY)}", host=False), BODY)
    assert statuses(answer)[0] in (400, 403)


@pytest.mark.parametrize(
    "field", ["Origin: http://a\x00b", "Origin : http://evil.example", "Origin: a\r\n\tfolded", "A" * 70_000]
)
def test_a_malformed_header_is_refused(server, field):
    answer = exchange(server, head(server, field, f"Content-Length: {len(BODY)}", session="malformed"), BODY)
    assert all(400 <= status < 500 for status in statuses(answer)), answer[:300]
    assert server.status("malformed") == 404


def test_the_body_of_a_refused_request_is_no_request(server):
    """A POST that is refused unread leaves its body behind: nobody may take that for the next request."""
    inner = head(server, f"Content-Length: {len(BODY)}", session="smuggled") + BODY
    outer = head(server, f"Content-Length: {len(inner)}", "Sec-Fetch-Site: cross-site").replace(
        b"Connection: close\r\n", b""
    )
    answer = exchange(server, outer + inner, half_close=True)
    assert statuses(answer) == [403]
    assert server.status("smuggled") == 404


def test_pipelined_requests_are_answered_in_their_order(server):
    first = head(server, method="HEAD", session="unknown").replace(b"Connection: close\r\n", b"")
    last = head(server, method="GET", session="a%20b")
    answer = exchange(server, first + last, half_close=True)
    assert statuses(answer) in ([404, 400], [404])  # a server without keep-alive answers the first alone


def test_head_sends_no_body(server):
    post = head(server, f"Content-Length: {len(BODY)}", session="headed")
    exchange(server, post, BODY)
    answer = exchange(server, head(server, method="HEAD", session="headed"))
    top, _, rest = answer.partition(b"\r\n\r\n")
    assert statuses(top) == [200]
    assert b"litro-last-seq" in top.lower()
    assert b"seq" not in rest
    refused = exchange(server, head(server, "Sec-Fetch-Site: cross-site", method="HEAD", session="headed"))
    assert statuses(refused) == [403]
    assert refused.endswith(b"\r\n\r\n")


def test_gunicorns_sync_worker_says_why_it_refuses(tmp_path):
    with serve("sync", tmp_path) as server:
        answer = server.post("s1", [["say", "hello"]])
        assert answer.status == 503
        assert "start it with -k gevent or -k gthread" in answer.json()["message"]
        assert server.ask("GET", "/").response.read() == b"home"
        assert stored(tmp_path, "s1") == []
