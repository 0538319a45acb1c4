"""The documentation says what the code does: built without a warning, compared name by name, its examples run."""

from __future__ import annotations

import ast
import dataclasses
import html
import importlib
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from flask import Flask, render_template

import flask_litro_agent
from flask_litro_agent import (
    Agent,
    LitroAgent,
    ToolContext,
    contracts,
    errors,
    events,
    hookimpl,
    strict_json,
    tool,
)
from flask_litro_agent.contracts import ProviderError, ReasoningDelta, Rendered, ToolCallEvent, Usage
from flask_litro_agent.hookspecs import __all__ as hook_names
from flask_litro_agent.registry import setting_key
from flask_litro_agent.settings import Limits, Settings
from flask_litro_agent.testing import AgentClient, call, say
from tests.small_site import new_app, write_agent

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted(path.stem for path in DOCS.glob("*.md"))

_CODE = re.compile(r"`([^`]+)`")
_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"(?:#|<!--) file: (\S+)")
_TABLE_OF_SETTINGS = re.compile(r"^```\{settings-table\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)

APP = """
from flask import Flask
from flask_litro_agent import LitroAgent

def create_app(config=None):
    app = Flask(__name__)
    app.config.update(SECRET_KEY="for tests", **(config or {}))
    LitroAgent(app)
    return app
"""
TURN = """
from app import create_app
from flask_litro_agent.testing import AgentClient

def test_every_agent_answers(tmp_path):
    app = create_app({"LITRO_FILE_PATH": str(tmp_path)})
    for name in app.extensions["litro_agent"].agents:
        assert AgentClient(app, name).send("Hello there").reason == "finished"
"""
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


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text()


def section(text: str, heading: str) -> str:
    """Return what stands below a heading, up to the next one of its level or above."""
    level = heading.split(" ")[0]
    above = "|".join("#" * count for count in range(1, len(level) + 1))
    until = rf"(?=^(?:{above}) (?!file:)|\Z)"
    match = re.search(rf"^{re.escape(heading)}\n(.*?){until}", text, re.DOTALL | re.MULTILINE)
    assert match, f"no heading {heading!r}"
    return match[1]


def tables(text: str) -> Iterator[list[list[str]]]:
    """Yield every table as rows of cells, without its head."""
    for block in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        yield rows[2:]


def first_table(text: str) -> list[list[str]]:
    return next(tables(text))


def words(cells: Iterable[str]) -> list[str]:
    return [word for cell in cells for word in _CODE.findall(cell)]


def listed(text: str) -> list[str]:
    """Return the code words in the first column of the first table."""
    return words(row[0] for row in first_table(text))


def blocks(*languages: str) -> list[tuple[str, str, str]]:
    """Return (page, language, text) of every block in these languages."""
    found = [(name, match) for name in PAGES for match in _BLOCK.finditer(page(name))]
    return [
        (name, match["language"], match["text"]) for name, match in found if match["language"] in languages
    ]


def files(name: str) -> dict[str, str]:
    """Return the files that a page's blocks give, by path."""
    given = [(_FILE.match(text), text) for where, _, text in blocks("python", "html") if where == name]
    return {match[1]: text for match, text in given if match}


@pytest.fixture
def app(tmp_path: Path) -> Flask:
    write_agent(tmp_path)
    app = new_app(tmp_path)
    LitroAgent(app)
    return app


# --- built ---


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


# --- compared with the code, both ways ---


def test_every_setting_stands_in_one_table() -> None:
    named = [name for table in _TABLE_OF_SETTINGS.findall(page("settings")) for name in table.split()]
    assert sorted(named) == sorted(field.name for field in dataclasses.fields(Settings))


def test_the_limits_of_a_turn_are_those_that_an_agent_may_set() -> None:
    table = _TABLE_OF_SETTINGS.search(section(page("settings"), "## What one turn may use"))
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
    documented = {words([kind])[0]: words([payload]) for kind, payload, _ in first_table(page_of_events())}
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


def page_of_events() -> str:
    return section(page("sessions"), "## Events")


def every_kind_of_event(folder: Path) -> list[events.Event]:
    """Run turns in which every kind of event occurs with every member; return the session."""
    agent = write_agent(folder)
    (agent / "tools").mkdir()
    (agent / "tools" / "card.py").write_text(CARDS)
    (agent / "tools" / "busy.py").write_text(BUSY)
    (agent / "tools" / "quiet.py").write_text(
        BUSY.replace("busy", "quiet").replace("mode=", "shows='nothing', mode=")
    )
    app = new_app(folder, LITRO_RENDERER="cards")
    LitroAgent(app, plugins=[Cards()])
    first = [ReasoningDelta("hm"), "Let me see.", call("card"), call("busy"), call("quiet"), call("none")]
    second = [
        call("card"),
        ToolCallEvent("", "busy", invalid=True, raw="{"),
        Usage(input_tokens=1, cached_tokens=1),
    ]
    client = AgentClient(
        app, "demo", script=[first, second, say("Done."), ProviderError("server", "it failed")]
    )
    client.send("Go")
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


def test_every_reason_of_a_turn_end() -> None:
    reasons = list(tables(page_of_events()))[1]
    assert words(row[0] for row in reasons) == list(events.TURN_END_REASONS)


def test_every_tool_error_code() -> None:
    assert listed(section(page("errors"), "## Tool error codes")) == list(events.TOOL_ERROR_CODES)


def test_every_error_code() -> None:
    assert listed(section(page("errors"), "## Error codes")) == list(events.ERROR_CODES)


def test_every_error_over_http_with_its_status() -> None:
    rows = first_table(section(page("errors"), "## Over HTTP"))
    documented = {words([name])[0]: int(status) for name, status, _ in rows}
    kinds = {kind.__name__: kind.status for kind in errors.AgentError.__subclasses__()}
    ours = {"AgentError": 503, "InternalError": 500}  # as the blueprint answers, see test_sessions_http
    assert documented == kinds | ours


def test_every_error_class_and_its_bases() -> None:
    rows = first_table(section(page("errors"), "## In Python"))
    documented = {words([name])[0]: words([bases]) for name, bases, _ in rows}
    kinds = {kind.__name__ for kind in errors.AgentError.__subclasses__()}
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


def test_every_command_and_every_option(app: Flask) -> None:
    group = app.cli.commands["litro"]
    assert isinstance(group, click.Group)
    named = re.findall(r"^## flask litro (\w+)$", page("cli"), re.MULTILINE)
    assert sorted(named) == sorted(group.commands)
    for name, command in group.commands.items():
        text = section(page("cli"), f"## flask litro {name}")
        options = {word for parameter in command.params for word in parameter.opts if word.startswith("--")}
        assert set(re.findall(r"--[a-z]+", text)) == options
        arguments = [
            parameter.name.upper() for parameter in command.params if isinstance(parameter, click.Argument)
        ]
        usage = next(line for line in text.splitlines() if line.startswith("flask litro"))
        usage_without_options = re.sub(r"\[--.*?\]", "", usage)
        assert re.findall(r"\b[A-Z_]+\b", usage_without_options) == arguments


def test_no_page_names_a_command_that_does_not_exist(app: Flask) -> None:
    group = app.cli.commands["litro"]
    assert isinstance(group, click.Group)
    named = {word for name in PAGES for word in re.findall(r"(?<!`)flask litro (\w+)", page(name))}
    assert named <= set(group.commands) | {"looks"}


# --- examples ---


def test_every_event_in_an_example_is_one() -> None:
    documented = {words([kind])[0]: words([payload]) for kind, payload, _ in first_table(page_of_events())}
    lines = [line for _, _, text in blocks("json") for line in text.splitlines() if line.startswith('{"seq"')]
    assert lines
    for line in lines:
        event = events.decode(line.encode())
        assert events.encode(event.seq, event.ts, event.kind, event.payload) == f"{line}\n".encode()
        assert set(event.payload) <= {name.rstrip("?") for name in documented[event.kind]}


def test_every_json_example_is_json() -> None:
    for _, _, text in blocks("json"):
        for line in text.splitlines():
            strict_json.decode(line)


@pytest.mark.parametrize("name", sorted({where for where, _, _ in blocks("python")}))
def test_every_python_example_compiles_and_imports_what_there_is(name: str) -> None:
    for _, _, text in (block for block in blocks("python") if block[0] == name):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("flask_litro_agent"):
                module = importlib.import_module(str(node.module))
                assert {alias.name for alias in node.names} <= set(dir(module)) | set(
                    flask_litro_agent.__all__
                )


@pytest.mark.parametrize("name", [name for name in PAGES if files(name)])
def test_the_examples_of_a_page_run(name: str, tmp_path: Path) -> None:
    given = files(name)
    given.setdefault("app.py", APP)
    if not any(path.startswith("tests/") for path in given):
        given["tests/test_turn.py"] = TURN
    write(tmp_path, given)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-W",
        "error",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        ".",
        "tests",
    ]
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "LITRO_"))
    }
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_page_of_the_quickstart_finds_the_client(tmp_path: Path) -> None:
    write(tmp_path, files("quickstart"))
    app = new_app(tmp_path)
    LitroAgent(app)
    app.add_url_rule("/", "chat", lambda: render_template("chat.html"))
    browser = app.test_client()
    match = re.search(r'from "(/[^"]+)"', browser.get("/").get_data(as_text=True))
    assert match
    with browser.get(match[1]) as answer:
        assert answer.status_code == 200


def write(folder: Path, given: dict[str, str]) -> None:
    for path, text in given.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
