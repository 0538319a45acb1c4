"""Components from a renderer plugin: html for the page, data for the model, an error for anything else."""

from __future__ import annotations

import json

import pytest

from flask_litro_agent import LitroAgent, hookimpl
from flask_litro_agent.contracts import Rendered, ToolResult
from flask_litro_agent.installation import EXTENSION
from flask_litro_agent.testing import AgentClient, call
from tests.site.app import create_app
from tests.small_site import new_app, write_agent, write_tool

CARD = 'return ui("x-card", data={"city": "Lisbon"}, city="Lisbon")'


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.setenv("SITE_INSTANCE", str(tmp_path))
    return create_app()


def show_card(client, component="x-card"):
    script = [[["call", "card", {"component": component}]], [["say", "there"]]]
    return client.send(json.dumps(script))


def event_of(turn, kind):
    (event,) = (event for event in turn.events if event.kind == kind)
    return event.payload


def test_a_component_is_an_event_with_html_data_and_what_hydrates_it(site):
    payload = event_of(show_card(AgentClient(site, "desk")), "ui")
    assert {**payload, "call_id": "c"} == {
        "call_id": "c",
        "name": "card",
        "html": "<x-card>canary-html</x-card>",
        "data": {"city": "Lisbon"},
        "hydrate": {"props": {"city": "Lisbon"}},
        "text": "city: Lisbon",
    }


def test_law_8_the_model_sees_the_data_and_never_the_html(site):
    client = AgentClient(site, "desk")
    show_card(client), client.send("and again")
    requests = site.extensions[EXTENSION].providers["desk"].requests
    assert "canary-html" not in repr(requests)
    results = [
        part for message in requests[-1].messages for part in message.parts if isinstance(part, ToolResult)
    ]
    assert [result.output for result in results] == [{"city": "Lisbon"}]


def test_an_unknown_component_is_a_tool_error_that_the_model_gets(site):
    turn = show_card(AgentClient(site, "desk"), component="no-card")
    error = event_of(turn, "tool-result")["error"]
    assert error == {"code": "failed", "message": "the component 'no-card' could not be rendered"}
    assert turn.reason == "finished"


def test_without_a_renderer_a_component_is_a_tool_error_that_says_what_to_set(site, tmp_path):
    site = create_app({"LITRO_RENDERER": None})
    error = event_of(show_card(AgentClient(site, "desk")), "tool-result")["error"]
    assert error == {
        "code": "failed",
        "message": "the component 'x-card' needs a renderer: name an installed one in LITRO_RENDERER",
    }


def test_a_component_inside_another_value_is_a_tool_error(site):
    turn = AgentClient(site, "desk").send(json.dumps([[["call", "buried", {}]], [["say", "oh"]]]))
    assert event_of(turn, "tool-result")["error"]["code"] == "nested_ui"


class Odd:
    """A plugin whose renderer gives back whatever the test wants."""

    def __init__(self, answer):
        self.answer = answer

    @hookimpl
    def register_renderers(self):
        return {"odd": lambda: self}

    def render(self, component, props):
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [
        "<x-card></x-card>",
        None,
        Rendered(None),
        Rendered(b"<x-card></x-card>"),
        Rendered("\ud800"),
        Rendered("a\x00b"),
        Rendered("<x-card>", {"when": object()}),
        Rendered("<x-card>", {"size": float("nan")}),
    ],
)
def test_a_renderer_that_gives_no_component_fails_the_call_and_not_the_turn(tmp_path, answer):
    write_tool(write_agent(tmp_path), "card", CARD)
    app = new_app(tmp_path, LITRO_RENDERER="odd")
    LitroAgent(app, plugins=[Odd(answer)])
    turn = AgentClient(app, "demo", script=[call("card"), "sorry"]).send("show")
    assert turn.results == [
        {"error": {"code": "failed", "message": "the component 'x-card' could not be rendered"}}
    ]
    assert (turn.text, turn.reason) == ("sorry", "finished")


def test_a_component_without_anything_to_hydrate_has_no_such_member(tmp_path):
    write_tool(write_agent(tmp_path), "card", CARD)
    app = new_app(tmp_path, LITRO_RENDERER="odd")
    LitroAgent(app, plugins=[Odd(Rendered("<x-card></x-card>"))])
    turn = AgentClient(app, "demo", script=[call("card"), "there"]).send("show")
    assert "hydrate" not in event_of(turn, "ui")
