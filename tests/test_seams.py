"""Where a site's or a stranger's code is called, it may raise: nobody but the app's log learns what it said."""

from __future__ import annotations

import logging
import re

import pytest
from flask import Flask

from flask_litro_agent import Actor, LitroAgent, call, hookimpl, scripted
from flask_litro_agent.contracts import Rendered, Verdict
from flask_litro_agent.errors import StoreError
from flask_litro_agent.sessions.file import FileStore
from tests.asking import HEADER, eventually

CANARY = "canary-7c1e SELECT pin FROM cards WHERE owner = 'ann' -- /srv/app/models.py"
PARTS = (
    "request_loader",
    "access",
    "provider",
    "provider after a word",
    "policy",
    "policy with arguments",
    "tool_context",
    "tool",
    "generator",
    "renderer",
)
STORE = ("append", "read", "wait", "acquire", "holder", "last_seq", "list", "delete")

AGENT = """
from flask import current_app
from flask_litro_agent import Agent

agent = Agent(model="seam:any")

def access():
    current_app.config["FAULTS"]("access")
"""
TOOL = """
from flask import current_app
from marshmallow import Schema, fields
from flask_litro_agent import PUBLIC, Mode, tool, ui

class Params(Schema):
    value = fields.String(required=True)

@tool(description="Shows a card.", permission=PUBLIC, mode=Mode.READ, params=Params)
def show(params, ctx):
    current_app.config["FAULTS"]("tool")
    yield 1
    current_app.config["FAULTS"]("generator")
    return ui("x-card", data=1)
"""


class Faults:
    """Raises at the one seam that is armed, and counts."""

    def __init__(self, seam="", kind=RuntimeError) -> None:
        self.seam = seam
        self.kind = kind
        self.raised = 0

    def __call__(self, seam: str) -> None:
        if seam == self.seam:
            self.raised += 1
            raise self.kind(CANARY)


def faulty_store(root, faults):
    """Return a file store whose methods are seams."""

    def seam(name):
        def method(self, *arguments, **named):
            faults(name)
            return getattr(FileStore, name)(self, *arguments, **named)

        return method

    return type("FaultyStore", (FileStore,), {name: seam(name) for name in (*STORE, "release")})(
        root, fsync="never"
    )


def faulty_site(tmp_path, faults, **config):
    """Return a site on which everything that is not ours is a seam."""
    folder = tmp_path / "agents" / "desk"
    (folder / "tools").mkdir(parents=True)
    (folder / "agent.py").write_text(AGENT)
    (folder / "tools" / "show.py").write_text(TOOL)

    def answer(request, turn):
        faults("provider")
        if request.messages[-1].role == "user":
            yield "let me see"
            faults("provider after a word")
            yield call("show", value="x")
        else:
            yield "done"

    class Policy:
        def decide(self, actor, tool, arguments):
            faults("policy" if arguments is None else "policy with arguments")
            return Verdict.allow()

    class Renderer:
        def render(self, component, props):
            faults("renderer")
            return Rendered("<x-card></x-card>")

    class Plugin:
        @hookimpl
        def register_providers(self):
            return {"seam": lambda model: scripted(answer, model=model)}

        @hookimpl
        def register_policies(self):
            return {"seam": Policy}

        @hookimpl
        def register_renderers(self):
            return {"seam": Renderer}

    app = Flask("seams", instance_path=str(tmp_path / "instance"))
    app.config.update(
        SECRET_KEY="for tests",
        FAULTS=faults,
        LITRO_AGENTS=str(tmp_path / "agents"),
        LITRO_POLICIES=["permissions", "seam"],
        LITRO_RENDERER="seam",
        LITRO_STREAM_SECONDS=5,
        LITRO_LEASE_SECONDS=1,
    )
    app.config.update(config)
    app.debug = config.get("DEBUG", False)
    litro = LitroAgent(plugins=[Plugin()], session_store=faulty_store(tmp_path / "sessions", faults))

    @litro.request_loader
    def who():
        faults("request_loader")
        return Actor("ann", "Ann")

    @litro.tool_context
    def context(tool_context):
        faults("tool_context")

    litro.init_app(app)
    return app


def use_everything(client, session="s1", *, headers=(), follow=False):
    """Do what a visitor can do, and return all the bytes that come back; a cut stream is not an error."""
    headers = {**HEADER, **dict(headers)}
    path = "/__litro/agent/desk"
    told = b""
    for method, place, body in (
        ("POST", f"{path}/{session}", {"text": "hello"}),
        ("GET", f"{path}/{session}", None),
        *([("GET", f"{path}/{session}?from=2&follow=1", None)] if follow else []),
        ("DELETE", f"{path}/{session}/turn/t0", None),
        ("POST", f"{path}/{session}", {"text": "again"}),
        ("GET", path, None),
        ("DELETE", f"{path}/{session}", None),
    ):
        response = client.open(place, method=method, json=body, headers=headers)
        told += response.headers.__repr__().encode()
        try:
            for chunk in response.iter_encoded():
                told += chunk
        finally:
            response.close()
    return told


def in_the_log(tmp_path):
    return b"".join(path.read_bytes() for path in (tmp_path / "sessions").rglob("*.jsonl"))


def test_without_a_fault_everything_is_used(tmp_path):
    """The control: each seam is reached."""
    reached = set()
    app = faulty_site(tmp_path, reached.add, LITRO_STREAM_SECONDS=1)
    told = use_everything(app.test_client(), follow=True)
    assert set(PARTS) | set(STORE) <= reached
    assert b"x-card" in told
    assert b"InternalError" not in told


@pytest.mark.parametrize("seam", PARTS)
def test_what_is_raised_at_a_seam_reaches_nobody_but_the_log(tmp_path, caplog, seam):
    """J8: the client and the session's log have an id at most, the app's log has the reason."""
    faults = Faults(seam)
    app = faulty_site(tmp_path, faults)
    told = use_everything(app.test_client())
    assert faults.raised
    assert b"canary" not in told + in_the_log(tmp_path)
    assert "canary-7c1e" in caplog.text
    for error_id in set(re.findall(rb"error ([0-9a-f]{8})", told)):
        assert error_id.decode() in caplog.text


@pytest.mark.parametrize("kind", [StoreError, RuntimeError])
@pytest.mark.parametrize("seam", STORE)
def test_what_a_store_raises_reaches_nobody(tmp_path, seam, kind):
    """J8: also in the middle of a stream; whatever the store raises."""
    faults = Faults(kind=kind)
    app = faulty_site(tmp_path, faults, LITRO_STREAM_SECONDS=0.2)
    client = app.test_client()
    use_everything(client)
    faults.seam = seam
    told = use_everything(client, "s2", follow=True)
    faults.seam = ""
    told += use_everything(client, "s3")
    assert faults.raised
    assert b"canary" not in told + in_the_log(tmp_path)


@pytest.mark.parametrize("kind", [StoreError, RuntimeError])
def test_a_lease_that_cannot_be_given_back_ends_the_turn_all_the_same(tmp_path, caplog, kind):
    """J8: after the turn's last word."""
    app = faulty_site(tmp_path, Faults("release", kind))
    told = app.test_client().post("/__litro/agent/desk/s1", json={"text": "hello"}, headers=HEADER)
    assert b"turn-end" in told.data
    assert b"canary" not in told.data
    eventually(lambda: "its lease was not given back" in caplog.text)


def test_the_stack_of_a_view_is_told_in_debug_alone(tmp_path):
    """J8: the same fault with and without."""
    for debug in (False, True):
        app = faulty_site(tmp_path / str(debug), Faults("access"), DEBUG=debug)
        told = app.test_client().get("/__litro/agent/desk/s1").data
        assert (b"canary-7c1e" in told) is debug


@pytest.mark.parametrize("debug", [False, True], ids=["production", "debug"])
def test_no_secret_is_told_to_anybody(tmp_path, caplog, monkeypatch, debug):
    """J7: an exception at each seam in turn; no answer, event or log line has a secret of the site or the client."""
    caplog.set_level(logging.DEBUG)
    secrets = {
        name: f"secret-{name}-5d81f0"
        for name in ("key", "cookie", "bearer", "x-api-key", "database", "model")
    }
    monkeypatch.setenv("OPENAI_API_KEY", secrets["model"])
    headers = {
        "Cookie": f"session={secrets['cookie']}; other={secrets['cookie']}",
        "Authorization": f"Bearer {secrets['bearer']}",
        "X-Api-Key": secrets["x-api-key"],
    }
    outputs = []
    for number, seam in enumerate(("", *PARTS, *STORE)):
        faults = Faults()
        config = {
            "SECRET_KEY": secrets["key"],
            "SQLALCHEMY_DATABASE_URI": f"postgresql://shop:{secrets['database']}@db/shop",
            "DEBUG": debug,
        }
        app = faulty_site(tmp_path / str(number), faults, **config)
        faults.seam = seam
        outputs.append(use_everything(app.test_client(use_cookies=False), headers=headers))
        outputs.append(in_the_log(tmp_path / str(number)))
    outputs.append(caplog.text.encode())
    assert "canary-7c1e" in caplog.text, "control: the faults were logged"
    assert [name for name, secret in secrets.items() if secret.encode() in b"".join(outputs)] == []
