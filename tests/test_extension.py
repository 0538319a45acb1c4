"""The extension: factories, several apps, identity, visitors, hand-over and a tool's context, over HTTP."""

from __future__ import annotations

import contextlib
import logging

import flask_login
import pytest
from flask import Flask, g, redirect, request

from flask_litro_agent import Actor, ConfigurationError, FlaskLogin, LitroAgent, Ran, Refused
from flask_litro_agent.installation import EXTENSION
from tests.small_site import new_app, outcome, post, said, write_agent, write_tool

ANN = Actor("ann", "Ann", frozenset({"orders:read"}))


@pytest.fixture
def site(tmp_path):
    write_agent(tmp_path)
    return tmp_path


def by_header():
    return ANN if request.headers.get("X-Actor") == "ann" else None


def test_an_app_given_to_the_constructor_has_its_agents(site):
    app = new_app(site)
    LitroAgent(app)
    assert said(post(app.test_client())) == "hello"


def test_a_factory_makes_apps_that_have_their_agents(site):
    litro = LitroAgent()

    def create_app():
        app = new_app(site)
        litro.init_app(app)
        return app

    assert said(post(create_app().test_client())) == "hello"
    assert said(post(create_app().test_client(), session="s2")) == "hello"


def test_several_apps_of_one_extension_share_nothing(tmp_path):
    litro = LitroAgent()
    clients = []
    for name, prefix in (("one", "/__litro"), ("two", "/agents")):
        (tmp_path / name).mkdir()
        write_agent(tmp_path / name, greeting=f"hello from {name}")
        app = new_app(tmp_path / name, LITRO_URL_PREFIX=prefix)
        litro.init_app(app)
        clients.append(app.test_client())
    one, two = clients
    assert said(post(one)) == "hello from one"
    assert one.get("/__litro/agent/demo/s1").status_code == 200
    assert one.get("/agents/agent/demo/s1").status_code == 404
    assert two.get("/agents/agent/demo/s1").status_code == 404
    assert two.get("/agents/agent/demo").json == {"next": None, "sessions": []}


def test_two_agents_folders_of_one_name_stay_apart(tmp_path):
    answers = []
    for name in ("one", "two"):
        write_tool(write_agent(tmp_path / name), "whoami", f"return {name!r}")
        app = new_app(tmp_path / name)
        LitroAgent(app)
        answers.append(app.test_client())
    assert [outcome(post(client, "use whoami"))["output"] for client in answers] == ["one", "two"]


def test_a_second_init_app_of_one_app_is_loud(site):
    app = new_app(site)
    litro = LitroAgent(app)
    with pytest.raises(ConfigurationError, match="already initialised for the app 'site': call it once"):
        litro.init_app(app)
    with pytest.raises(ConfigurationError, match="already initialised"):
        LitroAgent(app)


@pytest.mark.parametrize("loader", ["request_loader", "actor_loader", "tool_context"])
def test_a_loader_registered_after_init_app_names_the_import_order(site, loader):
    litro = LitroAgent(new_app(site))
    with pytest.raises(
        ConfigurationError, match=f"{loader} was registered after init_app.*import the module"
    ):
        getattr(litro, loader)(lambda: None)


def test_an_app_that_did_not_start_can_be_started_once_mended(site):
    app = new_app(site, LITRO_MAX_ROUNDS=0)
    litro = LitroAgent()
    with pytest.raises(ConfigurationError):
        litro.init_app(app)
    assert EXTENSION not in app.extensions
    litro.request_loader(by_header)
    app.config["LITRO_MAX_ROUNDS"] = 3
    litro.init_app(app)
    assert said(post(app.test_client())) == "hello"


def test_an_identity_class_is_refused():
    with pytest.raises(ConfigurationError, match=r"write FlaskLogin\(\.\.\.\), not the class"):
        LitroAgent(identity=FlaskLogin)


def test_the_extension_holds_no_app(site):
    app = new_app(site)
    litro = LitroAgent(app)
    assert not any(value is app for value in vars(litro).values())


class Member(flask_login.UserMixin):
    def __init__(self, id):
        self.id = id
        self.name = id.title()


@pytest.fixture
def member_site(site):
    """A site with Flask-Login whose sign-in hands the visitor's sessions over."""
    write_tool(site / "agents" / "demo", "orders", "return ctx.actor.id", permission="'orders:read'")
    app = new_app(site)
    manager = flask_login.LoginManager(app)
    manager.user_loader(Member)
    litro = LitroAgent(identity=FlaskLogin(permissions=lambda user: {"orders:read"}))
    litro.init_app(app)

    @app.get("/sign-in/<name>")
    def sign_in(name):
        visitor = litro.visitor_id()
        flask_login.login_user(Member(name))
        return {"moved": litro.hand_over(visitor, Actor(name, name))}

    @app.get("/sign-out")
    def sign_out():
        flask_login.logout_user()
        return redirect("/")

    @app.get("/")
    def home():
        return "home"

    return app


def test_flask_login_says_who_is_asking_and_what_they_may(member_site):
    client = member_site.test_client()
    assert outcome(post(client, "use orders"))["error"]["code"] == "forbidden"
    client.get("/sign-in/ann")
    assert outcome(post(client, "use orders"))["output"] == "ann"


def test_sessions_of_two_accounts_stay_apart(member_site):
    ann, bob = member_site.test_client(), member_site.test_client()
    ann.get("/sign-in/ann"), bob.get("/sign-in/bob")
    post(ann)
    assert bob.get("/__litro/agent/demo/s1").status_code == 404


def test_signing_in_keeps_the_conversation(member_site):
    client = member_site.test_client()
    post(client, "before")
    stored = client.get("/__litro/agent/demo/s1").data
    assert client.get("/sign-in/ann").json == {"moved": 1}
    assert client.get("/__litro/agent/demo/s1").data == stored
    post(client, "after")
    assert client.get("/__litro/agent/demo/s1").data.startswith(stored)


def test_the_visitor_has_nothing_left_after_the_hand_over(member_site):
    client = member_site.test_client()
    post(client)
    client.get("/sign-in/ann")
    client.get("/sign-out")
    assert client.get("/__litro/agent/demo/s1").status_code == 404
    assert client.get("/__litro/agent/demo").json["sessions"] == []


def test_a_session_that_the_account_has_under_this_id_is_not_overwritten(member_site):
    account, visitor = member_site.test_client(), member_site.test_client()
    account.get("/sign-in/ann")
    post(account, "the account's")
    own = account.get("/__litro/agent/demo/s1").data
    post(visitor, "the visitor's")
    assert visitor.get("/sign-in/ann").json == {"moved": 0}
    assert visitor.get("/__litro/agent/demo/s1").data == own


def test_signing_in_without_a_conversation_moves_nothing(member_site):
    client = member_site.test_client()
    assert client.get("/sign-in/ann").json == {"moved": 0}


def test_an_account_cannot_be_handed_over(site):
    app = new_app(site)
    litro = LitroAgent(app)
    with app.test_request_context(), pytest.raises(ConfigurationError, match="takes a visitor's id"):
        litro.hand_over("ann", ANN)


def test_a_visitor_gets_a_cookie_with_the_first_turn_and_keeps_it(site):
    app = new_app(site)
    LitroAgent(app)
    client = app.test_client()
    headers = {"X-Litro-Agent": "1"}
    first = client.post("/__litro/agent/demo/s1", json={"text": "hi"}, headers=headers)
    assert "session=" in first.headers["Set-Cookie"]
    second = client.post("/__litro/agent/demo/s2", json={"text": "hi"}, headers=headers)
    assert "Set-Cookie" not in second.headers
    first.close(), second.close()


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {}),
        ("/__litro/agent/demo/s1", {"Sec-Fetch-Site": "cross-site"}),
        ("/__litro/agent/nobody/s1", {}),
        ("/__litro/agent/demo/not%20an%20id", {}),
    ],
)
def test_who_needs_no_identity_gets_no_cookie(member_site, path, headers):
    assert "Set-Cookie" not in member_site.test_client().get(path, headers=headers).headers


def test_somebody_signed_in_gets_no_visitors_cookie(site):
    app = new_app(site)
    litro = LitroAgent()
    litro.request_loader(by_header)
    litro.init_app(app)
    answer = app.test_client().post(
        "/__litro/agent/demo/s1", json={"text": "hi"}, headers={"X-Litro-Agent": "1", "X-Actor": "ann"}
    )
    assert "Set-Cookie" not in answer.headers
    answer.close()


def test_without_a_secret_key_an_account_can_talk_and_a_visitor_cannot(site):
    app = new_app(site, SECRET_KEY=None)
    litro = LitroAgent()
    litro.request_loader(by_header)
    litro.init_app(app)
    assert said(post(app.test_client(), **{"X-Actor": "ann"})) == "hello"
    answer = app.test_client().get("/__litro/agent/demo/s1")
    assert (answer.status_code, answer.json["name"]) == (500, "InternalError")


def test_a_tool_runs_in_an_app_context_without_a_request(site):
    write_tool(site / "agents" / "demo", "where", "return [current_app.name, has_request_context()]")
    app = new_app(site)
    LitroAgent(app)
    assert outcome(post(app.test_client(), "use where"))["output"] == ["site", False]


def test_tool_context_prepares_each_tools_context(site):
    write_tool(site / "agents" / "demo", "tenant", "return g.tenant")
    app = new_app(site)
    litro = LitroAgent()

    @litro.tool_context
    def prepare(context):
        g.tenant = f"{context.actor.name}'s {context.agent}"

    litro.init_app(app)
    assert outcome(post(app.test_client(), "use tenant"))["output"] == "Visitor's demo"


@pytest.mark.parametrize("body", ["return 'fine'", "raise LookupError('no such order')"])
def test_a_tool_context_that_yields_also_cleans_up(site, body):
    write_tool(site / "agents" / "demo", "work", body)
    app = new_app(site)
    litro = LitroAgent()
    seen = []

    @litro.tool_context
    def around(context):
        seen.append("before")
        try:
            yield
        finally:
            seen.append("after")

    litro.init_app(app)
    post(app.test_client(), "use work")
    assert seen == ["before", "after"]


def test_a_tool_context_that_swallows_what_a_tool_raised_does_not_hide_it(site, caplog):
    write_tool(site / "agents" / "demo", "work", "raise LookupError('no such order')")
    app = new_app(site)
    litro = LitroAgent()

    @litro.tool_context
    def around(context):
        with contextlib.suppress(LookupError):
            yield

    litro.init_app(app)
    assert outcome(post(app.test_client(), "use work"))["error"]["code"] == "failed"
    assert "tool_context swallowed what the tool raised" in caplog.text


def test_a_tool_context_that_raises_fails_the_call_and_not_the_turn(site):
    write_tool(site / "agents" / "demo", "work", "return 'never'")
    app = new_app(site)
    litro = LitroAgent()

    @litro.tool_context
    def prepare(context):
        raise LookupError("no such tenant")

    litro.init_app(app)
    events = post(app.test_client(), "use work")
    assert outcome(events)["error"]["code"] == "failed"
    assert events[-1]["payload"]["reason"] == "finished"


def test_the_sites_own_code_calls_a_tool_through_the_gate(site):
    write_tool(site / "agents" / "demo", "orders", "return ctx.actor.id", permission="'orders:read'")
    app = new_app(site)
    litro = LitroAgent(app)
    bob = Actor("bob", "Bob")
    with app.app_context():
        gate = litro.gate("demo")
        assert gate.call("orders", {}, actor=ANN) == Ran("ann")
        assert isinstance(gate.call("orders", {}, actor=bob), Refused)
        assert gate.allows("orders", actor=ANN)
        assert not gate.allows("orders", actor=bob)


def test_the_gate_of_an_unknown_agent_says_what_there_is(site):
    app = new_app(site)
    litro = LitroAgent(app)
    with app.app_context(), pytest.raises(ConfigurationError, match="no agent named 'x'; there is: demo"):
        litro.gate("x")


def test_an_app_without_the_extension_says_so():
    with Flask("bare").app_context(), pytest.raises(ConfigurationError, match="'bare' has no LitroAgent"):
        LitroAgent().gate("demo")


def test_the_start_is_one_record_in_the_log(site, caplog):
    with caplog.at_level(logging.INFO, logger="flask_litro_agent"):
        LitroAgent(new_app(site))
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert record.getMessage().splitlines()[0] == "flask-litro-agent"


def test_a_start_with_warnings_is_a_warning(site, caplog):
    LitroAgent(new_app(site, SECRET_KEY=None))
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "SECRET_KEY is not set" in record.getMessage()
