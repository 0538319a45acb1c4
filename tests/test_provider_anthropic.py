"""What gateways do to Anthropic's Messages API, beyond the corpus: the same kinds, other shapes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flask_litro_agent.contracts import (
    AssistantState,
    ChatRequest,
    Done,
    Image,
    Message,
    Options,
    ProviderError,
    ProviderEvent,
    Reasoning,
    ReasoningDelta,
    Text,
    TextDelta,
    ToolCall,
    ToolCallEvent,
    ToolResult,
    ToolSpec,
    Usage,
)
from flask_litro_agent.providers import anthropic_request
from flask_litro_agent.providers.anthropic import anthropic
from flask_litro_agent.testing.providers import collect, question
from flask_litro_agent.testing.upstream import SILENCE, Part, Upstream

TOOLS = (ToolSpec("get_weather", "", {}),)
USER = Message("user", (Text("Hi"),))


def event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


def opened(block: dict[str, Any], index: int | None = 0) -> bytes:
    return event("content_block_start", content_block=block, **({} if index is None else {"index": index}))


def delta(index: int = 0, **piece: Any) -> bytes:
    return event("content_block_delta", index=index, delta=piece)


def ended(reason: str = "end_turn", **usage: int) -> bytes:
    return event("message_delta", delta={"stop_reason": reason}, usage=usage) + event("message_stop")


def answered(*parts: Part) -> list[ProviderEvent]:
    with Upstream(*parts) as upstream:
        provider = anthropic("demo", base_url=upstream.url, api_key="canary-0123456789")
        return collect(provider, ChatRequest("", question().messages, TOOLS, Options(idle_seconds=10)))


def text(events: list[ProviderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def sent(*messages: Message, tools: tuple[ToolSpec, ...] = TOOLS, **how: Any) -> dict[str, Any]:
    return anthropic_request.body(ChatRequest("", messages, tools), "demo", max_tokens=100, **how)


def test_the_type_is_taken_from_the_event_name_when_the_data_has_none() -> None:
    events = answered(
        b'event: content_block_delta\ndata: {"index":0,"delta":{"text":"hi"}}\n\n',
        b"event: message_stop\ndata: {}\n\n",
    )
    assert events == [TextDelta("hi"), Done("stop")]


def test_pings_after_the_stop_reason_do_not_keep_the_answer_open() -> None:
    stop_reason = event("message_delta", delta={"stop_reason": "end_turn"})
    pings = (event("ping"), 0.1) * 200
    assert answered(opened({"type": "text", "text": "hi"}), stop_reason, *pings) == [
        TextDelta("hi"),
        Done("stop"),
    ]


def test_a_block_that_was_never_opened_is_read() -> None:
    assert text(answered(delta(3, type="text_delta", text="hi"), ended())) == "hi"


def test_a_message_that_is_whole_at_its_start_is_read() -> None:
    message = {"content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn", "model": "m"}
    assert answered(event("message_start", message=message), event("message_stop")) == [
        TextDelta("hi"),
        Done("stop"),
    ]


def test_cumulative_fragments_are_not_added_up() -> None:
    events = answered(
        opened({"type": "tool_use", "id": "a", "name": "get_weather", "input": {}}),
        delta(partial_json='{"a":'),
        delta(partial_json='{"a":1}'),
        ended("tool_use"),
    )
    assert ToolCallEvent("a", "get_weather", {"a": 1}) in events


def test_a_call_cut_by_the_limit_is_invalid() -> None:
    for pieces in ([], ['{"a":']):
        events = answered(
            opened({"type": "tool_use", "id": "a", "name": "get_weather", "input": {}}),
            *(delta(partial_json=piece) for piece in pieces),
            ended("max_tokens"),
        )
        assert [event.invalid for event in events if isinstance(event, ToolCallEvent)] == [True]
        assert events[-1] == Done("length")


def test_a_refusal_is_a_content_filter() -> None:
    assert answered(opened({"type": "text", "text": "No."}), ended("refusal"))[-1] == Done("content_filter")


def test_an_unknown_stop_reason_is_other() -> None:
    assert answered(opened({"type": "text", "text": "hi"}), ended("compaction"))[-1] == Done("other")


def test_usage_is_counted_once_with_its_model() -> None:
    start = {"model": "m-1", "usage": {"input_tokens": 9, "output_tokens": 1, "cache_read_input_tokens": 4}}
    events = answered(
        event("message_start", message=start), opened({"type": "text", "text": "hi"}), ended(output_tokens=3)
    )
    assert Usage(input_tokens=9, output_tokens=3, cached_tokens=4, model="m-1") in events


def test_surrogates_split_over_two_deltas_are_one_character() -> None:
    events = answered(
        opened({"type": "text", "text": ""}), delta(text="a \ud83e"), delta(text="\udd8a"), ended()
    )
    assert text(events) == "a 🦊"


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "content_block_start"},
        {"type": "content_block_delta", "index": [], "delta": []},
        {"type": "content_block_start", "index": {}, "content_block": {"type": 7, "input": 3}},
        {"type": "content_block_start", "index": 9, "content_block": {"type": "tool_use"}},
        {"type": "message_start", "message": []},
        {"type": "message_delta", "delta": 5, "usage": []},
        {"type": 5},
    ],
)
def test_a_payload_of_the_wrong_types_is_no_crash(payload: Any) -> None:
    odd = b"data: " + json.dumps(payload).encode() + b"\n\n"
    events = answered(odd, opened({"type": "text", "text": "hi"}), ended())
    assert text(events) == "hi"
    assert isinstance(events[-1], Done)


def test_a_cut_after_a_whole_tool_block_gives_no_call() -> None:
    events = answered(
        opened({"type": "tool_use", "id": "a", "name": "get_weather", "input": {}}),
        delta(partial_json="{}"),
        event("content_block_stop", index=0),
    )
    assert [type(one) for one in events] == [ProviderError]


def test_silence_in_mid_answer_is_no_end() -> None:
    with Upstream(opened({"type": "text", "text": "hi"}), SILENCE) as upstream:
        provider = anthropic("demo", base_url=upstream.url, api_key="canary-0123456789")
        events = collect(provider, question(options=Options(idle_seconds=0.2)))
    assert isinstance(events[-1], ProviderError)


def state(*blocks: dict[str, Any], model: str = "demo") -> dict[str, Any]:
    return {"provider": "anthropic", "model": model, "blocks": list(blocks)}


def test_thinking_comes_back_signed_in_the_order_it_was_given() -> None:
    events = answered(
        opened({"type": "thinking", "thinking": "a"}, 0),
        delta(0, signature="s1"),
        opened({"type": "text", "text": "Hm."}, 1),
        opened({"type": "thinking", "thinking": "b"}, 2),
        delta(2, signature="s2"),
        opened({"type": "tool_use", "id": "x", "name": "get_weather", "input": {}}, 3),
        ended("tool_use"),
    )
    assert "".join(one.text for one in events if isinstance(one, ReasoningDelta)) == "ab"
    kept = next(one.data for one in events if isinstance(one, AssistantState))
    message = Message("assistant", (Text("Hm."), ToolCall("mine", "get_weather", {"a": 1})), kept)
    content = sent(USER, message)["messages"][1]["content"]
    assert [block["type"] for block in content] == ["thinking", "text", "thinking", "tool_use"]
    assert [block.get("signature") for block in content] == ["s1", None, "s2", None]
    assert content[3] == {"type": "tool_use", "id": "mine", "name": "get_weather", "input": {"a": 1}}


def test_a_message_changed_since_keeps_its_thinking_first() -> None:
    kept = state(
        {"type": "text", "text": "Hm."}, {"type": "redacted_thinking", "data": "d"}, {"type": "tool_use"}
    )
    content = sent(USER, Message("assistant", (Text("Other."),), kept))["messages"][1]["content"]
    assert [block["type"] for block in content] == ["redacted_thinking", "text"]


def test_state_of_another_model_is_left_out() -> None:
    kept = state(
        {"type": "thinking", "thinking": "a", "signature": "s"}, {"type": "text", "text": "Hm."}, model="x"
    )
    content = sent(USER, Message("assistant", (Text("Hm."),), kept))["messages"][1]["content"]
    assert content == [{"type": "text", "text": "Hm."}]


def test_thinking_from_elsewhere_goes_out_only_signed() -> None:
    parts = (Reasoning("a"), Reasoning("b", "sig"), Text("Hm."))
    content = sent(USER, Message("assistant", parts))["messages"][1]["content"]
    assert [block.get("thinking") for block in content] == ["b", None]


def test_results_stand_before_what_the_user_said() -> None:
    call = Message("assistant", (ToolCall("x", "get_weather"),))
    result = Message(
        "tool", (ToolResult("x", "get_weather", [Text(" "), Image("image/png", "AAAA")], error=True),)
    )
    content = sent(USER, call, USER, result)["messages"][2]["content"]
    assert [block["type"] for block in content] == ["tool_result", "text"]
    assert content[0]["is_error"] is True
    assert [block["type"] for block in content[0]["content"]] == ["image"]


def test_a_history_with_calls_declares_the_tools_that_are_gone() -> None:
    call = Message("assistant", (ToolCall("x", "gone"),))
    body = sent(USER, call, tools=())
    assert [tool["name"] for tool in body["tools"]] == ["gone"]
    assert body["tool_choice"] == {"type": "none"}


def test_thinking_is_not_asked_for_where_the_answer_was_begun_without() -> None:
    call = Message("assistant", (ToolCall("x", "get_weather"),))
    assert "thinking" in sent(USER, thinking_budget=2000)
    assert "thinking" not in sent(USER, call, thinking_budget=2000)


def test_the_thinking_budget_comes_on_top_of_a_small_limit() -> None:
    body = sent(USER, thinking_budget=2000)
    assert body["max_tokens"] == 2100


def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    (error,) = collect(anthropic("demo"))
    assert isinstance(error, ProviderError)
    assert error.code == "configuration"
    assert "ANTHROPIC_API_KEY" in error.message
