"""Seeing that a reader has left, on real sockets; that gunicorn's own socket is one is test_servers' part."""

import os
import resource
import signal
import socket
import types

import pytest

from flask_litro_agent.web.clients import watch

GUNICORN = "gunicorn/27.0"


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def worker():
    """A worker as gunicorn has one: its SIGTERM handler is a method of it."""

    class Worker:
        alive = True

        def handle_exit(self, number, frame):
            self.alive = False

    worker = Worker()
    before = signal.signal(signal.SIGTERM, worker.handle_exit)
    yield worker
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("key", ["gunicorn.socket", "werkzeug.socket"])
def test_a_closed_connection_is_seen(key, pair):
    ours, theirs = pair
    has_left = watch({key: ours})
    assert not has_left()
    theirs.close()
    assert has_left()


def test_what_the_client_sent_ahead_is_no_departure_and_stays_unread(pair):
    ours, theirs = pair
    theirs.send(b"GET /")
    assert not watch({"gunicorn.socket": ours})()
    assert ours.recv(9) == b"GET /"


def test_a_socket_that_the_server_has_closed_is_a_departure(pair):
    ours, _ = pair
    ours.close()
    assert watch({"gunicorn.socket": ours})()


def test_a_descriptor_above_1023_is_watched_as_well(pair):
    ours, theirs = pair
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 1100:
        pytest.skip("a hard limit of 1100 open files is missing: ulimit -Hn 1100")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1100), hard))
    os.dup2(ours.fileno(), 1090)
    try:
        with socket.socket(fileno=1090) as high:
            has_left = watch({"gunicorn.socket": high})
            assert not has_left()
            theirs.close()
            assert has_left()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_waitress_is_asked():
    assert watch({"waitress.client_disconnected": lambda: True})()


@pytest.mark.parametrize(
    "environ", [{}, {"gunicorn.socket": object()}, {"waitress.client_disconnected": None}]
)
def test_a_server_that_shows_nothing_is_never_taken_for_a_departure(environ):
    assert not watch(environ)()


def test_a_gunicorn_worker_that_was_told_to_exit_ends_its_streams(worker):
    is_over = watch({"SERVER_SOFTWARE": GUNICORN})
    assert not is_over()
    os.kill(os.getpid(), signal.SIGTERM)
    assert is_over()


def test_another_servers_signal_handler_is_nothing_to_us(worker):
    worker.alive = False
    assert not watch({"SERVER_SOFTWARE": "Werkzeug/3.1"})()


def test_a_handler_that_is_no_worker_says_nothing():
    handler = types.SimpleNamespace(stop=lambda number, frame: None).stop
    before = signal.signal(signal.SIGTERM, handler)
    try:
        assert not watch({"SERVER_SOFTWARE": GUNICORN})()
    finally:
        signal.signal(signal.SIGTERM, before)
