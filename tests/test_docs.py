"""The documentation says what the code does: built without a warning, and compared name by name, both ways."""

from __future__ import annotations

import dataclasses
import html
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from flask import Flask

import flask_litro_agent
from flask_litro_agent import Actor, Agent, LitroAgent, ToolContext, contracts, errors, events, hookimpl, tool
from flask_litro_agent.contracts import ProviderError, ReasoningDelta, Rendered, ToolCallEvent, Usage
from flask_litro_agent.hookspecs import __all__ as hook_names
from flask_litro_agent.registry import setting_key
from flask_litro_agent.settings import Limits, Settings
from flask_litro_agent.testing import AgentClient, call, say
from tests.doc_pages import (
    DOCS,
    PAGES,
    TABLE_OF_SETTINGS,
    first_table,
    listed,
    page,
    payloads,
    section,
    tables,
    words,
)
from tests.small_site import new_app, write_agent, write_tool

OPERATOR = Actor("ops", "Olga", frozenset({"all", "litro:approve"}))
CARDS = """
from marshmallow import Schema
from flask_litro_agent import PUBLIC, Mode, tool, ui

@tool(description="A card.", permission=PUBLIC, mode=Mode.READ, params=Schema)
def card(params, ctx):
    return ui("a-card", data=1)
"""
BUSY = """
from marshmallow import Schema
from flask_litro_agent import PUBLIC, Mode, tool

@tool(description="Shows progress.", permission=PUBLIC, mode=Mode.READ, params=Schema)
def busy(params, ctx):
    ctx.progress(1)
"""


@pytest.fixture
def app(tmp_path: Path) -> Flask:
    write_agent(tmp_path)
    app = new_app(tmp_path)
    LitroAgent(app)
    return app


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the html, built from the pages with every warning an error."""
    pytest.importorskip("sphinx", reason="the documentation is not built: pip install -e '.[docs]'")
    out = tmp_path_factory.mktemp("html")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-n",
        "-q",
        "-b",
        "html",
        "-d",
        f"{out}-trees",
    ]
    build = subprocess.run([*command, str(DOCS), str(out)], capture_output=True, text=True, timeout=300)
    assert (build.returncode, build.stderr) == (0, "")
    return out


def test_builds_without_a_warning(built: Path) -> None:
    assert {path.stem for path in built.glob("*.html")} >= set(PAGES)


def test_the_settings_page_shows_key_default_and_meaning(built: Path) -> None:
    text = html.unescape(re.sub(r"<[^>]+>", "", (built / "settings.html").read_text()))
    text = " ".join(text.split())
    for field in dataclasses.fields(Settings):
        default = list(field.default) if isinstance(field.default, tuple) else field.default
        meaning = field.metadata["meaning"].replace("`", "")
        assert f"LITRO_{field.name.upper()} {default!r} {meaning}" in text


def test_every_setting_stands_in_one_table() -> None:
    named = [name for table in TABLE_OF_SETTINGS.findall(page("settings")) for name in table.split()]
    assert sorted(named) == sorted(field.name for field in dataclasses.fields(Settings))


def test_the_limits_of_a_turn_are_those_that_an_agent_may_set() -> None:
    table = TABLE_OF_SETTINGS.search(section(page("settings"), "## What one turn may use"))
    assert table
    assert sorted(table[1].split()) == sorted(field.name for field in dataclasses.fields(Limits))


def test_every_setting_of_a_built_in_plugin(app: Flask) -> None:
    registry = app.extensions["litro_agent"].registry
    kinds = (registry.providers, registry.session_stores, registry.renderers, registry.policies)
    there = {
        setting_key(made.name, word) for kind in kinds for made in kind.values() for word in made.names()
    }
    assert set(listed(section(page("settings"), "## Settings of the built-in plugins"))) == there


def test_no_page_names_a_setting_that_does_not_exist() -> None:
    known = {f"LITRO_{field.name.upper()}" for field in dataclasses.fields(Settings)}
    known |= set(listed(section(page("settings"), "## Settings of the built-in plugins")))
    examples = {"LITRO_MAX_TRUNS", "LITRO_HOURS_OPENS", "LITRO_HOURS_CLOSES"}
    named = {word for name in PAGES for word in re.findall(r"LITRO_[A-Z_]*[A-Z]\b", page(name))}
    assert named - known == examples


def test_every_hook() -> None:
    hooks = {name for name in hook_names if name.startswith("register_")}
    assert set(listed(section(page("plugins"), "## The hooks"))) == hooks


def test_every_event_kind() -> None:
    assert set(listed(section(page("sessions"), "## Events"))) == events.KINDS


def test_the_members_of_every_payload(tmp_path: Path) -> None:
    documented = payloads()
    seen: dict[str, list[set[str]]] = {}
    for event in every_kind_of_event(tmp_path):
        seen.setdefault(event.kind, []).append(set(event.payload))
    always = {kind: set.intersection(*members) for kind, members in seen.items()}
    sometimes = {kind: set.union(*members) - always[kind] for kind, members in seen.items()}
    assert {
        kind: {name for name in names if not name.endswith("?")} for kind, names in documented.items()
    } == always
    assert {
        kind: {name[:-1] for name in names if name.endswith("?")} for kind, names in documented.items()
    } == sometimes


def every_kind_of_event(folder: Path) -> list[events.Event]:
    """Run turns in which every kind of event occurs with every member; return the session."""
    agent = write_agent(folder)
    (agent / "tools").mkdir()
    (agent / "tools" / "card.py").write_text(CARDS)
    (agent / "tools" / "busy.py").write_text(BUSY)
    (agent / "tools" / "quiet.py").write_text(
        BUSY.replace("busy", "quiet").replace("mode=", "shows='nothing', mode=")
    )
    for name in ("change", "drop"):
        write_tool(agent, name, permission="'all'", mode="PROPOSE")
    app = new_app(folder, LITRO_RENDERER="cards")
    litro = LitroAgent(plugins=[Cards()])
    litro.actor_loader({OPERATOR.id: OPERATOR}.get)
    litro.init_app(app)
    first = [ReasoningDelta("hm"), "Let me see.", call("card"), call("busy"), call("quiet"), call("none")]
    second = [
        call("card"),
        ToolCallEvent("", "busy", invalid=True, raw="{"),
        Usage(input_tokens=1, cached_tokens=1),
    ]
    script = [
        first,
        second,
        say("Done."),
        [call("change"), call("drop")],
        say("Proposed."),
        ProviderError("server", "it failed"),
    ]
    client = AgentClient(app, "demo", actor=OPERATOR, script=script)
    client.send("Go")
    client.send("Change it")
    for proposal, note in zip(client.proposals, ("no", None), strict=True):
        client.dismiss(proposal, operator=OPERATOR, note=note)
    client.send("Again")
    return client.events


class Cards:
    """Brings a renderer that hydrates every other card."""

    def __init__(self) -> None:
        self.count = 0

    @hookimpl
    def register_renderers(self) -> dict[str, Any]:
        return {"cards": lambda: self}

    def render(self, component: str, props: object) -> Rendered:
        self.count += 1
        return Rendered("<a-card></a-card>", {"props": {}} if self.count % 2 else None)


def test_every_state_of_a_settled_proposal() -> None:
    states = list(tables(section(page("sessions"), "## Events")))[1]
    assert words(row[0] for row in states) == list(events.SETTLED_STATES)


def test_every_reason_of_a_turn_end() -> None:
    reasons = list(tables(section(page("sessions"), "## Events")))[2]
    assert words(row[0] for row in reasons) == list(events.TURN_END_REASONS)


def test_every_tool_error_code() -> None:
    assert listed(section(page("errors"), "## Tool error codes")) == list(events.TOOL_ERROR_CODES)


def test_every_error_code() -> None:
    assert listed(section(page("errors"), "## Error codes")) == list(events.ERROR_CODES)


def test_every_error_over_http_with_its_status() -> None:
    rows = first_table(section(page("errors"), "## Over HTTP"))
    documented = {words([name])[0]: int(status) for name, status, _ in rows}
    kinds = {kind.__name__: kind.status for kind in _own_errors()}
    ours = {"AgentError": 503, "InternalError": 500}  # as the blueprint answers, see test_sessions_http
    assert documented == kinds | ours


def _own_errors() -> list[type[errors.AgentError]]:
    """Return the package's kinds; a site that another test has loaded has kinds of its own."""
    return [kind for kind in errors.AgentError.__subclasses__() if kind.__module__ == errors.__name__]


def test_every_error_class_and_its_bases() -> None:
    rows = first_table(section(page("errors"), "## In Python"))
    documented = {words([name])[0]: words([bases]) for name, bases, _ in rows}
    kinds = {kind.__name__ for kind in _own_errors()}
    assert documented == {
        name: [base.__name__ for base in getattr(errors, name).__bases__]
        for name in set(errors.__all__) - kinds
    }


@pytest.mark.parametrize("module", ["flask_litro_agent", "flask_litro_agent.testing"])
def test_every_public_name(module: str) -> None:
    documented = listed(section(page("api"), f"## {module}"))
    assert sorted(documented) == sorted(importlib.import_module(module).__all__)


def test_every_name_of_the_contracts() -> None:
    rows = first_table(section(page("api"), "## flask_litro_agent.contracts"))
    assert sorted(words(row[1] for row in rows)) == sorted(contracts.__all__)


def test_every_method_of_the_extension() -> None:
    documented = [word.split("(")[0] for word in listed(section(page("api"), "## LitroAgent"))]
    assert sorted(documented) == sorted(name for name in vars(LitroAgent) if not name.startswith("_"))


def test_the_methods_arguments_are_those_of_the_code() -> None:
    for word in listed(section(page("api"), "## LitroAgent")):
        name, _, arguments = word.rstrip(")").partition("(")
        given = [argument.strip() for argument in arguments.split(",") if argument]
        assert given == list(inspect.signature(getattr(LitroAgent, name)).parameters)[1:]


def test_every_argument_of_an_agent() -> None:
    documented = listed(section(page("agents"), "## The agent"))
    assert documented == [field.name for field in dataclasses.fields(Agent)]


def test_every_argument_of_a_tool() -> None:
    assert listed(section(page("agents"), "## A tool")) == list(inspect.signature(tool).parameters)


def test_everything_that_a_tool_is_handed() -> None:
    documented = {word.split("(")[0] for word in listed(section(page("agents"), "### Where it runs"))}
    assert documented == {name for name in dir(ToolContext) if not name.startswith("_")} - {"report"}


def test_every_route(app: Flask) -> None:
    rows = words(row[0] for row in first_table(section(page("sessions"), "## Routes")))
    there = {
        f"{method} {rule.rule}"
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.endpoint.startswith("litro.")
    }
    assert set(rows) == there


def test_every_export_of_the_client_and_every_method_of_its_session() -> None:
    script = (Path(flask_litro_agent.__file__).parent / "static" / "litro_agent" / "litro.js").read_text()
    exported = set(re.findall(r"^export (?:async )?(?:function|class) (\w+)", script, re.MULTILINE))
    exported |= {
        name
        for names in re.findall(r"^export \{([^}]+)\}", script, re.MULTILINE)
        for name in names.split(", ")
    }
    session = script[script.index("class AgentSession") : script.index("class Cursor")]
    methods = set(re.findall(r"^  (?:async )?(?:get )?([a-z]\w*)\(.*\) \{$", session, re.MULTILINE)) - {
        "constructor"
    }
    terms = re.findall(r"^(`.*)\n: ", page("client"), re.MULTILINE)
    documented = {word.split("(")[0] for word in words(terms)}
    assert {name.strip() for name in exported} | methods | {"turn"} == documented | {"agentSession"}


def test_every_command_and_every_option(app: Flask) -> None:
    group = app.cli.commands["litro"]
    assert isinstance(group, click.Group)
    named = re.findall(r"^## flask litro ([\w ]+)$", page("cli"), re.MULTILINE)
    there = dict(commands_of(group))
    assert sorted(named) == sorted(there)
    for name, command in there.items():
        text = section(page("cli"), f"## flask litro {name}")
        options = {word for parameter in command.params for word in parameter.opts if word.startswith("--")}
        assert set(re.findall(r"--[a-z]+", text)) == options
        arguments = [
            parameter.name.upper() for parameter in command.params if isinstance(parameter, click.Argument)
        ]
        usage = next(line for line in text.splitlines() if line.startswith("flask litro"))
        usage_without_options = re.sub(r"\[--.*?\]|--\w+ [A-Z]+", "", usage)
        assert re.findall(r"\b[A-Z_]+\b", usage_without_options) == arguments


def commands_of(group: click.Group, above: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield every command by its whole name, such as ``audit head``."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands_of(command, f"{above}{name} ")
        else:
            yield f"{above}{name}", command


def test_no_page_names_a_command_that_does_not_exist(app: Flask) -> None:
    group = app.cli.commands["litro"]
    assert isinstance(group, click.Group)
    named = {word for name in PAGES for word in re.findall(r"(?<!`)flask litro (\w+)", page(name))}
    assert named <= set(group.commands) | {"looks"}
