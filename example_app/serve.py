"""The demo's server: one process on this machine, by gevent where it is installed, else by threads."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from pathlib import Path

from flask import Flask
from werkzeug.serving import WSGIRequestHandler, make_server

from example_app import create_app, seed
from flask_litro_agent import LitroError

try:
    import gevent
    from gevent import monkey, pywsgi
except ImportError:
    gevent = monkey = pywsgi = None  # type: ignore[assignment]  # without the gevent extra

__all__ = ["main"]

_THIS_MACHINE = ("127.0.0.1", "localhost")


def main(arguments: list[str] | None = None) -> int:
    """Serve the shop until SIGTERM or Ctrl-C; return the exit status."""
    asked = _parser().parse_args(arguments)
    try:
        listener = _listen(asked.host, asked.port)
        app = create_app(_hosts(asked.host))
        line = _line(app, asked.host, listener.getsockname()[1])
    except (OSError, RuntimeError, LitroError) as error:
        print(error, file=sys.stderr)
        return 1
    print(line, flush=True)
    _serve_until_stopped(app, listener)
    return 0


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


def _serve_until_stopped(app: Flask, listener: socket.socket) -> None:
    if monkey is not None and monkey.is_module_patched("socket"):
        _by_gevent(app, listener)
    else:
        _by_threads(app, listener)


def _by_gevent(app: Flask, listener: socket.socket) -> None:
    server = pywsgi.WSGIServer(listener, app, log=None)
    for number in (signal.SIGTERM, signal.SIGINT):
        gevent.signal_handler(number, server.stop, timeout=2)
    server.serve_forever()


def _by_threads(app: Flask, listener: socket.socket) -> None:
    host, port = listener.getsockname()[:2]
    server = make_server(host, port, app, threaded=True, request_handler=_Quiet, fd=listener.fileno())
    # the server takes SIGTERM as it takes Ctrl-C: it closes and returns
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    server.serve_forever()


class _Quiet(WSGIRequestHandler):
    """Writes no line for a request."""

    def log_request(self, code: object = "-", size: object = "-") -> None:
        return
