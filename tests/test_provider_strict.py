"""Strict calls: what is asked for on the wire, and what a strict answer becomes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import responses
from marshmallow import Schema, fields, validate

from flask_litro_agent import LitroAgent
from flask_litro_agent.contracts import ChatRequest, Options, Provider, ToolSpec
from flask_litro_agent.providers.anthropic import anthropic
from flask_litro_agent.providers.openai_compatible import openai_compatible
from flask_litro_agent.schemas import json_schema
from flask_litro_agent.testing import AgentClient
from flask_litro_agent.testing.providers import collect, question
from flask_litro_agent.testing.upstream import Upstream
from tests.small_site import new_app, write_agent


class City(Schema):
    name = fields.String(required=True, validate=validate.Length(1, 80))
    days = fields.Integer(load_default=1)


class Anything(Schema):
    filter = fields.Dict()


TOOLS = tuple(ToolSpec(schema.__name__, "", json_schema(schema()).document) for schema in (City, Anything))


def declared(provider: type[Any] | Any, **options: Any) -> dict[str, Any]:
    """Return the tools of a request as they went out, by name."""
    with Upstream() as upstream:
        asked: Provider = provider("demo", base_url=upstream.url, api_key="k", **options)
        collect(asked, ChatRequest("", question().messages, TOOLS, Options(idle_seconds=10)))
    tools = [tool.get("function", tool) for tool in upstream.requests[0].json["tools"]]
    return {tool["name"]: tool for tool in tools}


def test_openai_gets_the_strict_form_where_there_is_one() -> None:
    sent = declared(openai_compatible, strict_tools=True)

    assert sent["City"]["strict"] is True
    assert sent["City"]["parameters"] == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "At least 1 characters. At most 80 characters."},
            "days": {"type": ["integer", "null"], "description": "Default: 1."},
        },
        "required": ["name", "days"],
        "additionalProperties": False,
    }


def test_openai_gets_the_plain_document_of_a_tool_that_cannot_be_strict() -> None:
    sent = declared(openai_compatible, strict_tools=True)

    assert sent["Anything"]["strict"] is False
    assert sent["Anything"]["parameters"] == json_schema(Anything()).document


def test_anthropic_gets_the_strict_form_where_there_is_one() -> None:
    sent = declared(anthropic, strict_tools=True)

    assert sent["City"]["strict"] is True
    assert sent["City"]["input_schema"] == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "At least 1 characters. At most 80 characters."},
            "days": {"type": "integer", "default": 1},
        },
        "required": ["name"],
        "additionalProperties": False,
    }


def test_anthropic_gets_the_plain_document_of_a_tool_that_cannot_be_strict() -> None:
    sent = declared(anthropic, strict_tools=True)

    assert "strict" not in sent["Anything"]
    assert sent["Anything"]["input_schema"] == json_schema(Anything()).document


@pytest.mark.parametrize("provider", [openai_compatible, anthropic])
def test_nobody_hears_of_strict_who_was_not_asked_to(provider: Any) -> None:
    sent = declared(provider)

    assert all("strict" not in tool for tool in sent.values())
    assert json_schema(City()).document in sent["City"].values()


FORECAST = """
from marshmallow import Schema, fields
from flask_litro_agent import PUBLIC, Mode, tool

class Params(Schema):
    city = fields.String(required=True)
    days = fields.Integer(load_default=3)
    note = fields.String(allow_none=True)
    units = fields.String()

@tool(description="Forecast.", permission=PUBLIC, mode=Mode.READ, params=Params)
def forecast(params, ctx):
    return params
"""


def answer(*deltas: dict[str, Any], finish: str) -> bytes:
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    lines = [b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n" for choice in choices]
    return b"".join([*lines, b"data: [DONE]\n\n"])


@responses.activate
def test_a_strict_answers_nulls_reach_the_tool_as_left_out(tmp_path: Path) -> None:
    """From the setting by the wire to the tool: nulls are dropped, except where null is a value."""
    agent = write_agent(tmp_path, model='"openai:demo"')
    (agent / "tools").mkdir()
    (agent / "tools" / "forecast.py").write_text(FORECAST)
    url = "http://llm.invalid/v1"
    app = new_app(
        tmp_path, LITRO_OPENAI_BASE_URL=url, LITRO_OPENAI_API_KEY="k", LITRO_OPENAI_STRICT_TOOLS=True
    )
    LitroAgent(app)
    arguments = json.dumps({"city": "Oslo", "days": None, "note": None, "units": None})
    call = {"index": 0, "id": "c1", "function": {"name": "forecast", "arguments": arguments}}
    for said in (
        answer({"tool_calls": [call]}, finish="tool_calls"),
        answer({"content": "Sunny."}, finish="stop"),
    ):
        responses.add("POST", f"{url}/chat/completions", body=said, content_type="text/event-stream")

    turn = AgentClient(app, "demo").send("Oslo?")

    assert turn.results == [{"city": "Oslo", "days": 3, "note": None}]
    assert turn.text == "Sunny."
    (asked,) = json.loads(responses.calls[0].request.body)["tools"]
    assert asked["function"]["strict"] is True
