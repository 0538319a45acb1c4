"""Start-up: every fault in one error, what is chosen and made, and what is warned about."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from flask import current_app

from flask_litro_agent import Actor, ConfigurationError, LitroAgent, Verdict, hookimpl
from flask_litro_agent.installation import EXTENSION
from flask_litro_agent.sessions.file import FileStore
from tests.small_site import new_app, post, said, write_agent, write_tool


@pytest.fixture
def site(tmp_path):
    write_agent(tmp_path)
    return tmp_path


def start(folder, *, plugins=(), session_store=None, **config):
    app = new_app(folder, **config)
    LitroAgent(app, plugins=plugins, session_store=session_store)
    return app.extensions[EXTENSION]


def faults(folder, **options):
    with pytest.raises(ConfigurationError) as caught:
        start(folder, **options)
    return caught.value.faults


class Broken:
    """A site's plugin whose every factory raises."""

    @hookimpl
    def register_session_stores(self):
        return {"sad": self._fail}

    @hookimpl
    def register_policies(self):
        return {"stern": self._fail, "grim": self._fail}

    @hookimpl
    def register_renderers(self):
        return {"dull": self._fail}

    @hookimpl
    def register_providers(self):
        return {"mute": lambda model: self._fail()}

    def _fail(self):
        raise ConfigurationError("it is not to be")


def test_every_fault_of_every_part_is_in_one_error(tmp_path):
    write_tool(
        write_agent(tmp_path, "sound", model="'mute:one'"), "pay", permission="'money'", mode="EXECUTE"
    )
    write_agent(tmp_path, "lost", model="'nowhere:model'")
    (write_agent(tmp_path, "torn") / "agent.py").write_text("agent = ")
    found = "\n".join(
        faults(
            tmp_path,
            plugins=[Broken(), object()],
            LITRO_MAX_ROUNDS=0,
            LITRO_FSINC="turn",
            LITRO_SESSION_STORE="sad",
            LITRO_RENDERER="dull",
            LITRO_POLICIES=["stern", "grim", "missing"],
        )
    )
    for expected in (
        "LITRO_MAX_ROUNDS must be a whole number from 1 to 1000, not 0",
        "LITRO_FSINC is not a setting, neither ours nor one of a plugin that loaded; did you mean LITRO_FSYNC?",
        "registers nothing; the hooks are:",
        "agents/torn/agent.py:1",
        "agent sound: provider 'mute'",
        "agent lost: no provider named 'nowhere'; there is: anthropic, mute, ollama, openai",
        "LITRO_PROTECTED_PERMISSIONS must be set, because a tool has Mode.EXECUTE",
        "register an actor_loader",
        "policy 'stern'",
        "policy 'grim'",
        "no policy named 'missing'; there is: grim, permissions, stern",
        "renderer 'dull'",
        "session store 'sad'",
    ):
        assert expected in found


def test_no_fault_is_told_twice(site):
    found = faults(site, LITRO_SESSION_STORE="reddis", LITRO_POLICIES=["permision"], LITRO_RENDERER="jinjer")
    assert len(found) == len(set(found)) == 3


def test_faults_of_an_apps_settings_do_not_hide_a_missing_agents_folder(tmp_path):
    found = faults(tmp_path, LITRO_MAX_ROUNDS=0)
    assert [fault.split()[0] for fault in found] == ["LITRO_MAX_ROUNDS", "no"]


def test_an_agents_folder_that_is_not_there_is_named(site):
    (fault,) = faults(site, LITRO_AGENTS="nowhere")
    assert fault == f"LITRO_AGENTS: there is no folder {site / 'nowhere'}"


def test_an_agent_whose_model_nobody_provides_does_not_start(tmp_path):
    write_agent(tmp_path, model="'gemini:pro'")
    (fault,) = faults(tmp_path)
    assert fault == "agent demo: no provider named 'gemini'; there is: anthropic, ollama, openai"


def test_an_agents_model_may_name_a_registered_provider(tmp_path):
    write_agent(tmp_path, model="'openai:gpt-5-mini'")
    assert start(tmp_path).providers["demo"].model == "gpt-5-mini"


LOST = """
from marshmallow import Schema, fields
from flask_litro_agent import PUBLIC, Mode, tool

class Params(Schema):
    order = fields.Nested("NoSuchSchemaAnywhere")

@tool(description="Looks.", permission=PUBLIC, mode=Mode.READ, params=Params)
def look(params, ctx):
    return 1
"""
KNOWING = """
from flask import current_app
from marshmallow import Schema, fields
from flask_litro_agent import PUBLIC, Mode, tool

class Params(Schema):
    order = fields.Nested(lambda: Schema.from_dict({current_app.config["FIELD"]: fields.String()}))

@tool(description="Looks.", permission=PUBLIC, mode=Mode.READ, params=Params)
def look(params, ctx):
    return 1
"""


def write_look(site, source):
    tools = site / "agents" / "demo" / "tools"
    tools.mkdir()
    (tools / "look.py").write_text(source)


def test_a_tool_whose_parameters_no_model_can_be_told_does_not_start(site):
    write_look(site, LOST)
    (fault,) = faults(site)
    assert fault.startswith(f"agent demo, tool look ({site / 'agents' / 'demo' / 'tools' / 'look.py'}:8): ")
    assert "'NoSuchSchemaAnywhere' was not found" in fault


def test_a_schema_may_ask_the_app_while_it_is_written_down(site):
    write_look(site, KNOWING)
    assert start(site, FIELD="number").agents["demo"].tools.keys() == {"look"}


def test_a_store_that_is_handed_over_is_used(site, tmp_path):
    store = FileStore(tmp_path / "elsewhere")
    installed = start(site, session_store=store)
    assert installed.store is store
    assert ("store", ["FileStore (session_store=)"]) in installed.report.sections


def test_a_store_that_counts_as_false_is_used_all_the_same(site, tmp_path):
    class Empty(FileStore):
        def __len__(self):
            return 0

    store = Empty(tmp_path / "elsewhere")
    app = new_app(site)
    LitroAgent(app, session_store=store)
    assert said(post(app.test_client())) == "hello"
    assert app.extensions[EXTENSION].store is store


@pytest.mark.parametrize(("given", "named"), [(FileStore, "the class FileStore"), ("file", "str")])
def test_what_is_no_store_is_refused(site, given, named):
    (fault,) = faults(site, session_store=given)
    assert fault == f"session_store= takes a session store (contracts.SessionStore), not {named}"


def test_an_agents_limits_are_its_own(tmp_path):
    source = (
        "from flask_litro_agent import Agent, scripted\nagent = Agent(model=scripted(str), limits={limits})"
    )
    for name, limits in (("short", "{'max_rounds': 2}"), ("plain", "{}")):
        (write_agent(tmp_path, name) / "agent.py").write_text(source.format(limits=limits))
    limits = start(tmp_path, LITRO_MAX_ROUNDS=7).limits
    assert (limits["short"].max_rounds, limits["plain"].max_rounds) == (2, 7)


def test_a_sound_site_starts_without_a_warning(site):
    assert start(site).report.warnings == ()


@pytest.mark.parametrize(
    ("config", "warning"),
    [
        ({"SECRET_KEY": None}, "SECRET_KEY is not set"),
        ({"LITRO_HOSTS": None}, "LITRO_HOSTS is not set"),
        ({"LITRO_POLICIES": []}, "LITRO_POLICIES is empty"),
    ],
)
def test_what_a_site_should_set_is_warned_about(site, config, warning):
    (warned,) = start(site, **config).report.warnings
    assert warned.startswith(warning)


def test_flasks_own_list_of_hosts_will_do(site):
    assert start(site, LITRO_HOSTS=None, TRUSTED_HOSTS=["shop.example"]).report.warnings == ()


@pytest.mark.parametrize(
    ("patched", "wait", "warned"), [(True, "wait_c", True), (True, "wait", False), (False, "wait_c", False)]
)
def test_a_psycopg_that_blocks_gevent_is_warned_about(site, monkeypatch, patched, wait, warned):
    """psycopg chooses its wait when it is imported: in C before gevent patched, in Python after."""
    monkey = SimpleNamespace(is_module_patched=lambda module: patched)
    waiting = SimpleNamespace(wait=SimpleNamespace(__name__=wait))
    monkeypatch.setitem(sys.modules, "gevent.monkey", monkey)
    monkeypatch.setitem(sys.modules, "psycopg.waiting", waiting)
    assert any("psycopg" in warning for warning in start(site).report.warnings) is warned


class Watching:
    """A policy that needs the app, as one that reads the site's database does."""

    def decide(self, actor, tool, arguments):
        return Verdict.allow() if current_app.name == "site" else Verdict.deny()


class WatchingPlugin:
    @hookimpl
    def register_policies(self):
        return {"watching": Watching}


def test_policies_decide_in_an_app_context(site):
    write_tool(site / "agents" / "demo", "look", "return 'seen'")
    app = new_app(site, LITRO_POLICIES=["watching"])
    LitroAgent(app, plugins=[WatchingPlugin()])
    assert said(post(app.test_client(), "use look")) == "seen"


def test_whether_a_tool_may_be_called_is_decided_in_an_app_context_too(site):
    write_tool(site / "agents" / "demo", "look")
    installed = start(site, plugins=[WatchingPlugin()], LITRO_POLICIES=["watching"])
    assert installed.gate.allows("demo", "look", actor=Actor("ann", "Ann"))
