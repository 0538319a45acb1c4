"""The tools' page: what each agent can call, what it declares, and what the ceiling does to it now."""

from __future__ import annotations

import dataclasses
import html
import json

import pytest

from flask_litro_agent import Actor
from flask_litro_agent.core.ceiling import Level
from flask_litro_agent.installation import EXTENSION
from flask_litro_agent.tools import tool_contract
from flask_litro_agent.web.admin.tools import place_of
from tests.asking import site
from tests.pages import open_page
from tests.proposal_site import Browser, proposal_site

ADA = Actor("ada", "Ada", frozenset({"litro:admin"}))
PATH = "/litro/tools"


@pytest.fixture
def app(tmp_path):
    made = proposal_site(tmp_path, LITRO_FOUR_EYES=["refunds:*"])
    made.extensions["people"]["ada"] = ADA
    return made


@pytest.fixture
def ada(app):
    return Browser(app, "ada")


def desk(app):
    return app.extensions[EXTENSION].agents["desk"]


def part(page, name):
    """Return the html of one tool."""
    return page.html.split(f'<strong class="mono">{name}</strong>')[1].split('<strong class="mono">')[0]


def test_every_tool_has_its_mode_permission_and_description(ada):
    page = open_page(ada, PATH)
    assert page.status == 200
    shown = part(page, "refund")
    for words in ("propose", "refunds:edit", "refund an order.", "protected"):
        assert words in shown


def test_no_tool_that_reads_is_said_to_be_protected(tmp_path):
    tools = tmp_path / "agents" / "desk" / "tools"
    tools.mkdir(parents=True)
    (tools / "look.py").write_text(
        "from marshmallow import Schema\n"
        "from flask_litro_agent import Mode, tool\n\n"
        "@tool(description='Look.', permission='refunds:edit', mode=Mode.READ, params=Schema.from_dict({}))\n"
        "def look(params, ctx):\n    return None\n"
    )
    app = proposal_site(tmp_path)
    app.extensions["people"]["ada"] = ADA
    page = open_page(Browser(app, "ada"), PATH)
    assert "protected" in part(page, "refund"), "control"
    assert "refunds:edit" in part(page, "look")
    assert "protected" not in part(page, "look")


def test_its_contract_is_the_one_that_an_approval_relies_on(app, ada):
    assert tool_contract(desk(app).tools["refund"]) in part(open_page(ada, PATH), "refund")


def test_its_schema_stands_there_as_json(ada):
    shown = html.unescape(
        part(open_page(ada, PATH), "refund").split("<pre")[1].split(">", 1)[1].split("</pre>")[0]
    )
    assert json.loads(shown)["properties"]["order"]["type"] == "integer"


def test_what_it_declares_beside_itself_is_said_in_words(ada):
    page = open_page(ada, PATH)
    assert "Its reverse can be proposed." in part(page, "refund")
    assert "It cannot be undone." in part(page, "charge")
    assert "A proposal waits for 300 seconds at most." in part(page, "refund")
    assert "four eyes" in part(page, "refund"), "by LITRO_FOUR_EYES"


def test_its_file_is_named_from_the_agents_folder_on(app, ada, tmp_path):
    page = open_page(ada, PATH)
    assert "desk/tools/refund.py" in part(page, "refund")
    assert str(tmp_path) not in page.html


def test_a_file_elsewhere_is_named_without_its_folder(app):
    agent = desk(app)
    elsewhere = dataclasses.replace(agent.tools["refund"], source="/srv/secret/place/kits.py:7")
    assert place_of(elsewhere, agent) == "kits.py"
    assert place_of(dataclasses.replace(elsewhere, source="(no file)"), agent) == "(no file)"


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        ("site", "The model is not shown it: the site is held at read."),
        ("agent:desk", "The model is not shown it: the agent is held at read."),
        ("tool:desk.refund", "The model is not shown it: the tool itself is held at read."),
    ],
)
def test_what_the_ceiling_does_to_it_is_said_in_words(app, ada, scope, words):
    assert "The model is shown it." in part(open_page(ada, PATH), "refund")
    app.extensions[EXTENSION].books.ceiling.set(scope, Level.READ, by="ada")
    shown = part(open_page(ada, PATH), "refund")
    assert words in shown
    assert "hidden" in shown


def test_a_site_whose_tools_only_read_has_the_page_too(tmp_path):
    app = site(tmp_path)
    app.extensions[EXTENSION].identity._request_loader = lambda: ADA
    app.extensions[EXTENSION].identity._actor_loader = lambda actor_id: ADA
    page = open_page(Browser(app, "ada"), PATH)
    assert page.status == 200
    assert "everybody" in page.text


def test_somebody_who_only_approves_is_kept_out(app):
    assert open_page(Browser(app, "ops"), PATH).status == 403
