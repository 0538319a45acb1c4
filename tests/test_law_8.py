"""Law 8: the model sees data, never html. A canary in every component's html is looked for wherever it could get to."""

from __future__ import annotations

import json
import logging

import pytest

from flask_litro_agent import Actor, LitroAgent, hookimpl, ui
from flask_litro_agent.contracts import Done, Rendered, TextDelta, ToolCallEvent, ToolResult
from flask_litro_agent.installation import EXTENSION
from tests.component_site import write_template
from tests.small_site import new_app, post, write_agent, write_tool

CANARY = "canary-in-html"
OPERATOR = Actor("op", "Op", frozenset({"all", "litro:approve", "litro:admin"}))
CARD = 'ui("canary-card", data={"city": "Lisbon"}, city="Lisbon", bird="prop-of-the-page")'
TOOLS = {
    "direct": f"return {CARD}",
    "stepwise": f"yield 1\n    return {CARD}",
    "nested": f'return {{"inside": {CARD}}}',
    "listed": f"return [{CARD}]",
    "broken": 'return ui("canary-card", data=1)',
    "unknown": 'return ui("no-card", data=1)',
    "hidden": f"ctx.progress({{'step': 1}})\n    return {CARD}",
}


class Listening:
    """A provider that keeps what it was asked, and calls the tool that the message names."""

    model = "listening"

    def __init__(self):
        self.asked = []

    def stream(self, request, stop):
        self.asked.append(request)
        last = request.messages[-1]
        if last.role == "user":
            yield ToolCallEvent("c", last.parts[-1].text, {})
        else:
            yield TextDelta("done")
        yield Done("stop")


class Ears:
    """The plugin that names the provider."""

    def __init__(self):
        self.heard = Listening()

    @hookimpl
    def register_providers(self):
        return {"ears": lambda model: self.heard}


@pytest.fixture
def folder(tmp_path):
    agent = write_agent(tmp_path, model='"ears:any"')
    for name, body in TOOLS.items():
        write_tool(agent, name, body)
    write_tool(agent, "change", permission="'all'", mode="PROPOSE")
    source = (agent / "tools" / "change.py").read_text()
    (agent / "tools" / "change.py").write_text(
        source.replace("@tool(", f"def preview(params, ctx):\n    return {CARD}\n\n@tool(preview=preview, ")
    )
    made = "{% set canary = 'canary-in-' ~ 'html' %}"  # so that a stack with the template's line does not have it
    write_template(
        tmp_path, "canary-card.html", f'{made}<p title="{{{{ canary }}}}">{{{{ city }}}} {{{{ bird }}}}</p>'
    )
    return tmp_path


def start(folder, actor=None):
    app, ears = new_app(folder), Ears()
    litro = LitroAgent(plugins=[ears])
    litro.request_loader(lambda: actor)
    litro.actor_loader({OPERATOR.id: OPERATOR}.get)
    litro.init_app(app)
    return app, ears.heard


def test_the_control_the_canary_is_in_what_the_browser_gets(folder):
    app, _ = start(folder)
    assert CANARY in json.dumps(post(app.test_client(), "direct"))


@pytest.mark.parametrize("tool", TOOLS)
def test_no_request_to_the_model_has_a_components_html(folder, tool):
    app, heard = start(folder)
    client = app.test_client()
    for _ in range(2):
        post(client, tool)
    assert len(heard.asked) == 4
    assert CANARY not in repr(heard.asked)
    assert "prop-of-the-page" not in repr(heard.asked)


def test_the_model_of_another_process_that_reads_the_log_gets_the_data_alone(folder):
    app, _ = start(folder)
    client = app.test_client()
    post(client, "direct")
    cookie = client.get_cookie("session")
    other, heard = start(folder)
    again = other.test_client()
    again.set_cookie("session", cookie.value)
    post(again, "direct")
    results = [
        part for message in heard.asked[0].messages for part in message.parts if isinstance(part, ToolResult)
    ]
    assert [result.output for result in results] == [{"city": "Lisbon"}]
    assert CANARY not in repr(heard.asked)


@pytest.mark.parametrize("tool", TOOLS)
def test_no_log_record_has_a_components_html(folder, tool, caplog):
    app, _ = start(folder)
    with caplog.at_level(logging.DEBUG):
        post(app.test_client(), tool)
    assert CANARY not in caplog.text


@pytest.mark.parametrize("tool", ["direct", "stepwise"])
def test_the_terminal_shows_a_components_text(folder, tool):
    app, _ = start(folder)
    shown = app.test_cli_runner().invoke(args=["litro", "chat", "demo", tool]).output
    assert "│ city: Lisbon" in shown
    assert CANARY not in shown


def test_a_proposals_preview_is_data_for_the_model_and_for_the_operator(folder):
    app, heard = start(folder, OPERATOR)
    events = post(app.test_client(), "change")
    (card,) = (event["payload"] for event in events if event["kind"] == "proposal")
    client = app.test_client()
    for path in (
        "/litro/",
        f"/litro/proposals/{card['proposal_id']}",
        f"/__litro/proposals/{card['proposal_id']}",
    ):
        shown = client.get(path)
        assert shown.status_code == 200
        assert "Lisbon" in shown.text
        assert CANARY not in shown.text
    assert CANARY not in repr(heard.asked) + json.dumps(events)


def test_an_operator_reads_a_conversation_without_html(folder):
    app, _ = start(folder, OPERATOR)
    client = app.test_client()
    post(client, "direct")
    shown = client.get("/litro/sessions/demo/s1?owner=op")
    assert shown.status_code == 200
    assert "Lisbon" in shown.text
    assert CANARY not in shown.text


def test_html_that_pretends_to_be_data_is_text_for_the_model(folder):
    """What a tool says is the site's own affair: it reaches the model as the text that it is."""
    app, _ = start(folder)
    rendered = app.extensions[EXTENSION].render(ui("canary-card", data="<b>", city="<b>", bird=""))
    assert isinstance(rendered, Rendered)
    assert rendered.text == "<b>"
    assert "<b>" not in rendered.html
