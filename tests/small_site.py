"""A site in a temporary folder: agents as files, an app to put LitroAgent on, and a way to talk to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

AGENT = """
from flask import abort, request
from flask_litro_agent import Agent, call, say, scripted

def answer(request, turn):
    last = request.messages[-1]
    if last.role == "tool":
        yield str(last.parts[0].output)
    elif last.parts[0].text.startswith("use "):
        yield call(last.parts[0].text.split()[1])
    else:
        yield {greeting!r}

agent = Agent(model={model})
"""
TOOL = """
from flask import current_app, g, has_request_context
from marshmallow import Schema, fields
from flask_litro_agent import PUBLIC, Mode, tool, ui

@tool(description="{name}.", permission={permission}, mode=Mode.{mode}, params=Schema)
def {name}(params, ctx):
    {body}
"""


def write_agent(
    folder: Path, name: str = "demo", *, model: str = "scripted(answer)", greeting: str = "hello"
) -> Path:
    """Write an agent that greets, or calls the tool that a message of the form ``use <tool>`` names."""
    agent = folder / "agents" / name
    agent.mkdir(parents=True)
    (agent / "agent.py").write_text(AGENT.format(model=model, greeting=greeting))
    return agent


def write_tool(
    agent: Path, name: str, body: str = "return 1", *, permission: str = "PUBLIC", mode: str = "READ"
) -> None:
    """Write a tool without parameters."""
    (agent / "tools").mkdir(exist_ok=True)
    source = TOOL.format(name=name, body=body, permission=permission, mode=mode)
    (agent / "tools" / f"{name}.py").write_text(source)


def new_app(folder: Path, **config: Any) -> Flask:
    """Return an app whose root and instance are in the folder, without LitroAgent."""
    app = Flask("site", root_path=str(folder), instance_path=str(folder / "instance"))
    app.config.update({"SECRET_KEY": "only for these tests", "LITRO_HOSTS": ["localhost"], **config})
    return app


def post(
    client: FlaskClient, text: str = "hi", *, agent: str = "demo", session: str = "s1", **headers: str
) -> list[dict[str, Any]]:
    """Run a turn over HTTP; return its events."""
    answer = client.post(
        f"/__litro/agent/{agent}/{session}", json={"text": text}, headers={"X-Litro-Agent": "1", **headers}
    )
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.split("\n") if line]


def said(events: list[dict[str, Any]]) -> str:
    """Return what the assistant said."""
    messages = [event["payload"] for event in events if event["kind"] == "message"]
    return "".join(message["text"] for message in messages if message["role"] == "assistant")


def outcome(events: list[dict[str, Any]]) -> Mapping[str, Any]:
    """Return the payload of the one tool result."""
    (result,) = (event["payload"] for event in events if event["kind"] == "tool-result")
    return result
