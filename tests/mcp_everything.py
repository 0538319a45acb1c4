"""A server with the tools that the official conformance suite asks for, and that the suite may enter without a token.

The suite cannot send a header of ours, so that what stands in front of the site adds the token, as a gateway would.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flask import Flask
from werkzeug.serving import make_server

from tests.mcp_site import mcp_site, secret_for

__all__ = ["open_server", "serving"]

_HEAD = """
import time
from marshmallow import Schema, fields, validate
from flask_litro_agent import PUBLIC, AgentError, Mode, tool

class address(Schema):
    street = fields.String()
    city = fields.String()

class Contact(Schema):
    name = fields.String()
    address = fields.Nested(address)
    contactMethod = fields.String(validate=validate.OneOf(["phone", "email"]))

"""
_TOOL = """
@tool(description="{name}.", permission=PUBLIC, mode=Mode.READ, params={params})
def {name}(params, ctx):
{body}
"""
_PROGRESS = "    for part in (0, 50, 100):\n        yield {'part': part}\n    return 'done'"
_TOOLS = {
    "test_simple_text": ("Schema", "    return 'This is a simple text response for testing.'"),
    "test_error_handling": (
        "Schema",
        "    raise AgentError('This tool intentionally returns an error for testing')",
    ),
    "test_tool_with_progress": ("Schema", _PROGRESS),
    "test_streaming_elicitation": ("Schema", _PROGRESS),
    "test_logging_tool": ("Schema", "    return 'nothing is logged to a client'"),
    "json_schema_2020_12_tool": ("Contact", "    return params"),
}


def everything(folder: Path, *, origin: str) -> Flask:
    """Return the site; a page of this origin may call it."""
    _write_tools(folder / "agents" / "desk" / "tools")
    return mcp_site(folder, agents=("desk",), LITRO_HOSTS=["127.0.0.1"], LITRO_MCP_ORIGINS=[origin])


def _write_tools(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, (params, body) in _TOOLS.items():
        source = _HEAD + _TOOL.format(name=name, params=params, body=body)
        (folder / f"{name}.py").write_text(source)


class _Gateway:
    """Adds the token to a request that has none."""

    def __init__(self) -> None:
        self._app: Flask | None = None
        self._secret = ""

    def open(self, app: Flask) -> None:
        """Lead to this site from now on."""
        self._secret = secret_for(app)
        self._app = app

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        assert self._app is not None
        environ.setdefault("HTTP_AUTHORIZATION", f"Bearer {self._secret}")
        return self._app.wsgi_app(environ, start_response)


@contextlib.contextmanager
def serving(app: Any) -> Iterator[str]:
    """Serve the app on a free port, each request in a thread of its own, and give the address."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def open_server(folder: Path) -> Iterator[str]:
    """Serve that site behind its gateway, and give the endpoint's address."""
    gateway = _Gateway()
    with serving(gateway) as address:
        gateway.open(everything(folder, origin=address))
        yield f"{address}/__litro/mcp/desk"
