"""The test kit: a scripted model, the site's own database, and pytest's plugin."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import flask_sqlalchemy
import pytest
from sqlalchemy import text

from flask_litro_agent import Actor, ConfigurationError, LitroAgent, events, testing
from flask_litro_agent.contracts import ProviderError, SessionKey
from flask_litro_agent.installation import EXTENSION
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.testing import AgentClient, CalledTool, call, delay, say
from tests.small_site import new_app, write_agent, write_tool

pytest_plugins = ["pytester"]

ANN = Actor("ann", "Ann", frozenset({"orders:read"}))
NAMES = """return current_app.extensions["sqlalchemy"].session.execute(
        __import__("sqlalchemy").text("select name from product order by name")
    ).scalars().all()"""


@pytest.fixture
def agent(tmp_path):
    agent = write_agent(tmp_path)
    write_tool(agent, "ping", "return {'pong': ctx.actor.id}")
    write_tool(agent, "orders", "return ['7C']", permission="'orders:read'")
    write_tool(agent, "crash", "raise LookupError('gone')")
    return agent


@pytest.fixture
def app(agent, tmp_path):
    app = new_app(tmp_path)
    LitroAgent(app)
    return app


def test_a_turn_runs_the_script_against_the_sites_own_tools(app):
    client = AgentClient(app, "demo", actor=ANN, script=[call("orders"), say("one order: 7C")])
    turn = client.send("what did I order?")
    assert turn.text == "one order: 7C"
    assert [(made.name, made.input) for made in turn.calls] == [("orders", {})]
    assert turn.results == [["7C"]]
    assert turn.reason == "finished"
    assert turn.error is None
    assert [event.kind for event in turn.events][:2] == ["turn-start", "message"]
    assert turn.events[-1].kind == "turn-end"


@pytest.mark.parametrize(
    "script",
    [
        ["two tents"],
        "two tents",
        [say("two tents")],
        [["two ", "tents"]],
        [[say("two "), delay(0.001), "tents"]],
        iter(["two tents"]),
    ],
)
def test_a_script_is_written_in_several_ways(app, script):
    turn = AgentClient(app, "demo", script=script).send("which tents are there?")
    assert (turn.text, turn.reason) == ("two tents", "finished")


def test_one_call_alone_is_a_script(app):
    assert AgentClient(app, "demo", script=call("ping")).send("hi").calls[0].name == "ping"


def test_a_list_is_one_answer_with_several_calls(app):
    turn = AgentClient(app, "demo", script=[["let me see", call("ping"), call("crash")], "done"]).send("hi")
    assert [made.name for made in turn.calls] == ["ping", "crash"]
    assert turn.results[0] == {"pong": "visitor:" + "-" * 22}
    assert turn.results[1]["error"]["code"] == "failed"
    assert turn.text == "let me see\ndone"
    assert len({made.call_id for made in turn.calls}) == 2


def test_a_script_may_look_at_what_came_before(app):
    seen = []

    def script():
        yield call("ping")
        seen.append([event.kind for event in client.events][-1])
        yield "done"

    client = AgentClient(app, "demo", script=script())
    client.send("hi")
    assert seen == ["tool-result"]


def test_a_script_that_ends_too_early_fails_the_turn_and_says_so(app):
    client = AgentClient(app, "demo", script=[call("ping")])
    for _ in range(2):
        turn = client.send("hi")
        assert turn.reason == "failed"
        assert turn.error["code"] == "configuration"
        assert turn.error["message"] == "the script has ended: it held 1 of the model's answers"


def test_an_error_of_the_provider_is_a_step(app):
    turn = AgentClient(app, "demo", script=[ProviderError("quota", "no credit is left")]).send("hi")
    assert turn.reason == "failed"
    assert turn.error == {"code": "quota", "message": "no credit is left", "retryable": False}


def test_a_script_that_raises_fails_the_turn(app):
    def script():
        raise LookupError("a mistake of the test")
        yield

    turn = AgentClient(app, "demo", script=script()).send("hi")
    assert turn.error["message"] == "the script raised LookupError"


def test_without_a_script_the_agents_own_model_answers(app):
    assert AgentClient(app, "demo").send("hi").text == "hello"


def test_the_actor_has_his_permissions_and_no_others(app):
    script = [call("orders"), "done"]
    assert AgentClient(app, "demo", actor=ANN, script=script).send("hi").results == [["7C"]]
    (refused,) = AgentClient(app, "demo", script=script).send("hi").results
    assert refused["error"]["code"] == "forbidden"


def test_two_turns_of_a_client_are_one_session(app):
    client = AgentClient(app, "demo", script=["one", "two"])
    first, second = client.send("1"), client.send("2")
    assert (first.text, second.text) == ("one", "two")
    assert client.events == [*first.events, *second.events]
    assert [event.seq for event in client.events] == list(range(1, len(client.events) + 1))


def test_the_second_turn_has_the_first_in_its_history(app):
    client = AgentClient(app, "demo", script=["one", "two"])
    client.send("first")
    client.send("second")
    said = [event.payload["text"] for event in client.events if event.kind == events.MESSAGE]
    assert said == ["first", "one", "second", "two"]


def test_two_clients_share_nothing(app):
    one, two = AgentClient(app, "demo", script=["one"]), AgentClient(app, "demo", script=["two"])
    one.send("hi")
    assert two.events == []


def test_a_client_leaves_the_apps_own_store_alone(app):
    client = AgentClient(app, "demo", script=["hi"])
    client.send("hi")
    store = app.extensions[EXTENSION].store
    assert list(store.read(client.key)) == []


def test_a_store_and_a_session_may_be_named(app, tmp_path):
    store = FileStore(tmp_path / "sessions")
    AgentClient(app, "demo", actor=ANN, session_id="s1", store=store, script=["hi"]).send("hi")
    assert store.last_seq(SessionKey("demo", "ann", "s1")) > 0


def test_the_clients_folder_goes_with_it(app):
    client = AgentClient(app, "demo", script=["hi"])
    client.send("hi")
    folder = Path(client.store.root)
    assert folder.is_dir()
    del client
    gc.collect()
    assert not folder.exists()


def test_an_unknown_agent_says_what_there_is(app):
    with pytest.raises(ConfigurationError, match="no agent named 'x'; there is: demo"):
        AgentClient(app, "x")


def test_an_app_without_the_extension_says_so(tmp_path):
    with pytest.raises(ConfigurationError, match="the app 'site' has no LitroAgent: call init_app"):
        AgentClient(new_app(tmp_path), "demo")


def test_a_calls_record_is_a_value():
    assert CalledTool("c1", "ping", {}) == CalledTool("c1", "ping", {})


def test_a_tool_runs_in_the_callers_thread_and_without_its_request(agent, app, tmp_path):
    write_tool(agent, "where", "return [__import__('threading').get_ident(), has_request_context()]")
    app = new_app(tmp_path)
    LitroAgent(app)
    with app.test_request_context():
        (where,) = AgentClient(app, "demo", script=[call("where"), "done"]).send("hi").results
    assert where == [threading.get_ident(), False]


@pytest.fixture
def shop(agent, tmp_path):
    """A site with Flask-SQLAlchemy on a database in memory, and a tool that reads it."""
    write_tool(agent, "products", NAMES)
    app = new_app(tmp_path, SQLALCHEMY_DATABASE_URI="sqlite://")
    db = flask_sqlalchemy.SQLAlchemy(app)
    LitroAgent(app)
    with app.app_context():
        db.session.execute(text("create table product (name text)"))
        db.session.execute(text("insert into product values ('tent')"))
        db.session.commit()
        yield app, db
        db.session.remove()
        db.engine.dispose()


def products(app):
    (found,) = AgentClient(app, "demo", script=[call("products"), "done"]).send("hi").results
    return found


def test_a_tool_sees_a_database_in_memory(shop):
    app, _ = shop
    assert products(app) == ["tent"]


def test_a_tool_sees_what_a_fixture_will_roll_back(shop):
    """The usual fixture: the site's engine is one connection whose transaction ends with the test."""
    app, db = shop
    engine = db.engine
    with engine.connect() as connection:
        outer = connection.begin()
        db.engines[None] = connection
        db.session.execute(text("insert into product values ('stove')"))
        db.session.commit()
        assert products(app) == ["stove", "tent"]
        db.session.remove()
        db.engines[None] = engine
        outer.rollback()
    assert products(app) == ["tent"]


def test_the_kit_exports_what_it_says():
    assert all(getattr(testing, name) is not None for name in testing.__all__)


def test_a_contract_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'LedgerContract'"):
        _ = testing.LedgerContract


def test_the_plugin_loads_no_contract_and_no_hypothesis():
    """A site's pytest imports the plugin at every start: it must not pay for what it does not use."""
    code = (
        "import sys, flask_litro_agent.testing.fixtures\n"
        "assert 'hypothesis' not in sys.modules\n"
        "assert not [name for name in sys.modules if name.startswith('flask_litro_agent.testing.') "
        "and name.split('.')[-1] in ('stores', 'providers', 'policies', 'renderers')]\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=120)


SITE = """
    import pytest
    from flask import Flask
    from flask_litro_agent import LitroAgent

    @pytest.fixture
    def app():
        app = Flask("site", root_path={root!r}, instance_path={root!r} + "/instance")
        app.config.update(SECRET_KEY="only for these tests", LITRO_HOSTS=["localhost"])
        LitroAgent(app)
        return app
"""
STRICT = ("-p", "no:cacheprovider", "-W", "error")


def test_a_site_uses_the_fixture_without_importing_it(pytester, agent, tmp_path):
    pytester.makeconftest(textwrap.dedent(SITE).format(root=str(tmp_path)))
    pytester.makepyfile(
        """
        from flask_litro_agent.testing import call, say

        def test_ping(agent_client):
            turn = agent_client("demo", script=[call("ping"), say("pong")]).send("hi")
            assert turn.text == "pong"
            assert [made.name for made in turn.calls] == ["ping"]
        """
    )
    pytester.runpytest_subprocess(*STRICT).assert_outcomes(passed=1)


def test_a_contract_is_collected_once_and_only_where_it_is_subclassed(pytester):
    pytester.makepyfile(
        """
        import pytest
        from flask_litro_agent.testing import *
        from flask_litro_agent.testing import StoreContract
        from flask_litro_agent.sessions.file import FileStore

        class TestStore(StoreContract):
            @pytest.fixture
            def store(self, tmp_path):
                return FileStore(tmp_path)

            def reopen(self, store):
                return FileStore(store.root)
        """
    )
    listed = pytester.runpytest_subprocess(*STRICT, "--collect-only", "-q").outlines
    tests = [line for line in listed if "::" in line]
    assert tests
    assert {line.split("::")[1] for line in tests} == {"TestStore"}
    assert len(tests) == len(set(tests))


def test_a_project_without_an_app_fixture_is_left_alone(pytester):
    pytester.makepyfile("def test_one(): pass")
    pytester.runpytest_subprocess(*STRICT).assert_outcomes(passed=1)
