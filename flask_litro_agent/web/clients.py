"""Whether the client of a response is still there, where the server lets us look."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["watch"]

_KEYS = ("gunicorn.socket", "werkzeug.socket")


def watch(environ: Mapping[str, Any]) -> Callable[[], bool]:
    """Return a function that says whether the client has closed its connection; never True without knowing."""
    if environ.get("waitress.client_disconnected"):
        disconnected: Callable[[], bool] = environ["waitress.client_disconnected"]
        return disconnected
    connection = next((environ[key] for key in _KEYS if isinstance(environ.get(key), socket.socket)), None)
    if connection is None:
        return lambda: False
    return lambda: _has_left(connection)


def _has_left(connection: socket.socket) -> bool:
    try:
        readable, _, _ = select.select([connection], [], [], 0)
        return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""
    except ValueError:  # numbered too high for select: the heartbeat's failed write will tell
        return connection.fileno() < 0
    except OSError:
        return True
