"""A stranger's package: built, pip-installed beside the site, found by its entry point, and kept out when told so.

Its four parts pass the same contract classes as our own.
"""

from __future__ import annotations

import datetime
import html
import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

from flask_litro_agent.contracts import (
    Actor,
    ChatRequest,
    Message,
    Policy,
    Provider,
    Rendered,
    Renderer,
    SessionStore,
    Stop,
    Text,
    ToolFacts,
)
from flask_litro_agent.testing.policies import PolicyContract
from flask_litro_agent.testing.providers import ProviderContract
from flask_litro_agent.testing.renderers import HOSTILE, RendererContract
from flask_litro_agent.testing.stores import StoreContract

Start = Callable[..., dict[str, Any]]

SOURCE = Path(__file__).parent / "plugin_package"
SITE = """
import json, sys
from flask import Flask
from flask_litro_agent import ConfigurationError, LitroAgent

app = Flask("site")
app.config.update(json.loads(sys.argv[1]), SECRET_KEY="for tests")
try:
    LitroAgent(app)
except ConfigurationError as error:
    print(json.dumps({"faults": error.faults}))
else:
    plugins = app.extensions["litro_agent"].registry.plugins
    answer = app.test_client().post(
        "/__litro/agent/demo/s1", json={"text": "two tents"}, headers={"X-Litro-Agent": "1"}
    )
    print(json.dumps({
        "plugins": {info.name: [info.distribution, info.version, *info.hooks] for info in plugins},
        "events": [json.loads(line) for line in answer.text.split("\\n") if line],
        "imported": "litro_example_plugin" in sys.modules,
    }))
"""
TOOL = """
from marshmallow import Schema
from flask_litro_agent import PUBLIC, Mode, tool, ui

@tool(description="Tents.", permission=PUBLIC, mode=Mode.READ, params=Schema)
def tents(params, ctx):
    return ui("plain-card", data={"tents": 2}, count=2, note="<b>")
"""
CALLING = """scripted(
    lambda request, turn: [say("two")] if request.messages[-1].role == "tool" else [call("tents")]
)"""
AGENT = """
from flask_litro_agent import Agent, call, say, scripted

agent = Agent(model=%s)
"""
SCRIPTED = 'scripted(lambda request, turn: [say("hello")])'


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder into which pip has built and installed the package, alone and without a network."""
    pytest.importorskip("hatchling", reason="the package is built with hatchling: pip install hatchling")
    source, target = tmp_path_factory.mktemp("source") / "package", tmp_path_factory.mktemp("target")
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index"]
    command += ["--no-deps", "--no-build-isolation", "--root-user-action=ignore", "--target", str(target)]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Give a function that starts a site in a process of its own, and asks its agent once."""

    def start(config: Mapping[str, Any], *packages: Path, model: str = SCRIPTED) -> dict[str, Any]:
        agent = tmp_path / "agents" / "demo" / "agent.py"
        agent.parent.mkdir(parents=True)
        agent.write_text(AGENT % model)
        (agent.parent / "tools").mkdir()
        (agent.parent / "tools" / "tents.py").write_text(TOOL)
        given = {"LITRO_AGENTS": str(agent.parent.parent), "LITRO_FILE_PATH": str(tmp_path / "log"), **config}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", SITE, json.dumps(given)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, packages))},
        )
        assert done.returncode == 0, done.stderr
        said: dict[str, Any] = json.loads(done.stdout)
        return said

    return start


def test_an_installed_package_is_found_by_its_entry_point(start: Start, installed: Path) -> None:
    assert start({}, installed)["plugins"]["example"] == [
        "litro-example-plugin",
        "1.2.3",
        "register_policies: hours",
        "register_providers: echo, lines",
        "register_renderers: plain",
        "register_session_stores: memory",
    ]


def test_without_the_package_there_is_no_such_plugin(start: Start) -> None:
    assert "example" not in start({})["plugins"]


def test_a_site_runs_on_what_the_package_brings(start: Start, installed: Path) -> None:
    config = {
        "LITRO_SESSION_STORE": "memory",
        "LITRO_RENDERER": "plain",
        "LITRO_POLICIES": ["permissions", "hours"],
        "LITRO_HOURS_OPENS": 8,
        "LITRO_ECHO_PREFIX": "you said: ",
    }
    events = start(config, installed, model='"echo:loud"')["events"]
    texts = [event["payload"]["text"] for event in events if event["kind"] == "text-delta"]
    assert "".join(texts).strip() == "you said: two tents"
    assert events[-1]["kind"] == "turn-end"


def test_a_site_shows_components_by_the_packages_renderer(start: Start, installed: Path) -> None:
    events = start({"LITRO_RENDERER": "plain"}, installed, model=CALLING)["events"]
    (shown,) = (event["payload"] for event in events if event["kind"] == "ui")
    rows = "<dt>count</dt><dd>2</dd><dt>note</dt><dd>&lt;b&gt;</dd>"
    assert shown["html"] == f"<plain-card><dl>{rows}</dl></plain-card>"
    assert (shown["data"], shown["text"]) == ({"tents": 2}, "tents: 2")


def test_the_setting_lets_it_in_by_name(start: Start, installed: Path) -> None:
    assert "example" in start({"LITRO_PLUGINS": ["example"]}, installed)["plugins"]


def test_an_empty_setting_keeps_it_out_unread(start: Start, installed: Path) -> None:
    said = start({"LITRO_PLUGINS": []}, installed)
    assert "example" not in said["plugins"]
    assert not said["imported"]


def test_what_is_kept_out_cannot_be_chosen_or_set(start: Start, installed: Path) -> None:
    config = {"LITRO_PLUGINS": [], "LITRO_SESSION_STORE": "memory", "LITRO_HOURS_OPENS": 8}
    assert start(config, installed)["faults"] == [
        "LITRO_HOURS_OPENS is not a setting, neither ours nor one of a plugin that loaded",
        "no session store named 'memory'; there is: file",
    ]


def test_its_factorys_own_fault_stops_the_site(start: Start, installed: Path) -> None:
    assert start({"LITRO_POLICIES": ["hours"]}, installed)["faults"] == [
        "policy 'hours' of plugin 'example' (litro-example-plugin 1.2.3) could not be made:"
        " hours only refuses; name another policy that allows, such as permissions"
    ]


def test_a_missing_setting_of_its_provider_stops_the_site(start: Start, installed: Path) -> None:
    assert start({}, installed, model='"lines:any"')["faults"] == [
        "agent demo: provider 'lines' of plugin 'example' (litro-example-plugin 1.2.3) needs LITRO_LINES_BASE_URL"
    ]


def test_a_typo_in_its_settings_stops_the_site(start: Start, installed: Path) -> None:
    assert start({"LITRO_HOURS_OPEN": 8}, installed)["faults"] == [
        "LITRO_HOURS_OPEN is not a setting of policy 'hours' of plugin 'example' (litro-example-plugin 1.2.3);"
        " there is: LITRO_HOURS_CLOSES, LITRO_HOURS_OPENS, LITRO_HOURS_UTC_OFFSET; did you mean LITRO_HOURS_OPENS?"
    ]


@pytest.fixture(scope="module")
def package() -> Iterator[ModuleType]:
    """Return the package, imported from its sources."""
    sys.path.insert(0, str(SOURCE))
    try:
        yield importlib.import_module("litro_example_plugin")
    finally:
        sys.path.remove(str(SOURCE))


class TestItsProvider(ProviderContract):
    @pytest.fixture(autouse=True)
    def lines(self, package: ModuleType) -> None:
        self.made = package.Lines

    def provider(self, url: str) -> Provider:
        made: Provider = self.made("any", base_url=url, api_key=self.key)
        return made

    def delta(self, text: str) -> bytes:
        return f"data: {json.dumps({'text': text}, ensure_ascii=False)}\n\n".encode()

    def end(self) -> bytes:
        return b"data: [DONE]\n\n"


class TestItsStore(StoreContract):
    @pytest.fixture
    def store(self, package: ModuleType) -> SessionStore:
        made: SessionStore = package.MemoryStore()
        return made

    def reopen(self, store: Any) -> SessionStore:
        again: SessionStore = type(store)(store.memory)
        return again


class TestItsPolicy(PolicyContract):
    @pytest.fixture
    def policy(self, package: ModuleType) -> Policy:
        made: Policy = package.Hours(9, 17, clock=at(12))
        return made


class TestItsRenderer(RendererContract):
    component = "plain-card"
    props: ClassVar[Mapping[str, Any]] = {"city": "Lisbon", "days": [{"summary": "sunny"}], "wind": 7}

    @pytest.fixture
    def renderer(self, package: ModuleType) -> Renderer:
        made: Renderer = package.Plain()
        return made


def at(hour: int) -> Callable[[datetime.tzinfo], datetime.datetime]:
    return lambda zone: datetime.datetime(2026, 11, 30, hour, tzinfo=zone)


@pytest.mark.parametrize(("hour", "effect"), [(8, "deny"), (9, "abstain"), (16, "abstain"), (17, "deny")])
def test_its_policy_refuses_changes_out_of_hours(package: ModuleType, hour: int, effect: str) -> None:
    tool = ToolFacts("close_order", "Closes an order.", "orders:edit", "execute")
    assert package.Hours(9, 17, clock=at(hour)).decide(Actor("7", "Ada"), tool, None).effect == effect


def test_its_provider_says_what_it_was_told(package: ModuleType) -> None:
    request = ChatRequest("", (Message("user", (Text("two tents"),)),))
    events = list(package.Echo("loud", prefix="you said: ").stream(request, Stop()))
    assert "".join(event.text for event in events[:-1]) == "you said: two tents "


class Card(RendererContract):
    component = "card"
    props: ClassVar[Mapping[str, Any]] = {"city": "Lisbon"}


class Careless:
    def __init__(self, template: str) -> None:
        self.template = template

    def render(self, component: str, props: Mapping[str, Any]) -> Rendered:
        return Rendered(self.template.format(text=props["city"], escaped=html.escape(props["city"])))


@pytest.mark.parametrize(
    "template",
    [
        "<card>{text}</card>",
        '<card city="{text}"></card>',
        "<card city='{text}'></card>",
        "<card city={escaped}></card>",
        "<card><style>{text}</style></card>",
        "<card><script>{text}</script></card>",
        "<card><!-- {text} --></card>",
    ],
)
def test_the_renderer_contract_catches_text_that_is_not_escaped(template: str) -> None:
    broken = 0
    for text in HOSTILE:
        try:
            Card().test_text_in_props_adds_no_tag_and_no_attribute(Careless(template), text)
        except AssertionError:
            broken += 1
    assert broken


def test_the_renderer_contract_lets_escaped_text_pass() -> None:
    careful = Careless('<card city="{escaped}">{escaped}</card>')
    for text in HOSTILE:
        Card().test_text_in_props_adds_no_tag_and_no_attribute(careful, text)
