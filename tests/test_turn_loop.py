"""One turn: its rounds, calls, limits and ends; and that nothing is shown which the log lacks."""

import contextlib
import itertools
import json
import logging
import tempfile
import threading
import time
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marshmallow import Schema, fields

from flask_litro_agent import PUBLIC, Mode, events, tool
from flask_litro_agent.contracts import (
    AssistantState,
    Done,
    ProviderError,
    ReasoningDelta,
    Rendered,
    TextDelta,
    ToolCallEvent,
    Usage,
)
from flask_litro_agent.errors import StoreError
from flask_litro_agent.sessions.disk import Disk
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.turns.tail import HEARTBEAT
from tests.bench import (
    ANN,
    BOB,
    SOON,
    Bench,
    in_background,
    kinds,
    messages_are_valid,
    of_kind,
    reason,
    scripts,
    until,
)

ECHO = [["call", "echo", {"value": 1}]]
DONE = [["say", "done"]]


class Plays:
    """A provider that plays one list of events a request, the last one for ever; a callable is called."""

    model = "plays"

    def __init__(self, *answers):
        self.answers = answers
        self.requests = []

    def stream(self, request, stop):
        answer = self.answers[min(len(self.requests), len(self.answers) - 1)]
        self.requests.append(request)
        for event in answer:
            yield event(stop) if callable(event) and not isinstance(event, type) else event


class Around(FileStore):
    """A real file store that notes the appends."""

    def __init__(self, path, **options):
        super().__init__(path, fsync="never", **options)
        self.groups = []

    def append(self, key, entries, lease):
        super().append(key, entries, lease)
        self.groups.append([entry.kind for entry in entries])


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path / "sessions")


def bench_with(tmp_path, *answers, **options):
    return Bench(tmp_path / "sessions", provider=Plays(*answers), **options)


# --- a turn ---


def test_a_turn_is_written_in_the_words_of_the_design(bench):
    found = bench.run([["say", "one two"], *ECHO, ["usage", 3, 4]], DONE)
    assert kinds(found) == [
        "turn-start", "message", "text-delta", "text-delta", "message", "tool-call", "usage", "tool-result",
        "text-delta", "message", "turn-end",
    ]  # fmt: skip
    turn_id = found[0].payload["turn_id"]
    assert found[0].payload == {"turn_id": turn_id, "agent": "desk"}
    assert found[1].payload["role"] == "user"
    assert found[4].payload == {"role": "assistant", "text": "one two "}
    assert found[5].payload == {"call_id": f"{turn_id}-1", "name": "echo", "input": {"value": 1}}
    assert found[6].payload == {"round": 1, "input_tokens": 3, "output_tokens": 4, "model": "puppet-1"}
    assert found[7].payload == {"call_id": f"{turn_id}-1", "name": "echo", "output": 1}
    assert found[-1].payload == {
        "turn_id": turn_id,
        "reason": "finished",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }


def test_who_asked_is_private(bench):
    bench.run(DONE)
    assert json.loads(bench.entries()[0].private) == {"actor": {"id": "ann", "name": "Ann"}}


def test_the_request_has_the_instructions_the_tools_and_the_limits(tmp_path):
    bench = Bench(tmp_path / "s", limits={"idle_seconds": 7.0, "turn_seconds": 100.0})
    bench.run(DONE)
    (request,) = bench.puppet.requests
    assert request.system == "Be kind."
    assert {spec.name for spec in request.tools} == set(bench.tools)
    assert request.options.idle_seconds == 7.0
    assert 90 < request.options.total_seconds <= 100


def test_usage_is_summed_over_the_rounds(bench):
    found = bench.run(
        [*ECHO, ["usage", 3, 4]], [*ECHO, ["usage", 10, 20]], [["say", "done"], ["usage", 1, 1]]
    )
    assert found[-1].payload["usage"] == {"input_tokens": 14, "output_tokens": 25}
    assert [usage["round"] for usage in of_kind(found, events.USAGE)] == [1, 2, 3]


def test_usage_that_is_not_said_is_nothing(tmp_path):
    found = bench_with(tmp_path, [Usage(), TextDelta("x"), Done()]).run()
    assert of_kind(found, events.USAGE) == [
        {"round": 1, "input_tokens": 0, "output_tokens": 0, "model": "plays"}
    ]


@pytest.mark.parametrize(("told", "counted"), [(-5, 0), (10**30, 10**12)])
def test_usage_that_no_turn_can_have_is_not_added_to_what_others_used(tmp_path, told, counted):
    usage = Usage(input_tokens=told, output_tokens=told, cached_tokens=told)
    found = bench_with(tmp_path, [usage, TextDelta("x"), Done()]).run()
    (payload,) = of_kind(found, events.USAGE)
    assert [payload[name] for name in ("input_tokens", "output_tokens", "cached_tokens")] == [counted] * 3


def test_deltas_are_written_as_they_come_and_never_merged(tmp_path):
    """Control: the second delta is still to come when the first is in the log."""
    come = threading.Event()
    bench = bench_with(tmp_path, [TextDelta("a"), lambda stop: come.wait(SOON) and TextDelta("b"), Done()])
    live = bench.start()
    until(lambda: {"text": "a"} in [event.payload for event in bench.events()])
    come.set()
    assert live.wait_closed(SOON)
    assert of_kind(bench.events(), events.TEXT_DELTA) == [{"text": "a"}, {"text": "b"}]


def test_reasoning_is_shown_and_not_sent_back(bench):
    found = bench.run([["think", "hm"], *ECHO], DONE)
    assert of_kind(found, events.REASONING_DELTA) == [{"text": "hm"}]
    assert "hm" not in repr([message.parts for message in bench.puppet.requests[-1].messages[1:]])


def test_empty_deltas_are_no_events(tmp_path):
    found = bench_with(tmp_path, [TextDelta(""), ReasoningDelta(""), TextDelta("x"), Done()]).run()
    assert [payload["text"] for payload in of_kind(found, events.TEXT_DELTA)] == ["x"]
    assert of_kind(found, events.REASONING_DELTA) == []


def test_a_component_stands_in_the_place_of_the_result(bench):
    found = bench.run([["call", "card", {}]], DONE)
    (card,) = of_kind(found, events.UI)
    assert card["html"] == "<x-card>canary-html</x-card>"
    assert (card["data"], card["hydrate"]) == ({"city": "Lisbon"}, {"props": {"city": "Lisbon"}})
    assert of_kind(found, events.TOOL_RESULT) == []


@pytest.mark.parametrize(
    "rendered",
    [Rendered("nul \x00"), Rendered(b"bytes"), Rendered("x", {"a": object()}), Rendered("\ud800"), None],
    ids=["nul", "bytes", "hydrate", "surrogate", "none"],
)  # fmt: skip
def test_a_renderer_that_errs_fails_its_call_and_not_the_turn(bench, rendered):
    found = bench.run([["call", "card", {}]], DONE, render=lambda component: rendered)
    assert reason(found) == "finished"
    assert of_kind(found, events.TOOL_RESULT)[0]["error"]["code"] == "failed"


def test_a_component_that_is_huge_when_rendered_fails_its_call_and_not_the_turn(bench):
    found = bench.run([["call", "card", {}]], DONE, render=lambda component: Rendered("x" * 20_000_000))
    assert reason(found) == "finished"
    assert of_kind(found, events.TOOL_RESULT)[0]["error"]["code"] == "too_large"


def test_a_component_that_nobody_knows_is_a_failed_call(bench):
    found = bench.run([["call", "card", {"component": "no-card"}]], DONE)
    assert "no-card" in of_kind(found, events.TOOL_RESULT)[0]["error"]["message"]


# --- calls ---


def test_every_call_gets_its_result_in_its_order_even_when_one_fails(bench):
    found = bench.run(
        [*ECHO, ["call", "crash", {}], ["call", "nothing_of_the_kind", {}], ["raw", "echo", "{"],
         ["call", "polite", {}], ["call", "echo", {}], ["call", "buried", {}], ["call", "leave", {}],
         ["call", "echo", {"value": 2}]],
        DONE,
    )  # fmt: skip
    calls, results = of_kind(found, events.TOOL_CALL), of_kind(found, events.TOOL_RESULT)
    assert [call["call_id"] for call in calls] == [result["call_id"] for result in results]
    codes = [result.get("error", {}).get("code", "ran") for result in results]
    assert codes == [
        "ran", "failed", "unknown_tool", "invalid_input", "failed", "invalid_input", "nested_ui", "failed", "ran",
    ]  # fmt: skip
    assert reason(found) == "finished"


def test_a_forbidden_tool_is_shown_to_the_model_and_answers_forbidden(bench):
    """So that the assistant can explain why."""
    found = bench.run([["call", "secret", {}]], DONE, actor=BOB)
    assert of_kind(found, events.TOOL_RESULT)[0]["error"]["code"] == "forbidden"
    assert "secret" in {spec.name for spec in bench.puppet.requests[0].tools}
    assert of_kind(bench.run([["call", "secret", {}]], DONE, actor=ANN), events.TOOL_RESULT)[0]["output"] == {
        "who": "ann"
    }


def test_all_calls_of_a_round_are_one_append_before_the_first_one_runs(tmp_path):
    store = Around(tmp_path / "s")
    seen = []

    class Named(Schema):
        name = fields.String(required=True)

    @tool(description="x", permission=PUBLIC, mode=Mode.READ, params=Named)
    def look(params, ctx):
        seen.append([entry.kind for entry in store.read(bench.key())].count(events.TOOL_CALL))
        return params["name"]

    bench = Bench(store, tools=[look])
    bench.run([["say", "x"], *(["call", "look", {"name": name}] for name in "abc")], DONE)
    assert seen == [3, 3, 3]
    assert ["message", "tool-call", "tool-call", "tool-call"] in store.groups


def test_call_ids_are_ours_whatever_the_upstream_says(tmp_path):
    same = [ToolCallEvent("same", "echo", {"value": n}) for n in (1, 2)]
    found = bench_with(tmp_path, [*same, Done()], [TextDelta("done"), Done()]).run()
    turn_id = found[0].payload["turn_id"]
    assert [call["call_id"] for call in of_kind(found, events.TOOL_CALL)] == [f"{turn_id}-1", f"{turn_id}-2"]
    assert [result["output"] for result in of_kind(found, events.TOOL_RESULT)] == [1, 2]


def test_progress_stands_between_its_call_and_its_result(bench):
    found = bench.run([["call", "count", {"to": 3}]], DONE)
    assert kinds(found)[2:7] == [
        "tool-call",
        "tool-progress",
        "tool-progress",
        "tool-progress",
        "tool-result",
    ]
    assert [payload["value"] for payload in of_kind(found, events.TOOL_PROGRESS)] == [0, 1, 2]


# --- limits (law 10) ---


def test_a_turn_ends_at_its_rounds(tmp_path):
    """Law 10, I7: a model that calls tools for ever."""
    bench = Bench(tmp_path / "s", limits={"max_rounds": 2})
    found = bench.run([["call", "count", {"to": 0}]])
    assert (reason(found), len(bench.puppet.requests)) == ("limit", 2)


def test_a_turn_ends_at_its_calls_and_every_call_has_a_result(tmp_path):
    """Law 10, I7."""
    bench = Bench(tmp_path / "s", limits={"max_calls": 3})
    found = bench.run([["call", "echo", {"value": n}] for n in range(5)])
    results = of_kind(found, events.TOOL_RESULT)
    assert [result.get("output") for result in results] == [0, 1, 2, None, None]
    assert results[3]["error"] == {"code": "failed", "message": "not run: the turn ended (limit)"}
    assert reason(found) == "limit"


def test_as_many_calls_as_allowed_are_no_limit(tmp_path):
    bench = Bench(tmp_path / "s", limits={"max_calls": 3})
    assert reason(bench.run([["call", "echo", {"value": n}] for n in range(3)], DONE)) == "finished"


def test_the_same_call_runs_three_times_and_is_then_refused(bench):
    """Law 10, I7: the same call fifty times."""
    found = bench.run(*[ECHO] * 5, [["call", "echo", {"value": 2}]], DONE)
    results = of_kind(found, events.TOOL_RESULT)
    assert [result.get("output") for result in results] == [1, 1, 1, None, None, 2]
    assert "already called 3 times" in results[3]["error"]["message"]
    assert reason(found) == "finished"


def test_the_order_of_the_arguments_makes_no_other_call(bench):
    pair = [["call", "echo", {"value": {"a": 1, "b": 2}}]], [["call", "echo", {"value": {"b": 2, "a": 1}}]]
    found = bench.run(*pair, *pair, DONE)
    assert [("error" in result) for result in of_kind(found, events.TOOL_RESULT)] == [
        False,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    "script", [[["say", "x"], ["sleep", 3600]], [["call", "slow", {"seconds": 3600}]]], ids=["model", "tool"]
)
def test_a_turn_ends_at_its_time(tmp_path, script):
    """Law 10, I1: a silent model, a tool that never comes back."""
    bench = Bench(tmp_path / "s", limits={"turn_seconds": 0.2})
    began = time.monotonic()
    found = bench.run(script, DONE)
    assert reason(found) == "limit"
    assert time.monotonic() - began < 30
    assert len(of_kind(found, events.TOOL_CALL)) == len(of_kind(found, events.TOOL_RESULT))


def test_a_model_that_never_ends_its_answer_ends_with_the_turn(tmp_path):
    """Law 10, I1: an endless stream."""

    class Endless:
        model = "endless"

        def stream(self, request, stop):
            while True:
                time.sleep(0.002)
                yield TextDelta("x")

    bench = Bench(tmp_path / "s", provider=Endless(), limits={"turn_seconds": 0.2})
    assert reason(bench.run()) == "limit"


def test_a_tool_ends_at_its_time_and_the_turn_goes_on(tmp_path):
    """Law 10."""
    bench = Bench(tmp_path / "s", limits={"tool_seconds": 0.1})
    found = bench.run([["call", "slow", {"seconds": 20}]], DONE)
    assert of_kind(found, events.TOOL_RESULT)[0]["error"]["code"] == "timeout"
    assert reason(found) == "finished"


def test_a_late_result_is_never_written(tmp_path):
    bench = Bench(tmp_path / "s", limits={"tool_seconds": 0.1})
    bench.run([["call", "slow", {"seconds": 0.3}]], [["sleep", 0.5], ["say", "done"]])
    assert b"late" not in bench.log()


def test_an_output_over_the_limit_is_a_failed_call_and_a_small_log(tmp_path):
    """Law 10, I5."""
    bench = Bench(tmp_path / "s", limits={"max_output": 1024})
    found = bench.run([["call", "flood", {"bytes": 1025}], ["call", "flood", {"bytes": 1000}]], DONE)
    results = of_kind(found, events.TOOL_RESULT)
    assert (results[0]["error"]["code"], len(results[1]["output"])) == ("too_large", 1000)


# --- the provider fails ---

BUSY = ProviderError("overloaded", "busy", status=529, retryable=True, retry_after=0.01)


def test_an_answer_that_failed_before_its_first_event_is_asked_again(tmp_path):
    bench = bench_with(tmp_path, [BUSY], [BUSY], [TextDelta("done"), Done()])
    found = bench.run()
    assert (reason(found), len(bench.puppet.requests)) == ("finished", 3)
    assert of_kind(found, events.ERROR) == []


def test_three_attempts_are_the_most(tmp_path):
    bench = bench_with(tmp_path, [BUSY])
    found = bench.run()
    assert (reason(found), len(bench.puppet.requests)) == ("failed", 3)
    assert of_kind(found, events.ERROR) == [{"code": "overloaded", "message": "busy", "retryable": True}]


@pytest.mark.parametrize(
    "first", [TextDelta("x"), ReasoningDelta("x"), ToolCallEvent("1", "echo", {})], ids=["text", "reasoning", "call"]
)  # fmt: skip
def test_nothing_is_asked_twice_after_a_first_event(tmp_path, first):
    bench = bench_with(tmp_path, [first, BUSY])
    assert (reason(bench.run()), len(bench.puppet.requests)) == ("failed", 1)


def test_what_cannot_get_better_is_not_asked_again(tmp_path):
    bench = bench_with(tmp_path, [ProviderError("auth", "no")])
    assert (reason(bench.run()), len(bench.puppet.requests)) == ("failed", 1)


def test_retry_after_is_waited_for(tmp_path):
    later = ProviderError("rate_limit", "slow down", retryable=True, retry_after=0.3)
    bench = bench_with(tmp_path, [later], [TextDelta("x"), Done()])
    began = time.monotonic()
    assert reason(bench.run()) == "finished"
    assert time.monotonic() - began >= 0.3


@pytest.mark.parametrize(("wait", "seconds"), [(30, 300), (15, 12)], ids=["over the cap", "over the turn"])
def test_a_wait_that_is_too_long_is_not_begun(tmp_path, wait, seconds):
    later = ProviderError("rate_limit", "slow down", retryable=True, retry_after=wait)
    bench = bench_with(tmp_path, [later], limits={"turn_seconds": float(seconds)})
    began = time.monotonic()
    assert reason(bench.run()) == "failed"
    assert time.monotonic() - began < 10


def test_a_stop_ends_the_wait_for_another_attempt(tmp_path):
    later = ProviderError("rate_limit", "slow down", retryable=True, retry_after=15)
    bench = bench_with(tmp_path, [later])
    live = bench.start()
    until(lambda: bench.puppet.requests)
    began = time.monotonic()
    live.end("stopped")
    assert live.wait_closed(SOON)
    assert time.monotonic() - began < 12
    assert reason(bench.events()) == "stopped"


def test_a_text_that_broke_off_stays_and_its_calls_never_run(tmp_path):
    mark = tmp_path / "mark"
    bench = Bench(tmp_path / "s")
    found = bench.run([["say", "half"], ["call", "mark", {"path": str(mark)}], ["error", "network", False]])
    assert (reason(found), mark.exists()) == ("failed", False)
    assert of_kind(found, events.TOOL_CALL) == []
    assert of_kind(found, events.MESSAGE)[1] == {"role": "assistant", "text": "half "}


def test_an_answer_without_its_end_is_truncated(bench):
    found = bench.run([["say", "half"], ["cut"]])
    assert (reason(found), of_kind(found, events.ERROR)[0]["code"]) == ("failed", "truncated")


def test_a_provider_that_raises_is_an_id_in_the_log_of_the_session(bench, caplog):
    """J8: the person gets the id, the application's log the reason."""
    found = bench.run([["say", "half"], ["raise"]])
    (error,) = of_kind(found, events.ERROR)
    assert (reason(found), error["code"]) == ("failed", "internal")
    assert b"canary" not in bench.log()
    error_id = error["message"].removeprefix("internal error ")
    assert error_id in caplog.text
    assert "canary-secret" in caplog.text


@pytest.mark.parametrize(
    "error", [SystemExit(3), GeneratorExit(), StoreError("canary"), MemoryError()], ids=repr
)
def test_whatever_a_provider_raises_the_turn_has_its_end(tmp_path, error):
    def boom(stop):
        raise error

    found = bench_with(tmp_path, [TextDelta("x"), boom]).run()
    assert (reason(found), of_kind(found, events.ERROR)[0]["code"]) == ("failed", "internal")


def test_a_stop_before_the_first_event_ends_the_turn(bench):
    live = bench.start([["sleep", 20]])
    until(lambda: bench.puppet.requests)
    live.end("stopped")
    assert live.wait_closed(3)
    assert kinds(bench.events()) == ["turn-start", "message", "turn-end"]


# --- the provider talks rubbish ---


@pytest.mark.parametrize(
    "event",
    [None, "text", 7, object(), {"text": "x"}, [TextDelta("x")]],
    ids=["none", "text", "number", "object", "dict", "list"],
)
def test_what_is_no_provider_event_is_passed_over(tmp_path, event):
    found = bench_with(tmp_path, [event, TextDelta("x"), Done()]).run()
    assert (reason(found), of_kind(found, events.TEXT_DELTA)) == ("finished", [{"text": "x"}])


@pytest.mark.parametrize(
    "event",
    [
        TextDelta(7), TextDelta(["x"]), ReasoningDelta(b"x"), ToolCallEvent("1", None, {}),
        ToolCallEvent("1", 7, {}), ToolCallEvent("1", "echo", {}, invalid=True, raw=7),
        AssistantState(object()), AssistantState({"a": float("nan")}), Usage(input_tokens="many"),
    ],
    ids=lambda event: type(event).__name__,
)  # fmt: skip
def test_an_event_of_the_wrong_types_fails_the_turn_in_words(tmp_path, event):
    found = bench_with(tmp_path, [TextDelta("said "), event, Done()]).run()
    assert (reason(found), of_kind(found, events.ERROR)[0]["code"]) == ("failed", "internal")


@pytest.mark.parametrize(
    "error",
    [ProviderError("server", "nul \x00"), ProviderError("server", "\ud800"), ProviderError("server", object()),
     ProviderError("overloaded", "x", retryable=True, retry_after="soon")],
    ids=["nul", "surrogate", "object", "wait"],
)  # fmt: skip
def test_an_error_that_json_cannot_say_is_an_error_still(tmp_path, error):
    found = bench_with(tmp_path, [error]).run()
    assert (reason(found), of_kind(found, events.ERROR)[0]["code"]) == ("failed", "internal")


def test_nul_and_lone_surrogates_in_a_text_become_visible_signs(tmp_path):
    bench = bench_with(tmp_path, [TextDelta("a\x00b\ud83d"), Done()])
    found = bench.run()
    assert of_kind(found, events.MESSAGE)[1]["text"] == "a\ufffdb?"
    assert of_kind(found, events.TEXT_DELTA) == [{"text": "a\ufffdb?"}]


@pytest.mark.parametrize(
    "arguments",
    [{"value": float("inf")}, {"value": "\x00"}, {"value": "\ud800"}, {"value": b"x"}, {"value": {1, 2}},
     7, None, "text", {"value": 10**2000}],
    ids=["infinity", "nul", "surrogate", "bytes", "set", "number", "none", "text", "long"],
)  # fmt: skip
def test_arguments_that_are_no_strict_json_are_an_invalid_call(tmp_path, arguments):
    bench = bench_with(tmp_path, [ToolCallEvent("1", "echo", arguments), Done()], [TextDelta("done"), Done()])
    found = bench.run()
    (call,) = of_kind(found, events.TOOL_CALL)
    assert call["invalid"]
    assert of_kind(found, events.TOOL_RESULT)[0]["error"]["code"] == "invalid_input"
    assert reason(found) == "finished"


def test_deep_arguments_are_an_invalid_call(tmp_path):
    deep = "x"
    for _ in range(5000):
        deep = [deep]
    bench = bench_with(
        tmp_path, [ToolCallEvent("1", "echo", {"value": deep}), Done()], [TextDelta("done"), Done()]
    )
    found = bench.run()
    assert of_kind(found, events.TOOL_CALL)[0]["invalid"]
    assert reason(found) == "finished"


def test_what_runs_is_what_the_log_says(tmp_path):
    """Law 7 in small: a mapping that is no plain JSON is read once, and logged and run as read."""
    arguments = MappingProxyType({"value": {1: (2, 3)}})
    bench = bench_with(tmp_path, [ToolCallEvent("1", "echo", arguments), Done()], [TextDelta("done"), Done()])
    found = bench.run()
    assert of_kind(found, events.TOOL_CALL)[0]["input"] == {"value": {"1": [2, 3]}}
    assert of_kind(found, events.TOOL_RESULT)[0]["output"] == {"1": [2, 3]}


def test_arguments_whose_text_cannot_be_had_are_an_invalid_call(tmp_path):
    class Shy(dict):
        def __repr__(self):
            raise RuntimeError("canary")

    shy = ToolCallEvent("1", "echo", Shy(value=b"x"))
    found = bench_with(tmp_path, [shy, Done()], [TextDelta("done"), Done()]).run()
    assert of_kind(found, events.TOOL_CALL)[0]["raw"] == "a Shy that cannot be shown"


def test_a_huge_name_is_cut_and_names_nothing(tmp_path):
    bench = bench_with(
        tmp_path, [ToolCallEvent("1", "echo" * 500_000, {}), Done()], [TextDelta("done"), Done()]
    )
    found = bench.run()
    assert of_kind(found, events.TOOL_RESULT)[0]["error"]["code"] == "unknown_tool"
    assert len(bench.log()) < 10_000


def test_a_name_with_control_characters_stays_one_event(tmp_path):
    bench = bench_with(
        tmp_path, [ToolCallEvent("1", "a\r\nb\x00\ud800", {}), Done()], [TextDelta("done"), Done()]
    )
    found = bench.run()
    assert of_kind(found, events.TOOL_CALL)[0]["name"] == "a\r\nb\ufffd?"
    assert reason(found) == "finished"


def test_ten_thousand_calls_in_one_answer_are_answered_and_end_the_turn(tmp_path):
    """Law 10, I7."""
    calls = [ToolCallEvent(str(n), "echo", {"value": n}) for n in range(10_000)]
    bench = bench_with(tmp_path, [*calls, Done()])
    found = bench.run()
    assert reason(found) == "limit"
    assert sum("output" in result for result in of_kind(found, events.TOOL_RESULT)) == 50


@pytest.mark.parametrize(
    "event",
    [
        TextDelta("x" * 100_000),
        ReasoningDelta("x" * 100_000),
        ToolCallEvent("up_1", "echo", {"value": "x" * 100_000}),
        AssistantState({"signature": "x" * 100_000}),
        TextDelta("x" * 20_000_000),
        ToolCallEvent("up_1", "echo", {"value": "x" * 20_000_000}),
        ToolCallEvent("up_1", "echo", {}),
    ],
    ids=["text", "reasoning", "calls", "state", "one text", "one call", "small calls"],
)
def test_an_answer_without_an_end_is_too_large_before_it_fills_memory_or_disk(tmp_path, event):
    """Law 10, I1: a provider of a plugin may have no cap of its own."""
    bench = bench_with(tmp_path, itertools.repeat(event))
    found = bench.run()
    assert reason(found) == "failed"
    assert of_kind(found, events.ERROR)[0]["code"] == "protocol"
    assert "larger than" in of_kind(found, events.ERROR)[0]["message"]
    assert len(bench.log()) < 6_000_000


def test_a_huge_message_of_an_error_is_cut(tmp_path):
    found = bench_with(tmp_path, [ProviderError("server", "x" * 20_000_000)]).run()
    (error,) = of_kind(found, events.ERROR)
    assert (error["code"], len(error["message"])) == ("server", 4096)


# --- live and replay ---


def _post_bytes(bench, rounds):
    """Return what a POST response of the turn sent while the turn ran in its thread."""
    live = bench.start(*rounds)
    thread, results = in_background(lambda: bench.read_turn(live))
    thread.join(SOON)
    assert live.wait_closed(SOON)
    return results[0]


@settings(max_examples=40)
@given(st.lists(scripts(), min_size=1, max_size=2), st.data())
def test_replay_equals_live_byte_for_byte(turns, data):
    """Law 2: what each POST sent, put together, is the log's lines, and so is a GET from any seq on."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        posted = b"".join(_post_bytes(bench, rounds) for rounds in turns)
        stored = [entry.line for entry in bench.entries()]
        assert posted == b"".join(stored)
        first = data.draw(st.integers(1, len(stored) + 1))
        replay = bench.tail(after=first - 1, until=len(stored))
        assert b"".join(replay.chunks()) == b"".join(stored[first - 1 :])
        assert [events.decode(line).seq for line in stored] == list(range(1, len(stored) + 1))


# --- the disk fails ---


class SickDisk(Disk):
    """Takes so many bytes of each write from the ``first`` to the ``last``, and nothing is then durable."""

    def __init__(self, first, last, taken):
        self.first, self.last, self.taken, self.writes = first, last, taken, 0

    def write(self, fd, data):
        self.writes += 1
        if self.first <= self.writes <= self.last:
            if self.taken == 0:
                raise OSError(28, "No space left on device")
            return super().write(fd, data[: self.taken])
        return super().write(fd, data)


SICK = ([["say", "one two"], *ECHO, ["call", "count", {"to": 2}]], [["say", "done"]])


def _writes_of_a_turn(folder):
    store = Around(folder)
    Bench(store).run(*SICK)
    return len(store.groups)


def _shown_by(bench, rounds):
    """Return what a viewer got of the turn, which may not have begun."""
    try:
        live = bench.start(*rounds)
    except StoreError:
        return b""
    thread, results = in_background(lambda: bench.read_turn(live))
    thread.join(SOON)
    assert live.wait_closed(SOON)
    return results[0]


@pytest.mark.parametrize("taken", [0, 1, 100, 250])
def test_one_failed_write_ends_the_turn_in_words_and_shows_nothing_that_is_not_stored(tmp_path, taken):
    """Law 1, H2: ENOSPC or a short write at every append in turn."""
    for number in range(2, _writes_of_a_turn(tmp_path / "well") + 1):
        root = tmp_path / f"{taken}-{number}"
        bench = Bench(FileStore(root, fsync="never", disk=SickDisk(number, number, taken)))
        shown = _shown_by(bench, SICK)
        log = bench.log()
        assert shown == log
        found = bench.events()
        assert found[-1].kind == events.TURN_END
        assert found[-1].payload["reason"] in ("failed", "finished")
        assert {call["call_id"] for call in of_kind(found, events.TOOL_CALL)} == {
            result["call_id"] for result in of_kind(found, events.TOOL_RESULT)
        }
        bench.run(DONE)
        assert messages_are_valid(bench.puppet.requests[-1].messages)


@pytest.mark.parametrize("taken", [0, 100])
def test_a_disk_that_stays_full_ends_the_turn_without_a_word_that_is_not_stored(tmp_path, taken):
    """Law 1, H2: the next reader closes the turn when there is room again."""
    for number in range(2, _writes_of_a_turn(tmp_path / "well") + 1):
        root = tmp_path / f"{taken}-{number}"
        sick = SickDisk(number, 10**9, taken)
        bench = Bench(FileStore(root, fsync="never", disk=sick))
        shown = _shown_by(bench, SICK)
        assert bench.log().startswith(shown)
        sick.last = 0
        standing = bench.runner.standing(bench.key())
        assert standing.turn_id is None
        assert bench.events()[-1].payload["reason"] in ("interrupted", "finished")


def test_a_first_write_that_fails_starts_no_turn(tmp_path):
    bench = Bench(FileStore(tmp_path / "s", fsync="never", disk=SickDisk(1, 1, 0)))
    with pytest.raises(StoreError):
        bench.start(DONE)
    assert bench.runner.live(bench.key()) is None
    assert not bench.store.is_leased(bench.key())
    assert reason(bench.run(DONE)) == "finished"


def test_control_a_turn_that_shows_first_shows_what_the_log_lacks(tmp_path):
    """Law 1, control: the same failing disk under the naive order."""

    class ShowsFirst(FileStore):
        def append(self, key, entries, lease):
            bench.runner.live(key) and bench.runner.live(key).show(entries)
            super().append(key, entries, lease)

    bench = Bench(ShowsFirst(tmp_path / "s", fsync="never", disk=SickDisk(4, 10**9, 0)))
    assert not bench.log().startswith(_shown_by(bench, SICK) or b"nothing was shown")


# --- the lease is lost ---


@pytest.mark.parametrize("lost", [False, True], ids=["control", "lost"])
def test_a_turn_that_lost_its_lease_writes_nothing_more_and_says_so(tmp_path, caplog, lost):
    """Law 3. Control: the same turn whose lease is renewed writes on."""
    caplog.set_level(logging.WARNING)

    class Loses(FileStore):
        lost = False

        def renew(self, lease):
            return not self.lost and super().renew(lease)

    store = Loses(tmp_path / "s", fsync="never")
    bench = Bench(store, lease_seconds=1.0)
    live = bench.start([["say", "one"], ["sleep", 1.0], ["say", "two"]])
    until(lambda: len(bench.entries()) == 3)
    store.lost = lost
    assert live.wait_closed(SOON)
    assert (len(bench.entries()) == 3) == lost
    assert ("lease_lost" in caplog.text) == lost


def test_a_viewer_of_a_turn_that_lost_its_lease_goes_on_with_the_store(tmp_path):
    """Law 3: its stream ends without a turn-end of ours."""

    class Loses(FileStore):
        def renew(self, lease):
            return False

    bench = Bench(Loses(tmp_path / "s", fsync="never"), lease_seconds=1.0)
    live = bench.start([["say", "one"], ["sleep", 20]])
    shown = bench.read_turn(live)
    assert live.wait_closed(SOON)
    assert shown == bench.log()
    assert b"turn-end" not in shown


# --- stops ---


def test_a_stop_in_a_tool_answers_the_calls_that_did_not_run(bench, tmp_path):
    mark = tmp_path / "mark"
    live = bench.start([["call", "forever", {}], ["call", "mark", {"path": str(mark)}]])
    until(lambda: events.TOOL_PROGRESS in kinds(bench.events()))
    live.end("stopped")
    assert live.wait_closed(SOON)
    results = of_kind(bench.events(), events.TOOL_RESULT)
    assert [result["error"]["message"] for result in results] == [
        "forever was left behind: the turn was stopped",
        "not run: the turn ended (stopped)",
    ]
    assert not mark.exists()


def test_a_stop_while_the_answer_comes_keeps_what_was_said(bench):
    live = bench.start([["say", "one"], ["sleep", 20], ["say", "two"]])
    until(lambda: events.TEXT_DELTA in kinds(bench.events()))
    live.end("stopped")
    assert live.wait_closed(SOON)
    assert of_kind(bench.events(), events.MESSAGE)[-1] == {"role": "assistant", "text": "one "}
    assert of_kind(bench.events(), events.ERROR) == []
    assert reason(bench.events()) == "stopped"


def test_only_whole_lines_and_blank_ones_are_sent(bench):
    live = bench.start([["say", "a b c d", 0.01]])
    tail = bench.tail(live.key, after=live.first_seq - 1, turn_from=live.first_seq)
    with contextlib.closing(tail.chunks()) as chunks:
        assert all(chunk == HEARTBEAT or chunk.endswith(b"}\n") for chunk in chunks)


def test_the_state_of_an_answer_that_broke_off_is_not_sent_back(tmp_path):
    """Half a signed thought is refused by who signed it."""
    state = AssistantState({"signature": "half"})
    bench = bench_with(
        tmp_path,
        [TextDelta("x"), state, ProviderError("server", "broke")],
        [TextDelta("x"), state, Done()],
        [Done()],
    )
    for _ in range(3):
        bench.run()
    said = [message for message in bench.puppet.requests[-1].messages if message.role == "assistant"]
    assert [message.state for message in said] == [None, {"signature": "half"}]


def test_the_calls_of_an_answer_that_came_with_the_stop_are_not_made(tmp_path):
    def done_too_late(stop):
        bench.runner.live(bench.key()).end("stopped")
        return Done()

    bench = bench_with(tmp_path, [ToolCallEvent("up_1", "echo", {"value": 1}), done_too_late])
    found = bench.run()
    assert reason(found) == "stopped"
    assert events.TOOL_CALL not in kinds(found)


def test_a_turn_end_that_stands_although_its_append_failed_is_not_written_again(tmp_path):
    class SaysNo(FileStore):
        """Stores a turn-end and says that it could not."""

        def append(self, key, entries, lease):
            super().append(key, entries, lease)
            if entries[-1].kind == events.TURN_END:
                raise StoreError("no answer")

    bench = Bench(SaysNo(tmp_path / "sessions", fsync="never"))
    assert kinds(bench.run(DONE)).count(events.TURN_END) == 1
