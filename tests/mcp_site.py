"""A site whose agent ``desk`` is an MCP server too, and a client of it that says exactly what it is told to say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from flask import Flask, request
from sqlalchemy import Connection

from flask_litro_agent import Actor, LitroAgent
from flask_litro_agent.core import tables
from tests.proposal_site import _AGENT, _TOOL

MODERN = "2026-07-28"
EVE = Actor("eve", "Eve", frozenset({"refunds:edit", "stock:read"}))
OPS = Actor("ops", "Olga", frozenset({"refunds:edit", "stock:read", "litro:approve", "litro:admin"}))
BOB = Actor("bob", "Bob")

_READ = """
import time
from flask import current_app
from marshmallow import Schema, fields
from flask_litro_agent import PUBLIC, AgentError, Mode, tool, ui

class Params(Schema):
    text = fields.String(metadata={{"mcp_header": "Text"}})
    number = fields.Integer(strict=True)

@tool(description="{name}.", permission={permission}, mode=Mode.READ, params=Params)
def {name}(params, ctx):
    current_app.extensions["done"].append(("{name}", params))
{body}
"""
_TOOLS = {
    "echo": ("PUBLIC", "    return params"),
    "say": ("PUBLIC", '    return params.get("text", "nothing")'),
    "stock": ('"stock:read"', '    return {"tea": 7}'),
    "show": ("PUBLIC", '    return ui("weather-card", data={"temp": 21}, title="<b>canary-html</b>")'),
    "fails": ("PUBLIC", '    raise RuntimeError("canary-secret")'),
    "count": (
        "PUBLIC",
        '    for number in range(params.get("number", 3)):\n        yield {"at": number}\n    return {"counted": True}',
    ),
    "waits": (
        "PUBLIC",
        "    yield 'waiting'\n    while not ctx.stopped:\n        time.sleep(0.01)\n"
        "    current_app.extensions['done'].append(('left', ctx.agent))\n    return 1",
    ),
}


def mcp_site(
    folder: Path, *, access: str = "", agents: tuple[str, ...] = ("desk", "other"), **config: Any
) -> Flask:
    """Return the site: agents of these names with ``mcp_server``, and ``closed`` without.

    ``app.extensions["people"]`` is what its actor_loader knows, ``["done"]`` what its tools did; ``access`` is the
    source of each agent's own check.
    """
    for name in (*agents, "closed"):
        _write_agent(folder / "agents" / name, mcp_server=name != "closed", access=access)
    app = Flask("site", root_path=str(folder), instance_path=str(folder / "instance"))
    app.config.update(SECRET_KEY="for tests", LITRO_FSYNC="never", LITRO_PROTECTED_PERMISSIONS=(), **config)
    app.extensions["done"] = []
    app.extensions["people"] = people = {person.id: person for person in (EVE, OPS, BOB)}
    litro = LitroAgent()
    litro.request_loader(lambda: people.get(request.headers.get("X-Actor", "")))
    litro.actor_loader(people.get)
    litro.init_app(app)
    return app


def _write_agent(folder: Path, *, mcp_server: bool, access: str) -> None:
    (folder / "tools").mkdir(parents=True, exist_ok=True)
    declares = f", mcp_server={mcp_server}"
    (folder / "agent.py").write_text(_AGENT.format(wakes=False, declares=declares) + access)
    (folder / "tools" / "refund.py").write_text(_TOOL.format(name="refund", more=""))
    for name, (permission, body) in _TOOLS.items():
        source = _READ.format(name=name, permission=permission, body=body)
        (folder / "tools" / f"{name}.py").write_text(source)


def empty(app: Flask) -> None:
    """Take a site back to how it was at first, whatever a test did to it."""
    app.extensions["done"].clear()
    app.extensions["people"].update({person.id: person for person in (EVE, OPS, BOB)})
    kept = (tables.audit, tables.epoch, tables.claimant)

    def work(connection: Connection) -> None:
        for table in tables.metadata.sorted_tables:
            if table not in kept:
                connection.execute(table.delete())

    app.extensions["litro_agent"].books.database.write(work)


def tokens_of(app: Flask) -> Any:
    return app.extensions["litro_agent"].books.tokens


def secret_for(
    app: Flask, actor: str = "eve", *, agent: str = "desk", name: str = "Laptop", days: int = 90
) -> str:
    """Make a token and return its secret."""
    with app.app_context():
        made = tokens_of(app).create(actor=actor, agent=agent, name=name, days=days, by="cli:test")
    return str(made.secret)


class Host:
    """An MCP host of one person; ``answer`` is the newest answer's body."""

    def __init__(
        self, app: Flask, secret: str | None = None, *, agent: str = "desk", revision: str = MODERN
    ) -> None:
        self.app = app
        self.client = app.test_client()
        self.secret = secret_for(app) if secret is None else secret
        self.url = f"/__litro/mcp/{agent}"
        self.revision = revision

    def headers(self, **more: str | None) -> dict[str, str]:
        """Return what a host sends beside its body; None takes a header away."""
        signed = {"Authorization": f"Bearer {self.secret}", "Accept": "application/json, text/event-stream"}
        chosen = {**signed, **{name.replace("_", "-"): value for name, value in more.items()}}
        return {name: value for name, value in chosen.items() if value is not None}

    def post(self, body: Any, *, query: str = "", **headers: str | None) -> Any:
        """Send these bytes, or this value, with no more headers than these."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(
            self.url + query, data=data, content_type="application/json", headers=self.headers(**headers)
        )

    def ask(self, method: str, params: dict[str, Any] | None = None, **headers: str | None) -> Any:
        """Send a request as a client of the revision does, with these headers instead of the usual ones."""
        if self.revision != MODERN:
            told: dict[str, Any] = {"MCP_Protocol_Version": self.revision}
            return self.post(_request(method, params or {}), **{**told, **headers})
        told = {"MCP_Protocol_Version": MODERN, "Mcp_Method": method}
        if method == "tools/call" and params:
            told["Mcp_Name"] = params.get("name")
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            **(params or {}).get("_meta", {}),
        }
        return self.post(_request(method, {**(params or {}), "_meta": meta}), **{**told, **headers})

    def result(self, method: str, params: dict[str, Any] | None = None, **headers: str | None) -> Any:
        """Return the result of a request that has one."""
        response = self.ask(method, params, **headers)
        assert response.status_code == 200, response.data
        return response.json["result"]

    def call(self, name: str, arguments: dict[str, Any] | None = None, **headers: str | None) -> Any:
        """Call a tool as a client does that repeats what the schema says in headers."""
        given = arguments or {}
        told = {"Mcp_Param_Text": given["text"]} if isinstance(given.get("text"), str) else {}
        return self.result("tools/call", {"name": name, "arguments": given}, **{**told, **headers})

    def names(self) -> list[str]:
        return [tool["name"] for tool in self.result("tools/list")["tools"]]


def _request(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


def messages(response: Any) -> list[dict[str, Any]]:
    """Return the messages of a stream of events."""
    lines = response.get_data(as_text=True).splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
