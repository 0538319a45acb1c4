"""The demo's server: one process on this machine, by gevent where it is installed, else by threads."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import traceback
from pathlib import Path
from types import FrameType

from flask import Flask
from werkzeug.serving import WSGIRequestHandler, make_server

from example_app import create_app, seed
from flask_litro_agent import LitroError

try:
    import gevent
    from gevent import monkey, pywsgi
except ImportError:
    gevent = monkey = pywsgi = None  # type: ignore[assignment]  # without the gevent extra

__all__ = ["main", "serve"]

_THIS_MACHINE = ("127.0.0.1", "localhost")
_STOPPING = (signal.SIGTERM, signal.SIGINT)


def main(arguments: list[str] | None = None) -> int:
    """Serve the shop until SIGTERM or Ctrl-C; return the exit status, 1 when it ended without being asked to."""
    asked = _parser().parse_args(arguments)
    try:
        listener = _listen(asked.host, asked.port)
        app = create_app(_hosts(asked.host))
        line = _line(app, asked.host, listener.getsockname()[1])
    except (OSError, RuntimeError, LitroError) as error:
        print(error, file=sys.stderr)
        return 1
    print(line, flush=True)
    return serve(app, listener)


def serve(app: Flask, listener: socket.socket) -> int:
    """Serve until a signal; say on stderr what ended it, and return the exit status."""
    by_gevent = monkey is not None and monkey.is_module_patched("socket")
    ending = _Ending()
    try:
        (_by_gevent if by_gevent else _by_threads)(app, listener, ending)
    except SystemExit:  # gevent throws it in here, from any request, without a word
        traceback.print_exc()
    print(ending, file=sys.stderr)
    return 0 if ending.signals else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m example_app", description="Run the demo shop.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument(
        "--port", type=_port, default=8000, help="port to listen on (8000; 0 takes a free one)"
    )
    return parser


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")
    return number


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=256)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error
        raise OSError(f"Cannot listen on {host}:{port} ({reason}): choose another one with --port") from None


def _hosts(host: str) -> dict[str, tuple[str, ...]]:
    """Return the setting by which a page of a rebound name cannot reach a demo on this machine."""
    return {"LITRO_HOSTS": _THIS_MACHINE} if host in _THIS_MACHINE else {}


def _line(app: Flask, host: str, port: int) -> str:
    choice = app.config["SHOP_MODEL"]
    hint = " (set LLM_URL + LLM_MODEL or ANTHROPIC_API_KEY)" if choice.kind == "scripted" else ""
    names = ", ".join(username for username, _, _ in seed.ACCOUNTS)
    return (
        f"Shop: http://{host}:{port} · model: {choice.label}{hint}"
        f" · sign in: {names} (password {seed.PASSWORD}) · data: {_short(Path(app.instance_path))}"
    )


def _short(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


class _Ending:
    """What ends the server: the signals that came, or nothing that anybody asked for."""

    def __init__(self) -> None:
        self.signals: list[str] = []

    def __str__(self) -> str:
        if self.signals:
            return f"Stopped by {self.signals[0]}."
        return "The shop stopped, and no signal asked it to: the reason stands above."

    def note(self, number: int) -> None:
        self.signals.append(signal.Signals(number).name)


def _by_gevent(app: Flask, listener: socket.socket, ending: _Ending) -> None:
    server = pywsgi.WSGIServer(listener, app, log=None)

    def stop(number: int) -> None:
        ending.note(number)
        server.stop(timeout=2)

    for number in _STOPPING:
        gevent.signal_handler(number, stop, number)
    server.serve_forever()


def _by_threads(app: Flask, listener: socket.socket, ending: _Ending) -> None:
    host, port = listener.getsockname()[:2]
    server = make_server(host, port, app, threaded=True, request_handler=_Quiet, fd=listener.fileno())

    def stop(number: int, frame: FrameType | None) -> None:
        ending.note(number)
        raise KeyboardInterrupt  # the server takes it: it closes and returns

    for number in _STOPPING:
        signal.signal(number, stop)
    server.serve_forever()


class _Quiet(WSGIRequestHandler):
    """Writes no line for a request."""

    def log_request(self, code: object = "-", size: object = "-") -> None:
        return
