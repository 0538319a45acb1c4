"""The gate: what it refuses and in which order, what a tool may give, and what never gets out."""

import asyncio
import contextlib
import logging
import threading
import time
from types import MappingProxyType
from unittest.mock import Mock

import pytest
from flask import Flask, current_app, g, has_request_context
from hypothesis import given
from hypothesis import strategies as st
from marshmallow import Schema, ValidationError, fields

from flask_litro_agent import PUBLIC, AgentError, Mode, tool, ui
from flask_litro_agent.assembly import _around
from flask_litro_agent.contracts import Actor, Stop, Verdict
from flask_litro_agent.core.execution import inline
from flask_litro_agent.core.gate import AgentGate, CallSite, Gate, Ran, Refused
from flask_litro_agent.policies.permissions import Permissions
from flask_litro_agent.settings import Settings
from tests.bench import until

ANN = Actor("ann", "Ann", frozenset({"orders:read"}))
BOB = Actor("bob", "Bob")
LIMITS = Settings(tool_seconds=5.0).limits


class Empty(Schema):
    pass


class Order(Schema):
    number = fields.Integer(required=True, strict=True)
    note = fields.String(load_default="none")


class Says:
    """A policy that always gives the same answer."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    def decide(self, actor, facts, arguments):
        self.asked.append((actor, facts, arguments))
        return self.answer


class Raises:
    def __init__(self, error=None):
        self.error = error or RuntimeError("canary-policy")

    def decide(self, actor, facts, arguments):
        raise self.error


class Meddles:
    """A policy that changes what it can reach of the actor."""

    def decide(self, actor, facts, arguments):
        object.__setattr__(actor, "permissions", frozenset({"*"}))
        actor.data["tenant"] = "another"
        return Verdict.abstain()


class Loosened(Verdict):
    """A verdict of a stranger's making."""


def make(function, *, permission=PUBLIC, params=Empty, name=None):
    function.__name__ = name or function.__name__
    return tool(description="For tests.", permission=permission, mode=Mode.READ, params=params)(function)


def gate_for(*tools, policies=None, limits=LIMITS, debug=False, around=None):
    return Gate(
        {"desk": {each.name: each for each in tools}},
        {"desk": limits},
        [Permissions()] if policies is None else policies,
        around=around or (lambda context: contextlib.nullcontext()),
        debug=debug,
    )


def call(gate, name="order", arguments=None, *, actor=ANN, site=None, agent="desk"):
    return gate.call(agent, name, arguments or {}, actor=actor, origin="test", site=site)


def giving(value):
    """Return a gate over one public tool that returns what the function returns."""
    return gate_for(make(lambda params, ctx: value(), name="give"), policies=[Says(Verdict.allow())])


@pytest.fixture
def ran():
    return []


@pytest.fixture
def order(ran):
    def order(params, ctx):
        ran.append(params)
        return {"number": params["number"]}

    return make(order, permission="orders:read", params=Order)


# --- the order of the checks ---


def test_a_call_that_may_run_gives_its_value(order):
    assert call(gate_for(order), arguments={"number": 7}) == Ran({"number": 7})


def test_an_unknown_name_is_said_before_anything_is_asked(order, ran):
    policy = Says(Verdict.allow())
    outcome = call(gate_for(order, policies=[policy]), "orders", {"number": "no"})
    assert (outcome.code, policy.asked, ran) == ("unknown_tool", [], [])
    assert outcome.message == "no tool named 'orders'; there is: order"


def test_a_forbidden_call_hears_nothing_about_its_arguments(order, ran):
    outcome = call(gate_for(order), arguments={"wrong": 1}, actor=BOB)
    assert (outcome.code, outcome.errors, ran) == ("forbidden", None, [])
    assert "'orders:read'" in outcome.message


def test_invalid_arguments_name_every_field_and_run_nothing(order, ran):
    outcome = call(gate_for(order), arguments={"number": "7", "size": 1})
    assert (outcome.code, ran) == ("invalid_input", [])
    assert set(outcome.errors) == {"number", "size"}


@pytest.mark.parametrize("arguments", ["{}", None, [1], 3, [["number", 1]], b"{}"])
def test_arguments_that_are_no_object_are_invalid(order, arguments):
    outcome = gate_for(order).call("desk", "order", arguments, actor=ANN, origin="test")
    assert outcome.code == "invalid_input"


@pytest.mark.parametrize(
    "name",
    [
        "Order", "ORDER", "order ", " order", "order\n", "ｏrder", "оrder", "ord\u00ader", "",
        "__class__", "__init__", "decide", "register_policies", "call", "get", "desk.order", "order\x00",
    ],
)  # fmt: skip
def test_only_the_exact_name_is_a_tool(order, ran, name):
    """G3: another case, a space, look-alikes, attributes and hooks are names like any other unknown one."""
    assert call(gate_for(order), name, {"number": 7}).code == "unknown_tool"
    assert ran == []


@given(st.text(max_size=80))
def test_no_text_but_a_tools_name_reaches_a_tool(name):
    """G3, as a law."""
    gate = gate_for(make(lambda params, ctx: 1, name="order"))
    assert isinstance(call(gate, name), Ran) == (name == "order")


def test_another_agents_tool_is_unknown(order):
    assert call(gate_for(order), arguments={"number": 7}, agent="other").code == "unknown_tool"
    assert not gate_for(order).allows("other", "order", actor=ANN)


def test_an_unknown_name_is_one_short_escaped_line_in_the_log(order, caplog):
    caplog.set_level(logging.INFO)
    call(gate_for(order), "x\r\nERROR forged \x1b[31m" + "y" * 10_000)
    (record,) = caplog.records
    message = record.getMessage()
    assert len(message) < 300
    assert "\n" not in message
    assert "\x1b" not in message


# --- policies ---


def test_deny_beats_allow(order):
    """Law 9: one refusal is enough, whatever the others say and in whatever order they stand."""
    for policies in (
        [Says(Verdict.allow()), Says(Verdict.deny())],
        [Says(Verdict.deny()), Says(Verdict.allow())],
    ):
        assert call(gate_for(order, policies=policies), arguments={"number": 7}).code == "forbidden"


def test_no_policy_is_a_deny(order):
    """Law 9."""
    assert call(gate_for(order, policies=[]), arguments={"number": 7}).code == "forbidden"


def test_policies_that_only_abstain_are_a_deny(order):
    """Law 9."""
    abstainers = [Says(Verdict.abstain()), Says(Verdict.abstain())]
    assert call(gate_for(order, policies=abstainers), arguments={"number": 7}).code == "forbidden"


@pytest.mark.parametrize(
    "error", [RuntimeError("canary-policy"), SystemExit("canary-policy"), BaseException("canary")], ids=repr
)
def test_a_policy_that_raises_denies_and_is_not_quoted(order, ran, error):
    """Law 9: also beside one that allows, and whatever it raises."""
    outcome = call(gate_for(order, policies=[Says(Verdict.allow()), Raises(error)]), arguments={"number": 7})
    assert (outcome.code, ran) == ("forbidden", [])
    assert "canary" not in outcome.message


@pytest.mark.parametrize(
    "answer",
    [
        None, True, 1, "allow", "yes", Mock(effect="allow"), Mock(spec=Verdict), Loosened("allow"),
        Verdict("Allow"), Verdict("maybe"), Verdict(None), {"effect": "allow"}, Verdict,
    ],
    ids=lambda answer: type(answer).__name__,
)  # fmt: skip
def test_whatever_is_no_verdict_denies(order, ran, answer):
    """Law 9: only a Verdict of ours with one of its three effects counts, also beside one that allows."""
    assert call(
        gate_for(order, policies=[Says(Verdict.allow()), Says(answer)]), arguments={"number": 7}
    ).code == ("forbidden")
    assert ran == []


def test_an_awaitable_denies(order):
    """Law 9: nobody awaits a policy."""

    async def later():
        return Verdict.allow()

    answer = later()
    assert call(gate_for(order, policies=[Says(answer)]), arguments={"number": 7}).code == "forbidden"
    asyncio.run(_closed(answer))


async def _closed(coroutine):
    coroutine.close()


def test_a_policy_is_asked_without_and_then_with_the_loaded_arguments(order):
    policy = Says(Verdict.allow())
    call(gate_for(order, policies=[policy]), arguments={"number": 7})
    assert [asked[2] for asked in policy.asked] == [None, {"number": 7, "note": "none"}]
    assert policy.asked[0][:2] == (ANN, order.facts)


def test_a_policy_may_deny_by_the_arguments(order, ran):
    class NotSeven:
        def decide(self, actor, facts, arguments):
            return Verdict.deny() if arguments and arguments["number"] == 7 else Verdict.allow()

    gate = gate_for(order, policies=[NotSeven()])
    assert call(gate, arguments={"number": 7}).code == "forbidden"
    assert call(gate, arguments={"number": 8}) == Ran({"number": 8})


def test_a_policy_cannot_change_what_runs(order, ran):
    """Law 5: it gets a copy, and never the function."""

    class Meddler:
        def decide(self, actor, facts, arguments):
            if arguments is not None:
                arguments["number"] = 666
            assert not hasattr(facts, "function")
            return Verdict.allow()

    assert call(gate_for(order, policies=[Meddler()]), arguments={"number": 7}) == Ran({"number": 7})
    assert ran == [{"number": 7, "note": "none"}]


def test_a_policy_cannot_change_the_actor_that_the_next_one_is_asked_about(order, ran):
    """Law 5: no plugin can loosen the gate."""
    nobody, asked = Actor("bob", "Bob", data={"tenant": "own"}), Says(Verdict.abstain())
    policies = [Meddles(), Permissions(), asked]
    assert call(gate_for(order, policies=policies), arguments={"number": 7}, actor=nobody).code == "forbidden"
    assert asked.asked[0][0] == Actor("bob", "Bob", data={"tenant": "own"})
    assert ran == []


def test_a_tool_cannot_change_the_actor_that_the_next_call_is_decided_by(order, ran):
    def meddle(params, ctx):
        Meddles().decide(ctx.actor, None, None)

    nobody = Actor("bob", "Bob", data={"tenant": "own"})
    gate = gate_for(order, make(meddle))
    assert call(gate, "meddle", actor=nobody) == Ran(None)
    assert call(gate, arguments={"number": 7}, actor=nobody).code == "forbidden"
    assert nobody.data == {"tenant": "own"}


def test_the_list_of_policies_cannot_be_changed_later(order):
    """Law 5: fixed once the app has started."""
    policies = [Says(Verdict.deny())]
    gate = gate_for(order, policies=policies)
    policies[:] = [Says(Verdict.allow())]
    assert call(gate, arguments={"number": 7}).code == "forbidden"


@pytest.mark.parametrize(
    "actor",
    [None, "ann", Mock(spec=Actor), object(), {"id": "ann"}],
    ids=["none", "text", "mock", "object", "dict"],
)
def test_a_missing_identity_is_refused_before_a_policy_is_asked(order, ran, actor):
    """Law 9: a missing identity is never replaced by a stronger one."""
    policy = Says(Verdict.allow())
    gate = gate_for(order, policies=[policy])
    outcome = gate.call("desk", "order", {"number": 7}, actor=actor, origin="test")
    assert (outcome.code, policy.asked, ran) == ("forbidden", [], [])
    assert not gate.allows("desk", "order", actor=actor)


def test_allows_tells_beforehand_and_runs_nothing(order, ran):
    gate = AgentGate(gate_for(order), "desk")
    assert gate.allows("order", actor=ANN)
    assert not gate.allows("order", actor=BOB)
    assert not gate.allows("orders", actor=ANN)
    assert ran == []


def test_a_sites_own_code_meets_the_same_gate(order):
    """Law 5: there is no way around it for code."""
    gate = AgentGate(gate_for(order), "desk")
    assert gate.call("order", {"number": 7}, actor=ANN) == Ran({"number": 7})
    assert gate.call("order", {"number": 7}, actor=BOB).code == "forbidden"


def test_within_changes_how_work_runs_and_nothing_else(order):
    gate = gate_for(order).within(inline)
    assert call(gate, arguments={"number": 7}) == Ran({"number": 7})
    assert call(gate, arguments={"number": 7}, actor=BOB).code == "forbidden"
    assert call(gate, "orders").code == "unknown_tool"


# --- outputs ---


def test_an_output_over_the_cap_is_too_large():
    """Law 10, I5: 100 MB of text."""
    outcome = call(giving(lambda: "x" * 100_000_000), "give")
    assert outcome.code == "too_large"
    assert len(outcome.message) < 200


def test_a_generator_without_an_end_is_stopped_by_its_progress():
    """Law 10, I5."""

    def endless(params, ctx):
        while True:
            yield 1

    shown = []
    gate = gate_for(make(endless))
    assert call(gate, "endless", site=CallSite(progress=shown.append)).code == "too_large"
    assert len(shown) == 1000


def _cyclic():
    value = []
    value.append(value)
    return value


class EvilText:
    def __str__(self):
        raise RuntimeError("canary-str")

    __repr__ = __str__


@pytest.mark.parametrize(
    "value",
    [lambda: b"bytes", lambda: float("nan"), _cyclic, EvilText, object, lambda: {1: 2}, lambda: {"a": {3}},
     lambda: "\x00"],
    ids=["bytes", "nan", "cyclic", "evil str", "object", "key", "set", "nul"],
)  # fmt: skip
def test_an_output_that_is_no_json_fails_with_an_id_only(value, caplog):
    """I5, J8: the model and the person get the id; the log has the reason."""
    outcome = call(giving(value), "give")
    assert outcome.code == "failed"
    error_id = outcome.message.removeprefix("give failed (error ").removesuffix(")")
    assert len(error_id) == 8
    assert error_id in caplog.text


def test_a_component_inside_a_value_is_a_loud_error():
    outcome = call(giving(lambda: {"cards": [ui("x-card", data=1)]}), "give")
    assert outcome == Refused(
        "nested_ui",
        "give: the result.cards[0] is ui('x-card', …) inside another value; return ui(…) itself",
    )


@pytest.mark.parametrize("where", ["data", "props"])
def test_a_component_inside_a_component_is_nested_too(where):
    inner = ui("x-card", data=1)
    given_ui = {"data": lambda: ui("a", data=[inner]), "props": lambda: ui("a", data=1, of=inner)}[where]
    assert call(giving(given_ui), "give").code == "nested_ui"


def test_a_component_keeps_its_data_apart_from_its_props():
    outcome = call(giving(lambda: ui("x-card", data={"a": (1, 2)}, size="big")), "give")
    assert outcome.value == {"a": [1, 2]}
    assert (outcome.component.component, outcome.component.props) == ("x-card", {"size": "big"})


def test_a_generators_return_value_is_the_result():
    def count(params, ctx):
        yield from ("one", {"two": 2})
        return "three"

    shown = []
    assert call(gate_for(make(count)), "count", site=CallSite(progress=shown.append)) == Ran("three")
    assert shown == ["one", {"two": 2}]


def test_a_progress_value_has_a_cap_of_its_own():
    """Law 10."""

    def loud(params, ctx):
        ctx.progress("x" * 16 * 1024)

    shown = []
    assert call(gate_for(make(loud)), "loud", site=CallSite(progress=shown.append)).code == "too_large"
    assert shown == []


# --- errors ---


def _raising(error):
    def give(params, ctx):
        raise error

    return make(give)


@pytest.mark.parametrize(
    "error", [RuntimeError("canary-secret"), SystemExit(3), KeyboardInterrupt(), GeneratorExit()], ids=repr
)
def test_whatever_a_tool_raises_is_an_id_in_production(error, caplog):
    """J8."""
    outcome = call(gate_for(_raising(error)), "give")
    assert outcome.code == "failed"
    assert "canary" not in outcome.message
    assert "error " in outcome.message
    assert type(error).__name__ in caplog.text


def test_debug_tells_what_was_raised():
    outcome = call(gate_for(_raising(RuntimeError("canary\x00\ud800")), debug=True), "give")
    assert outcome.message.endswith(": RuntimeError: canary\ufffd?")


def test_an_agent_error_speaks_for_itself():
    error = AgentError("there is no order 7", errors={"number": ["unknown"]})
    assert call(gate_for(_raising(error)), "give") == Refused(
        "failed", "there is no order 7", {"number": ["unknown"]}
    )


@pytest.mark.parametrize("message", ["nul \x00", "half \ud800", "x" * 5000], ids=["nul", "surrogate", "long"])
def test_an_agent_error_that_json_cannot_say_is_an_id(message):
    assert "give failed (error " in call(gate_for(_raising(AgentError(message))), "give").message


def test_errors_that_cannot_be_listed_are_left_out():
    outcome = call(gate_for(_raising(AgentError("no", errors={"a": object()}))), "give")
    assert list(outcome.errors) == ["_schema"]


def test_a_flood_of_wrong_arguments_is_answered_shortly(order):
    """Law 10: the model's mistake must not fill the log."""
    outcome = call(gate_for(order), arguments={f"field_{n}": n for n in range(60_000)})
    assert outcome.code == "invalid_input"
    assert len(str(outcome.errors)) < 17_000


@pytest.mark.parametrize("error", [ZeroDivisionError("canary"), SystemExit("canary")], ids=repr)
def test_a_validator_that_raises_is_a_failed_call(error):
    def validate(value):
        raise error

    params = Schema.from_dict({"a": fields.Integer(validate=validate)})
    outcome = call(gate_for(make(lambda params, ctx: 1, params=params, name="sum")), "sum", {"a": 1})
    assert outcome.code == "failed"
    assert "canary" not in outcome.message


def test_a_component_whose_name_is_huge_is_a_failed_call_with_a_short_message():
    outcome = call(giving(lambda: ui("x" * 20_000_000, data=1)), "give")
    assert (outcome.code, len(outcome.message) < 200) == ("too_large", True)


def test_a_validation_error_inside_a_tool_is_a_failure_not_the_models_mistake():
    assert call(gate_for(_raising(ValidationError("canary"))), "give").code == "failed"


# --- time, stop and context ---


def test_a_tool_over_its_time_is_left_behind_and_its_late_result_dropped():
    """Law 10."""
    go, finished = threading.Event(), threading.Event()

    def slow(params, ctx):
        go.wait(20)
        finished.set()
        return "late"

    limits = Settings(tool_seconds=0.05).limits
    outcome = call(gate_for(make(slow), limits=limits), "slow")
    assert outcome.code == "timeout"
    assert outcome.message.startswith("slow did not answer within 0.0")
    go.set()
    assert finished.wait(20)
    assert outcome.code == "timeout"


def test_a_call_has_no_more_time_than_its_turn():
    gate = gate_for(make(lambda params, ctx: ctx.stop.wait(20), name="slow"))
    outcome = call(gate, "slow", site=CallSite(seconds=0.05))
    assert outcome.code == "timeout"
    assert outcome.message.startswith("slow did not answer within 0.0")


def test_a_stop_leaves_a_running_tool_at_once():
    stop, entered = Stop(), threading.Event()

    def slow(params, ctx):
        entered.set()
        ctx.stop.wait(20)
        left.set()

    left = threading.Event()
    threading.Thread(target=lambda: (entered.wait(20), stop.set()), daemon=True).start()
    outcome = call(gate_for(make(slow)), "slow", site=CallSite(stop=stop))
    assert outcome.code == "failed"
    assert "stopped" in outcome.message
    assert left.wait(20), "the tool that was left behind learns it by ctx.stop"


def test_a_tool_that_was_left_behind_can_see_it():
    seen = []

    def looping(params, ctx):
        seen.append(ctx.stopped)
        while not ctx.stopped:
            time.sleep(0.005)
        seen.append(ctx.stopped)

    limits = Settings(tool_seconds=0.05).limits
    assert call(gate_for(make(looping), limits=limits), "looping").code == "timeout"
    until(lambda: seen == [False, True])


def test_a_callback_that_blocks_at_a_tools_stop_holds_up_nobody():
    free = threading.Event()

    def clinging(params, ctx):
        ctx.stop.on(lambda: free.wait(60))
        return 1

    began = time.monotonic()
    assert call(gate_for(make(clinging)), "clinging") == Ran(1)
    assert time.monotonic() - began < 20
    free.set()


def test_a_report_after_the_time_ends_the_tool():
    ended = threading.Event()

    def chatty(params, ctx):
        try:
            while True:
                time.sleep(0.005)
                yield 1
        finally:
            ended.set()

    limits = Settings(tool_seconds=0.1).limits
    assert call(gate_for(make(chatty), limits=limits), "chatty").code == "timeout"
    assert ended.wait(20)


def test_progress_arrives_in_order_and_in_the_callers_thread():
    seen = []

    def count(params, ctx):
        for number in range(200):
            ctx.progress(number)
        return "done"

    site = CallSite(progress=lambda value: seen.append((value, threading.get_ident())))
    assert call(gate_for(make(count)), "count", site=site) == Ran("done")
    assert seen == [(number, threading.get_ident()) for number in range(200)]


def test_what_watches_the_progress_may_raise_and_is_heard():
    """A log that cannot be written ends the turn, not the tool alone."""

    def broken(value):
        raise OSError("disk")

    def count(params, ctx):
        yield 1

    with pytest.raises(OSError, match="disk"):
        call(gate_for(make(count)), "count", site=CallSite(progress=broken))


def test_a_tool_knows_its_place_in_the_session():
    def where(params, ctx):
        return [ctx.actor.id, ctx.agent, ctx.session_id, ctx.turn_id, ctx.call_id]

    site = CallSite(session_id="s1", turn_id="t1", call_id="t1-1")
    assert call(gate_for(make(where)), "where", site=site) == Ran(["ann", "desk", "s1", "t1", "t1-1"])


def test_a_tool_cannot_change_the_arguments_that_were_logged():
    arguments = MappingProxyType({"number": 7})

    def take(params, ctx):
        params["number"] = 8
        return params["number"]

    assert call(gate_for(make(take, params=Order)), "take", arguments) == Ran(8)
    assert arguments == {"number": 7}


@pytest.fixture
def app():
    return Flask("shop")


def _where(params, ctx):
    return {
        "app": current_app.name,
        "request": has_request_context(),
        "tenant": g.get("tenant"),
        "thread": threading.current_thread().name,
    }


def test_a_tool_has_a_fresh_app_context_and_no_request(app):
    """Also when it is called from inside one: the request would be somebody else's later."""
    gate = gate_for(make(_where, name="where"), around=_around(app, None))
    with app.test_request_context():
        g.tenant = "leaked"
        outcome = call(gate, "where")
    assert outcome == Ran({"app": "shop", "request": False, "tenant": None, "thread": "litro-tool"})


def test_inline_work_sees_neither_the_callers_request_nor_its_g(app):
    gate = gate_for(make(_where, name="where"), around=_around(app, None)).within(inline)
    with app.test_request_context():
        g.tenant = "leaked"
        assert call(gate, "where").value | {"thread": ""} == {
            "app": "shop",
            "request": False,
            "tenant": None,
            "thread": "",
        }


def test_tool_context_prepares_every_call(app):
    def tenant(context):
        g.tenant = context.actor.id

    gate = gate_for(make(_where, name="where"), around=_around(app, tenant))
    assert call(gate, "where").value["tenant"] == "ann"


@pytest.mark.parametrize("fails", [False, True])
def test_a_tool_context_that_is_a_generator_cleans_up(app, fails):
    steps = []

    def prepared(context):
        steps.append("before")
        try:
            yield
        finally:
            steps.append(current_app.name)

    def work(params, ctx):
        steps.append("tool")
        if fails:
            raise RuntimeError

    call(gate_for(make(work), around=_around(app, prepared)), "work")
    assert steps == ["before", "tool", "shop"]


def test_a_tool_context_that_raises_keeps_the_tool_from_running(app, ran):
    def broken(context):
        raise RuntimeError("canary-context")

    gate = gate_for(make(lambda params, ctx: ran.append(1), name="work"), around=_around(app, broken))
    outcome = call(gate, "work")
    assert (outcome.code, ran, "canary" in outcome.message) == ("failed", [], False)
