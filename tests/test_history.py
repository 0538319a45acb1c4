"""The log as the model's messages: valid after every kind of end, grown and rebuilt alike, without a word of html."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marshmallow import Schema

from flask_litro_agent import PUBLIC, Mode, events, tool, ui
from flask_litro_agent.contracts import Entry, Message, Text, ToolCall, ToolResult
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.turns.history import History
from flask_litro_agent.turns.writer import Draft
from tests.bench import Bench, here, messages_are_valid, of_kind, reason, scripts, until

RICH = (
    [["say", "let me look"], ["think", "hm"], ["state", {"signature": "abc"}], ["call", "echo", {"value": 1}],
     ["call", "crash", {}], ["call", "quiet", {"value": "private-canary"}], ["usage", 3, 4]],
    [["call", "card", {}], ["raw", "echo", "{broken"]],
    [["say", "done"]],
)  # fmt: skip


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path / "sessions")


def history_of(entries, *, context_tokens=100_000):
    history = History(context_tokens=context_tokens)
    for entry in entries:
        history.feed(entry)
    return history


def asked_now(bench):
    """Return the messages of the last request to the model."""
    return bench.puppet.requests[-1].messages


def copy_log(entries, store, key):
    lease = store.acquire(key, 15, "t0")
    if entries:
        store.append(key, entries, lease)
    store.release(lease)


# --- what stands in it ---


def test_a_turn_is_what_was_asked_said_called_and_answered(bench):
    bench.run(*RICH, spawn=here)
    bench.run([["say", "again"]], spawn=here)
    turn_id = bench.events()[0].payload["turn_id"]
    ids = [f"{turn_id}-{number}" for number in range(1, 6)]
    said = asked_now(bench)
    assert [message.role for message in said] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert said[1].parts == (
        Text("let me look "),
        ToolCall(ids[0], "echo", {"value": 1}),
        ToolCall(ids[1], "crash", {}),
        ToolCall(ids[2], "quiet", {"value": "private-canary"}),
    )
    assert said[2].parts[0] == ToolResult(ids[0], "echo", 1)
    assert said[2].parts[1].error
    assert said[2].parts[2] == ToolResult(ids[2], "quiet", {"seen": "private-canary"})
    assert said[3].parts == (
        ToolCall(ids[3], "card", {}),
        ToolCall(ids[4], "echo", {}, invalid=True, raw="{broken"),
    )
    assert said[4].parts[0] == ToolResult(ids[3], "card", {"city": "Lisbon"})
    assert said[4].parts[1].output["code"] == "invalid_input"


def test_the_models_own_state_comes_back_with_its_message(bench):
    bench.run(*RICH, spawn=here)
    assert asked_now(bench)[1].state == {"signature": "abc"}
    bench.run([["say", "again"]], spawn=here)
    assert asked_now(bench)[1].state == {"signature": "abc"}
    said = [entry.line for entry in bench.entries() if b'"role":"user"' not in entry.line]
    assert b"signature" not in b"".join(said), "control: only the person's own script says it"


def test_no_model_ever_sees_a_components_html(bench):
    """Law 8, F9. Control: the canary is in the log, where the page has it from."""
    bench.run(*RICH, spawn=here)
    bench.run([["say", "again"]], spawn=here)
    assert b"canary-html" in bench.log()
    assert "canary-html" not in repr(bench.puppet.requests)


def _shows(what):
    class Empty(Schema):
        pass

    @tool(description="x", permission=PUBLIC, mode=Mode.READ, params=Empty, shows=what)
    def look(params, ctx):
        yield {"seen": "progress-canary"}
        return {"secret": "result-canary"}

    @tool(description="x", permission=PUBLIC, mode=Mode.READ, params=Empty, shows=what)
    def paint(params, ctx):
        return ui("x-card", data={"secret": "result-canary"}, city="prop-canary")

    return look, paint


@pytest.mark.parametrize("what", ["call", "nothing"])
def test_a_result_that_is_not_shown_reaches_the_model_and_not_the_wire(tmp_path, what):
    """Law 8, the other way round. Control: the same tools with ``shows='result'`` put it on the wire."""
    bench = Bench(tmp_path / "hidden", tools=_shows(what))
    bench.run([["call", "look", {}], ["call", "paint", {}]], [["say", "done"]], spawn=here)
    assert repr(asked_now(bench)).count("result-canary") == 2
    assert b"result-canary" not in bench.log()
    assert b"prop-canary" not in bench.log()
    shown = Bench(tmp_path / "shown", tools=_shows("result"))
    shown.run([["call", "look", {}], ["call", "paint", {}]], [["say", "done"]], spawn=here)
    assert shown.log().count(b"result-canary") == 2


@pytest.mark.parametrize(("what", "seen"), [("nothing", False), ("call", True), ("result", True)])
def test_progress_is_shown_unless_nothing_is(tmp_path, what, seen):
    bench = Bench(tmp_path / "s", tools=_shows(what))
    bench.run([["call", "look", {}]], [["say", "done"]], spawn=here)
    assert (b"progress-canary" in bench.log()) == seen


@pytest.mark.parametrize(
    "step", [["call", "quiet", {"value": "asked-canary"}], ["raw", "quiet", "asked-canary{"]]
)
def test_what_a_hidden_tool_is_asked_reaches_the_model_again_and_not_the_wire(bench, step):
    script = json.dumps([[step], [["say", "done"]]])
    found = bench.run(text=script, spawn=here)
    calls = [event for event in found if event.kind == events.TOOL_CALL]
    assert "asked-canary" not in repr(calls)
    (call,) = (part for part in asked_now(bench)[1].parts if isinstance(part, ToolCall))
    assert "asked-canary" in repr(call)


# --- valid after every end ---


def _stopped(bench, live, when):
    until(when)
    bench.runner.stop(live.key, live.turn_id)
    assert live.wait_closed(20)


ENDS = {
    "finished": RICH,
    "failed at once": ([["error", "server", False]],),
    "failed in the text": ([["say", "half a"], ["error", "server", False]],),
    "failed with calls unrun": ([["say", "x"], ["call", "echo", {"value": 1}], ["error", "server", False]],),
    "failed between rounds": ([["call", "echo", {"value": 1}]], [["error", "server", False]]),
    "cut": ([["say", "half"], ["call", "echo", {"value": 1}], ["cut"]],),
    "raised": ([["call", "echo", {"value": 1}]], [["say", "x"], ["raise"]]),
    "limit": ([["call", "count", {"to": 1}]],),
}


@pytest.mark.parametrize("end", ENDS)
def test_the_history_is_valid_after_every_end(tmp_path, end):
    bench = Bench(tmp_path / "s", limits={"max_rounds": 4})
    bench.run(*ENDS[end], spawn=here)
    bench.run([["say", "again"]], spawn=here)
    assert messages_are_valid(asked_now(bench))
    assert asked_now(bench)[-1].role == "user"


@pytest.mark.parametrize(
    ("rounds", "kind"),
    [
        (([["say", "half a"], ["call", "echo", {"value": 1}], ["sleep", 20]],), events.TEXT_DELTA),
        (([["call", "forever", {}], ["call", "echo", {"value": 1}]],), events.TOOL_PROGRESS),
    ],
    ids=["in the text", "in a tool"],
)
def test_the_history_is_valid_after_a_stop(bench, rounds, kind):
    live = bench.start(*rounds)
    _stopped(bench, live, lambda: kind in [event.kind for event in bench.events()])
    assert reason(bench.events()) == "stopped"
    results = of_kind(bench.events(), events.TOOL_RESULT)
    assert len(results) == len(of_kind(bench.events(), events.TOOL_CALL))
    bench.run([["say", "again"]], spawn=here)
    assert messages_are_valid(asked_now(bench))


def test_the_history_is_valid_when_the_log_ends_anywhere(bench):
    """Cut behind every entry: the projection answers every call, and knows which are open."""
    bench.run(*RICH, spawn=here)
    entries = bench.entries()
    for length in range(len(entries) + 1):
        history = history_of(entries[:length])
        assert messages_are_valid(history.messages())
        assert (history.open_turn is None) == (length in (0, len(entries)))
        called = sum(entry.kind == events.TOOL_CALL for entry in entries[:length])
        answered = sum(entry.kind in (events.TOOL_RESULT, events.UI) for entry in entries[:length])
        assert len(history.open_calls) == called - answered


def test_a_turn_that_died_anywhere_is_closed_by_the_next(bench, tmp_path):
    """Cut behind every entry: the next turn writes the missing results and ``interrupted``, then asks validly."""
    bench.run(*RICH, spawn=here)
    entries = bench.entries()
    for length in range(1, len(entries)):
        other = Bench(tmp_path / str(length))
        copy_log(entries[:length], other.store, other.key())
        other.run([["say", "again"]], spawn=here)
        found = other.events()
        died = [event for event in found if event.payload.get("turn_id") == found[0].payload["turn_id"]]
        assert died[-1].payload["reason"] == "interrupted"
        calls = {payload["call_id"] for payload in of_kind(found, events.TOOL_CALL)}
        assert calls == {payload["call_id"] for payload in of_kind(found, events.TOOL_RESULT, events.UI)}
        assert messages_are_valid(asked_now(other))


# --- grown and rebuilt ---


@settings(max_examples=25)
@given(st.lists(scripts(), min_size=1, max_size=4), st.integers(40, 400), st.data())
def test_a_history_that_grew_equals_one_that_is_rebuilt(turns, context_tokens, data):
    """The projection is one function of the log: fed entry by entry, in pieces, or read by kinds from the store."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), limits={"context_tokens": context_tokens})
        for rounds in turns:
            bench.run(*rounds, spawn=here)
        entries = bench.entries()
        cut = data.draw(st.integers(0, len(entries)))
        kept = bench.runner._histories._kept[bench.key()]
        caught_up = history_of(entries[:cut], context_tokens=context_tokens)
        caught_up.catch_up(bench.store, bench.key())
        fed = history_of(entries, context_tokens=context_tokens)
        for history in (kept, caught_up):
            assert history.messages() == fed.messages()
            assert (history.seq, history.open_turn) == (fed.seq, fed.open_turn)
        assert messages_are_valid(history_of(entries[:cut], context_tokens=context_tokens).messages())


@settings(max_examples=40)
@given(scripts())
def test_every_request_of_every_script_is_valid(rounds):
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        bench.run(*rounds, spawn=here)
        bench.run(*rounds, spawn=here)
        assert all(messages_are_valid(request.messages) for request in bench.puppet.requests)


def test_what_another_writer_added_is_caught_up(tmp_path):
    one, other = Bench(tmp_path / "s"), Bench(tmp_path / "s")
    one.run([["say", "first"]], spawn=here)
    other.run([["say", "second"]], spawn=here)
    one.run([["say", "third"]], spawn=here)
    said = [part.text for message in asked_now(one) if message.role == "assistant" for part in message.parts]
    assert said == ["first ", "second "]


# --- the budget ---


def test_the_oldest_whole_turns_are_dropped_over_the_budget(tmp_path):
    """Law 10, I8: the newest turns that fit, each one whole."""
    bench = Bench(tmp_path / "s", limits={"context_tokens": 2_000})
    for number in range(20):
        bench.run(
            [["say", f"{number:03d}" * 50], ["call", "echo", {"value": 1}]], [["say", "done"]], spawn=here
        )
    said = asked_now(bench)
    assert messages_are_valid(said)
    assert said[0].role == "user"
    assert "019" in said[-3].parts[0].text
    assert 2 <= sum(message.role == "user" for message in said) < 9


def test_the_last_turn_is_whole_even_when_it_is_larger_than_the_budget(tmp_path):
    bench = Bench(tmp_path / "s", limits={"context_tokens": 500})
    bench.run([["say", "before"]], spawn=here)
    bench.run(
        [["call", "flood", {"bytes": 50_000}]],
        [["call", "echo", {"value": 1}]],
        [["say", "done"]],
        spawn=here,
    )
    said = asked_now(bench)
    assert [message.role for message in said] == ["user", "assistant", "tool", "assistant", "tool"]
    assert len(said[2].parts[0].output) == 50_000


def test_earlier_turns_make_room_while_a_turn_grows(tmp_path):
    """Law 10: the request stays within the budget inside a turn too, not only from the next one on."""
    bench = Bench(tmp_path / "s", limits={"context_tokens": 5_000})
    bench.run([["say", "x" * 5_000]], spawn=here)
    bench.run([["call", "flood", {"bytes": 15_000}]], [["say", "done"]], spawn=here)
    first, second = bench.puppet.requests[1:]
    assert sum(message.role == "user" for message in first.messages) == 2
    assert sum(message.role == "user" for message in second.messages) == 1


def test_old_deltas_cost_a_new_turn_nothing(tmp_path):
    """Law 10, I8: of two thousand deltas before none is read again."""
    bench = Bench(tmp_path / "s")
    bench.run([["say", "w " * 2_000]], spawn=here)
    seen = []

    class Counts(FileStore):
        def read(self, key, after=0, kinds=None):
            for entry in super().read(key, after, kinds):
                seen.append(entry.kind)
                yield entry

    other = Bench(Counts(tmp_path / "s", fsync="never"))
    other.start([["say", "again"]], spawn=here)
    assert len(seen) < 20
    seen.clear()
    other.start([["say", "and again"]], spawn=here)
    assert len(seen) < 5


# --- a log that somebody changed ---


_SAID = b'{"seq":3,"ts":1,"kind":"message","payload":{"role":"assistant","text":"x"}}\n'

_CALLED = b'{"seq":3,"ts":1,"kind":"tool-call","payload":{"call_id":"c","name":"x","input":"x"}}\n'


@pytest.mark.parametrize(
    "broken",
    [
        Entry(3, events.MESSAGE, b'{"seq":3,"ts":1,"kind":"message","payload":{"role":"assistant"}}\n'),
        Entry(3, events.MESSAGE, b"not json\n"),
        Entry(3, events.MESSAGE, b'{"seq":3,"ts":1,"kind":"message","payload":{"text":3}}\n'),
        Entry(3, events.TOOL_CALL, b'{"seq":3,"ts":1,"kind":"tool-call","payload":{}}\n'),
        Entry(3, events.TOOL_RESULT, b'{"seq":3,"ts":1,"kind":"tool-result","payload":{"call_id":"no","name":"x"}}\n'),
        Entry(3, events.MESSAGE, _SAID, b"cposix\nsystem\n"),
        Entry(3, events.MESSAGE, _SAID, b"[1]"),
        Entry(3, events.MESSAGE, _SAID, b'{"state":"x"}'),
        Entry(3, events.TOOL_CALL, _CALLED),
        Entry(3, events.TURN_START, b'{"seq":3,"ts":1,"kind":"turn-start","payload":{}}\n'),
    ],
    ids=[
        "no text", "no json", "odd text", "no id", "stranger's result", "pickle", "list", "odd state", "odd input",
        "no turn",
    ],
)  # fmt: skip
def test_a_forged_entry_is_left_out_and_the_rest_stands(bench, broken):
    """H11: JSON only, nothing is constructed from it."""
    bench.run([["say", "hi"]], spawn=here)
    entries = bench.entries()
    history = history_of([*entries[:2], broken, *entries[2:]])
    assert messages_are_valid(history.messages())
    assert [message.role for message in history.messages()] == ["user", "assistant"]
    assert history.messages()[-1] == Message("assistant", (Text("hi "),))


def test_an_entry_outside_any_turn_tells_the_model_nothing():
    stray = Entry(1, events.MESSAGE, events.encode(1, 1, events.MESSAGE, {"role": "user", "text": "stray"}))
    assert history_of([stray]).messages() == ()


def test_a_draft_is_data():
    assert Draft(events.USAGE, {}).private is None
