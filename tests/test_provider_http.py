"""The exchange with a server: stop, deadlines, caps, redirects; on real sockets."""

from __future__ import annotations

import gzip
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path

import pytest

from flask_litro_agent.contracts import Stop
from flask_litro_agent.providers.http import Limits, Stopped, UpstreamFailed, post
from flask_litro_agent.testing.upstream import SILENCE, Part, Upstream

PATIENCE = 15.0


def read_all(upstream: Upstream, **limits: float) -> list[bytes]:
    chunks = []
    with post(upstream.url, headers={}, body=b"{}", limits=Limits(**limits), stop=Stop()) as exchange:  # type: ignore[arg-type]
        while data := exchange.read():
            chunks.append(data)
    return chunks


def failure(*parts: Part, before: Part | None = None, **limits: float) -> str:
    with Upstream(*parts, before_headers=before) as upstream, pytest.raises(UpstreamFailed) as raised:
        read_all(upstream, **limits)
    return raised.value.error.code


def test_bytes_are_read_as_they_arrive_without_any_framing() -> None:
    gate = threading.Event()
    with (
        Upstream(b"one", gate, b"two") as upstream,
        post(upstream.url, headers={}, body=b"", limits=Limits(), stop=Stop()) as exchange,
    ):
        first = exchange.read()
        gate.set()
        assert (first, exchange.read(), exchange.read()) == (b"one", b"two", b"")


def test_waiting_a_while_gives_none_and_loses_nothing() -> None:
    gate = threading.Event()
    with (
        Upstream(gate, b"late") as upstream,
        post(upstream.url, headers={}, body=b"", limits=Limits(), stop=Stop()) as exchange,
    ):
        assert exchange.read(within=0.01) is None
        gate.set()
        assert exchange.read() == b"late"


CHUNKED = {"transfer-encoding": "chunked"}


def test_what_arrived_while_nobody_read_is_one_read() -> None:
    with (
        Upstream(b"1\r\na\r\n", b"1\r\nb\r\n", b"0\r\n\r\n", headers=CHUNKED) as upstream,
        post(upstream.url, headers={}, body=b"", limits=Limits(), stop=Stop()) as exchange,
    ):
        assert upstream.hung_up.wait(PATIENCE)
        assert (exchange.read(), exchange.read()) == (b"ab", b"")


def test_an_error_behind_the_bytes_is_raised_after_them() -> None:
    with (
        Upstream(b"1\r\na\r\n", b"1\r\nb\r\n", headers=CHUNKED) as upstream,
        post(upstream.url, headers={}, body=b"", limits=Limits(), stop=Stop()) as exchange,
    ):
        assert upstream.hung_up.wait(PATIENCE)
        assert exchange.read() == b"ab"
        with pytest.raises(UpstreamFailed):
            exchange.read()


def test_a_slow_reader_does_not_make_an_endless_answer_grow() -> None:
    """The cap ends the connection while nobody reads."""
    with (
        Upstream(*[b"x" * 65536] * 2000) as upstream,
        post(upstream.url, headers={}, body=b"", limits=Limits(max_bytes=1_000_000), stop=Stop()) as exchange,
    ):
        assert upstream.hung_up.wait(PATIENCE)
        assert 0 < len(exchange.read() or b"") <= 1_000_000
        with pytest.raises(UpstreamFailed, match="larger"):
            exchange.read()


def test_silence_before_the_headers_is_a_timeout() -> None:
    assert failure(before=SILENCE, idle_seconds=0.2) == "timeout"


def test_silence_in_the_body_is_a_timeout() -> None:
    assert failure(b"a", SILENCE, idle_seconds=0.2) == "timeout"


def test_a_byte_now_and_then_meets_the_total_deadline() -> None:
    began = time.monotonic()
    assert failure(*(b"a", 0.02) * 1000, idle_seconds=30, total_seconds=0.4) == "timeout"
    assert time.monotonic() - began < PATIENCE


def test_an_endless_answer_meets_the_byte_cap() -> None:
    assert failure(*[b"x" * 65536] * 64, max_bytes=1_000_000) == "protocol"


def test_a_gzip_bomb_meets_the_byte_cap() -> None:
    bomb = gzip.compress(bytes(50_000_000))
    with (
        Upstream(bomb, headers={"content-encoding": "gzip"}) as upstream,
        pytest.raises(UpstreamFailed) as raised,
    ):
        read_all(upstream, max_bytes=1_000_000)
    assert raised.value.error.code == "protocol"


def test_gzip_is_read_as_it_arrives() -> None:
    packer, gate = zlib.compressobj(wbits=31), threading.Event()
    parts = [
        packer.compress(b"one") + packer.flush(zlib.Z_SYNC_FLUSH),
        gate,
        packer.compress(b"two") + packer.flush(),
    ]
    with (
        Upstream(*parts, headers={"content-encoding": "gzip"}) as upstream,
        post(upstream.url, headers={}, body=b"", limits=Limits(), stop=Stop()) as exchange,
    ):
        first = exchange.read()
        gate.set()
        assert (first, exchange.read()) == (b"one", b"two")


def test_a_body_shorter_than_its_length_is_a_broken_connection() -> None:
    with (
        Upstream(b"abc", headers={"content-length": "10"}) as upstream,
        pytest.raises(UpstreamFailed) as raised,
    ):
        read_all(upstream)
    assert (raised.value.error.code, raised.value.error.retryable) == ("network", True)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    with (
        Upstream(b"") as elsewhere,
        Upstream(b"", status=status, headers={"location": elsewhere.url}) as upstream,
        post(upstream.url, headers={}, body=b"", limits=Limits(), stop=Stop()) as exchange,
    ):
        assert exchange.status == status
        assert exchange.read() == b""
        assert elsewhere.requests == []


def test_a_cookie_of_one_answer_is_not_sent_with_the_next() -> None:
    with Upstream(b"", headers={"set-cookie": "a=b; Path=/"}) as upstream:
        read_all(upstream)
        read_all(upstream)
    assert all("cookie" not in one.headers for one in upstream.requests)


def test_a_stop_that_came_before_the_question_ends_it_at_once() -> None:
    stop = Stop()
    stop.set()
    with (
        Upstream(before_headers=SILENCE) as upstream,
        pytest.raises(Stopped),
        post(upstream.url, headers={}, body=b"", limits=Limits(), stop=stop),
    ):
        pytest.fail("the exchange began")


def test_a_response_that_comes_after_the_stop_is_closed_unread() -> None:
    gate, stop = threading.Event(), Stop()
    with Upstream(b"x" * 100, SILENCE, before_headers=gate) as upstream:
        threading.Thread(target=lambda: upstream.asked.wait(PATIENCE) and stop.set(), daemon=True).start()
        with pytest.raises(Stopped), post(upstream.url, headers={}, body=b"", limits=Limits(), stop=stop):
            pytest.fail("the exchange began")
        gate.set()
        assert upstream.hung_up.wait(PATIENCE)


def test_no_thread_is_left_behind() -> None:
    before = set(threading.enumerate())  # those of other tests may still be on their way out
    with Upstream(b"one", SILENCE) as upstream:
        with post(upstream.url, headers={}, body=b"", limits=Limits(), stop=Stop()) as exchange:
            exchange.read()
            begun = set(threading.enumerate()) - before
            (reader,) = [thread for thread in begun if thread.name == "litro-upstream"]
        reader.join(PATIENCE)
        assert not reader.is_alive()


_UNDER_GEVENT = """
from gevent import monkey
monkey.patch_all()
import sys, pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""


def test_streaming_and_stop_work_under_gevent() -> None:
    pytest.importorskip("gevent", reason="gevent: pip install 'flask-litro-agent[gevent]'")
    tests = ["tests/test_provider_http.py", "tests/test_provider_contract.py"]
    done = subprocess.run(
        [sys.executable, "-c", _UNDER_GEVENT, *tests, "-k", "not gevent and not cut_anywhere"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
