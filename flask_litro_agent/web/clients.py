"""Whether a response still has a reader and a server, where the server lets us look.

A stream that is silent never learns from WSGI that its client left, nor that its process was told to exit.
"""

from __future__ import annotations

import select
import signal
import socket
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["watch"]

_KEYS = ("gunicorn.socket", "werkzeug.socket")


def watch(environ: Mapping[str, Any]) -> Callable[[], bool]:
    """Return a function that says whether to send no more; never True without knowing.

    It is True when the client has closed its connection, and when the gunicorn worker was told to exit: that would
    wait for the stream, and be killed for it before the turns have had their grace.
    """
    has_left = _departure(environ)
    if not str(environ.get("SERVER_SOFTWARE", "")).startswith("gunicorn"):
        return has_left
    return lambda: has_left() or _worker_is_ending()


def _departure(environ: Mapping[str, Any]) -> Callable[[], bool]:
    if environ.get("waitress.client_disconnected"):
        disconnected: Callable[[], bool] = environ["waitress.client_disconnected"]
        return disconnected
    connection = next((environ[key] for key in _KEYS if isinstance(environ.get(key), socket.socket)), None)
    if connection is None:
        return lambda: False
    return lambda: _has_left(connection)


def _has_left(connection: socket.socket) -> bool:
    try:
        poll = select.poll()  # select() refuses descriptors above 1023
        poll.register(connection, select.POLLIN)
        return bool(poll.poll(0)) and connection.recv(1, socket.MSG_PEEK) == b""
    except ValueError:  # closed, or a TLS socket, which cannot peek: the heartbeat's failed write will tell
        return connection.fileno() < 0
    except OSError:
        return True


def _worker_is_ending() -> bool:
    # a gunicorn worker tells nobody, but its SIGTERM handler is a method of it
    worker = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    return getattr(worker, "alive", True) is False
