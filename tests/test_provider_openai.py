"""What servers do to chat completions, beyond the corpus: the same kinds, other shapes."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
import requests
import responses
import urllib3

from flask_litro_agent.contracts import (
    AssistantState,
    ChatRequest,
    Done,
    Message,
    Options,
    Provider,
    ProviderError,
    ProviderEvent,
    ReasoningDelta,
    Text,
    TextDelta,
    ToolCall,
    ToolCallEvent,
    ToolResult,
    ToolSpec,
    Usage,
)
from flask_litro_agent.providers import openai_request, plugin
from flask_litro_agent.providers.openai_compatible import openai_compatible
from flask_litro_agent.testing.providers import collect, question
from flask_litro_agent.testing.upstream import SILENCE, Part, Upstream

TOOLS = tuple(ToolSpec(name, "", {}) for name in ("get_weather", "track_order", "list_orders"))
DONE = b"data: [DONE]\n\n"


def data(payload: Any) -> bytes:
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


def chunk(delta: Any, finish: str | None = None, **more: Any) -> bytes:
    return data({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})


def entry(arguments: Any = None, **more: Any) -> bytes:
    function = {"name": more.pop("name")} if "name" in more else {}
    function |= {"arguments": arguments} if arguments is not None else {}
    return chunk({"tool_calls": [{**more, "function": function}]})


def answered(*parts: Part, status: int = 200, **headers: str) -> list[ProviderEvent]:
    with Upstream(*parts, status=status, headers=headers) as upstream:
        provider = openai_compatible("demo", base_url=upstream.url, api_key="canary-0123456789")
        request = ChatRequest("", question().messages, TOOLS, Options(idle_seconds=10, total_seconds=20))
        return collect(provider, request)


def calls(*parts: Part) -> list[tuple[str, Any]]:
    events = answered(*parts, chunk({}, "tool_calls"), DONE)
    made = [event for event in events if isinstance(event, ToolCallEvent)]
    assert len({event.id for event in made}) == len(made)
    return [(event.name, "invalid" if event.invalid else event.input) for event in made]


def text(events: list[ProviderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def test_a_surrogate_pair_split_over_two_deltas_is_one_character() -> None:
    events = answered(
        b'data: {"choices":[{"delta":{"content":"a \\ud83e"}}]}\n\n',
        b'data: {"choices":[{"delta":{"content":"\\udd8a b"},"finish_reason":"stop"}]}\n\n',
        DONE,
    )
    assert text(events) == "a 🦊 b"


def test_a_lone_surrogate_and_a_nul_become_replacement_characters() -> None:
    assert (
        text(answered(b'data: {"choices":[{"delta":{"content":"a\\ud83e"},"finish_reason":"stop"}]}\n\n'))
        == "a\ufffd"
    )
    assert text(answered(chunk({"content": "a\0b"}, "stop"), DONE)) == "a\ufffdb"


def test_a_payload_with_nan_or_a_name_twice_is_read() -> None:
    events = answered(
        b'data: {"x":NaN,"id":"a","id":"b","choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n',
        DONE,
    )
    assert text(events) == "hi"


def test_a_payload_too_deep_for_the_log_is_an_error() -> None:
    deep = b"[" * 100 + b"]" * 100
    events = answered(
        chunk({"content": "hi"}),
        b'data: {"choices":[{"delta":{"reasoning_details":[{"deep":' + deep + b"}]}}]}\n\n",
        chunk({}, "stop"),
    )
    assert text(events) == "hi"
    assert isinstance(events[-1], ProviderError)
    assert events[-1].code == "protocol"


@pytest.mark.parametrize(
    "keepalive", [b"data: ping\n\n", b"data:\n\n", b"data: [heartbeat]\n\n", b"data: null\n\n", b"ping\n\n"]
)
def test_a_keepalive_in_any_shape_is_skipped(keepalive: bytes) -> None:
    events = answered(keepalive, chunk({"content": "hi"}), keepalive, chunk({}, "stop"), keepalive, DONE)
    assert text(events) == "hi"
    assert events[-1] == Done("stop")


def test_an_end_mark_glued_to_the_last_chunk_ends_the_answer() -> None:
    events = answered(chunk({"content": "hi"}, "stop").rstrip() + b"\ndata: [DONE]\n\n", SILENCE)
    assert events == [TextDelta("hi"), Done("stop")]


def test_chunks_on_one_line_and_doubled_prefixes_are_read() -> None:
    one, two = (chunk({"content": word}).strip() for word in ("a", "b"))
    events = answered(b"data: " + one + two.removeprefix(b"data: ") + b"\n\n", chunk({}, "stop"))
    assert text(events) == "ab"


def test_a_broken_chunk_is_an_error_after_the_text() -> None:
    events = answered(chunk({"content": "hi"}), b'data: {"choices":[{"del\n\n', SILENCE)
    assert text(events) == "hi"
    assert isinstance(events[-1], ProviderError)
    assert (events[-1].code, events[-1].retryable) == ("protocol", True)


def test_a_chunk_cut_by_the_end_is_a_truncation() -> None:
    events = answered(chunk({"content": "hi"}), b'data: {"choices":[{"del')
    assert isinstance(events[-1], ProviderError)
    assert events[-1].code == "truncated"


def test_an_end_mark_alone_is_no_answer() -> None:
    events = answered(DONE)
    assert [type(event) for event in events] == [ProviderError]


def test_a_connection_cut_after_the_finish_reason_breaks_nothing() -> None:
    length = str(10**6)
    events = answered(chunk({"content": "hi"}, "stop"), **{"content-length": length})
    assert events == [TextDelta("hi"), Done("stop")]


def test_silence_after_finish_and_usage_ends_the_answer() -> None:
    events = answered(
        chunk({"content": "hi"}, "stop"), data({"choices": [], "usage": {"prompt_tokens": 3}}), SILENCE
    )
    assert events == [TextDelta("hi"), Usage(input_tokens=3), Done("stop")]


def test_a_finish_reason_before_any_content_ends_nothing() -> None:
    events = answered(
        chunk({"role": "assistant"}, "stop"), 1.1, chunk({"content": "hi"}), chunk({}, "stop"), DONE
    )
    assert text(events) == "hi"


@pytest.mark.parametrize(
    ("payload", "code", "retryable"),
    [
        (
            {"object": "error", "message": "maximum context length is 8192 tokens", "code": 400},
            "context_overflow",
            False,
        ),
        ({"error": {"message": "overloaded", "code": "503"}}, "overloaded", True),
        ({"error": {"message": "boom", "metadata": {"raw": "x"}}}, "server", True),
        ({"detail": [{"msg": "field required", "loc": ["body"]}], "status": 422}, "bad_request", False),
        ({"error_code": 336, "error_msg": "internal error"}, "server", True),
    ],
)
def test_an_error_payload_of_any_shape_ends_the_answer(payload: Any, code: str, retryable: bool) -> None:
    events = answered(chunk({"content": "hi"}), data(payload), DONE)
    assert isinstance(events[-1], ProviderError)
    assert (events[-1].code, events[-1].retryable) == (code, retryable)


@pytest.mark.parametrize("note", [{"status": "queued", "message": "in line"}, {"code": 0, "message": "ok"}])
def test_a_note_about_progress_is_no_error(note: Any) -> None:
    assert answered(data(note), chunk({"content": "hi"}, "stop"), DONE)[-1] == Done("stop")


def test_an_error_event_with_plain_text_ends_the_answer() -> None:
    events = answered(b"event: error\ndata: upstream timed out\n\n")
    assert isinstance(events[-1], ProviderError)
    assert "upstream timed out" in events[-1].message


def test_an_empty_error_member_is_no_error() -> None:
    events = answered(chunk({"content": "hi"}, "stop", error=None), DONE)
    assert events[-1] == Done("stop")


def test_plain_json_inside_an_event_stream_is_an_answer() -> None:
    whole = {"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}
    events = answered(b"\n\n" + json.dumps(whole, indent=1).encode())
    assert events == [TextDelta("hi"), Done("stop")]


def test_an_event_stream_called_json_is_read() -> None:
    events = answered(chunk({"content": "hi"}, "stop"), DONE, **{"content-type": "application/json"})
    assert events == [TextDelta("hi"), Done("stop")]


def test_a_whole_reply_with_calls_gives_them() -> None:
    made = {
        "id": "c1",
        "type": "function",
        "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'},
    }
    whole = {"choices": [{"message": {"content": None, "tool_calls": [made]}, "finish_reason": "tool_calls"}]}
    assert answered(json.dumps(whole).encode()) == [
        ToolCallEvent("c1", "get_weather", {"city": "Oslo"}),
        Done("tool_calls"),
    ]


def test_a_name_that_comes_in_pieces_is_put_together() -> None:
    made = calls(
        entry(index=0, id="a", name="get_"), entry(index=0, name="weather"), entry('{"a":1}', index=0)
    )
    assert made == [("get_weather", {"a": 1})]


def test_a_name_and_an_id_repeated_in_every_delta_are_one_call() -> None:
    piece = {"index": 0, "id": "a", "name": "get_weather"}
    assert calls(entry('{"a"', **piece), entry(":1", **piece), entry("}", **piece)) == [
        ("get_weather", {"a": 1})
    ]


def test_an_id_that_changes_in_every_delta_is_one_call() -> None:
    made = calls(
        entry("", index=0, id="a", name="get_weather"),
        entry('{"a"', index=0, id="b"),
        entry(":1}", index=0, id="c"),
    )
    assert made == [("get_weather", {"a": 1})]


def test_whole_calls_without_ids_and_indexes_stay_apart() -> None:
    assert calls(entry('{"a":1}', name="get_weather"), entry('{"b":2}', name="get_weather")) == [
        ("get_weather", {"a": 1}),
        ("get_weather", {"b": 2}),
    ]


def test_whole_calls_that_share_id_and_index_stay_apart() -> None:
    same = {"index": 0, "id": "x", "name": "get_weather"}
    assert calls(entry('{"a":1}', **same), entry('{"b":2}', **same)) == [
        ("get_weather", {"a": 1}),
        ("get_weather", {"b": 2}),
    ]


def test_calls_without_arguments_stay_apart() -> None:
    made = calls(entry(name="list_orders", id="a", index=0), entry(name="track_order", id="b", index=0))
    assert made == [("list_orders", {}), ("track_order", {})]


@pytest.mark.parametrize(
    ("fragments", "expected"),
    [
        (['"{\\"a\\": 1}"'], {"a": 1}),
        (["null"], {}),
        (["", "  "], {}),
        (["{}", "{}"], {}),
        (["{}", '{"a":1}'], {"a": 1}),
        (['{"a":1}', '{"a":1}'], {"a": 1}),
        (['{"a":', '{"a":1', '{"a":1}'], {"a": 1}),
        ([{"a": 1}, {"a": 1}], {"a": 1}),
        (["", {"a": 1}], {"a": 1}),
        (['{"a":1}{"b":2}'], "invalid"),
        (["[1]"], "invalid"),
        (['{"a":NaN}'], "invalid"),
        (['{"a":1,"a":2}'], "invalid"),
        (['{"a":"\\ud83d"}'], "invalid"),
        (['{"a":1}}'], "invalid"),
        (["{" * 5000], "invalid"),
    ],
)
def test_arguments_are_read_or_invalid_and_never_repaired(fragments: list[Any], expected: Any) -> None:
    assert calls(
        entry(index=0, id="a", name="get_weather"), *(entry(fragment, index=0) for fragment in fragments)
    ) == [("get_weather", expected)]


def test_a_call_cut_before_its_arguments_is_invalid() -> None:
    events = answered(entry("", index=0, id="a", name="get_weather"), chunk({}, "length"), DONE)
    assert events == [ToolCallEvent("a", "get_weather", invalid=True), Done("length")]


def test_a_broken_answer_gives_no_calls() -> None:
    events = answered(entry('{"a":1}', index=0, id="a", name="get_weather"))
    assert [type(event) for event in events] == [ProviderError]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 100])
def test_thinking_tags_cut_anywhere_split_the_text(size: int) -> None:
    said = "\n<think>\nwhy < this?</think>\n\nSo </think> it is <"
    pieces = [chunk({"content": said[at : at + size]}) for at in range(0, len(said), size)]
    events = answered(*pieces, chunk({}, "stop"), DONE)
    reasoning = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    assert (reasoning, text(events)) == ("why < this?", "So </think> it is <")


def test_thinking_that_never_ends_is_reasoning() -> None:
    events = answered(chunk({"content": "<think>hm </th"}, "length"), DONE)
    assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "hm </th"
    assert events[-1] == Done("length")


def test_usage_of_the_latest_chunk_counts() -> None:
    events = answered(
        chunk({"content": "a"}, usage={"prompt_tokens": 5, "completion_tokens": 1}),
        chunk({"content": "b"}, "stop", usage={"prompt_tokens": 5, "completion_tokens": 2}, model="m-1"),
        DONE,
    )
    assert Usage(input_tokens=5, output_tokens=2, model="m-1") in events


def test_usage_in_odd_places_and_shapes_is_no_crash() -> None:
    for usage in ([], "5", {"prompt_tokens": "5", "prompt_tokens_details": [], "completion_tokens": -1}):
        assert answered(chunk({"content": "a"}, "stop", usage=usage), DONE)[-1] == Done("stop")


@pytest.mark.parametrize(
    "payload",
    [
        {"choices": "x"},
        {"choices": [None, 1, "x", []]},
        {"choices": [{"delta": "x"}]},
        {
            "choices": [
                {"delta": {"content": 7, "tool_calls": "x", "function_call": 1, "reasoning_details": {}}}
            ]
        },
        {
            "choices": [
                {
                    "delta": {
                        "tool_calls": [None, 1, {"function": 1}, {"id": 5, "index": [], "function": None}]
                    }
                }
            ]
        },
        {"choices": {"delta": {}}},
        [],
    ],
)
def test_a_payload_of_the_wrong_types_is_no_crash(payload: Any) -> None:
    events = answered(data(payload), chunk({"content": "hi"}, "stop"), DONE)
    assert (text(events), events[-1]) == ("hi", Done("stop"))


def test_text_that_arrived_in_one_read_is_one_delta() -> None:
    events = answered(b"".join(chunk({"content": f"{n} "}) for n in range(50)) + chunk({}, "stop") + DONE)
    assert events == [TextDelta("".join(f"{n} " for n in range(50))), Done("stop")]


def test_reasoning_details_come_back_joined() -> None:
    detail = {"type": "reasoning.text", "index": 0}
    events = answered(
        chunk({"reasoning_details": [{**detail, "text": "why "}]}),
        chunk({"reasoning_details": [{**detail, "text": "not", "signature": "s"}]}),
        entry("{}", index=0, id="a", name="list_orders"),
        chunk({}, "tool_calls"),
        DONE,
    )
    states = [event.data for event in events if isinstance(event, AssistantState)]
    assert states[0]["fields"]["reasoning_details"] == [{**detail, "text": "why not", "signature": "s"}]
    assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "why not"


def made(*messages: Message, model: str = "demo", **options: Any) -> list[dict[str, Any]]:
    body = openai_request.body(ChatRequest("", messages, TOOLS), model, **options)
    result: list[dict[str, Any]] = body["messages"]
    return result


USER = Message("user", (Text("Hi"),))


def test_state_goes_back_by_order_under_the_ids_of_the_message() -> None:
    state = {"provider": "openai", "model": "demo", "calls": [{"extra": 1}, {"extra": 2}]}
    assistant = Message("assistant", (ToolCall("x1", "get_weather"), ToolCall("x2", "get_weather")), state)
    sent = made(USER, assistant)[1]["tool_calls"]
    assert [(call["id"], call["extra"]) for call in sent] == [("x1", 1), ("x2", 2)]


@pytest.mark.parametrize(
    "mark", [{"provider": "anthropic", "model": "demo"}, {"provider": "openai", "model": "other"}]
)
def test_state_of_another_provider_or_model_is_left_out(mark: dict[str, str]) -> None:
    state = {**mark, "fields": {"reasoning": "secret"}, "calls": [{"extra": 1}]}
    sent = made(USER, Message("assistant", (ToolCall("x1", "get_weather"),), state))
    assert "secret" not in json.dumps(sent)
    assert "extra" not in json.dumps(sent)


def test_reasoning_goes_back_only_inside_its_turn() -> None:
    state = {"provider": "openai", "model": "demo", "fields": {"reasoning": "because"}}
    assistant = Message("assistant", (Text("Hm."),), state)
    assert "reasoning" in made(USER, assistant)[1]
    assert "reasoning" not in made(USER, assistant, USER)[1]


def test_a_late_result_is_put_behind_its_call() -> None:
    call = Message("assistant", (ToolCall("x1", "get_weather"),))
    result = Message("tool", (ToolResult("x1", "get_weather", "7"),))
    assert [message["role"] for message in made(USER, call, USER, result)] == [
        "user",
        "assistant",
        "tool",
        "user",
    ]


def test_a_result_twice_is_sent_once() -> None:
    call = Message("assistant", (ToolCall("x1", "get_weather"),))
    result = Message("tool", (ToolResult("x1", "get_weather", "7"), ToolResult("x1", "get_weather", "8")))
    assert [message["role"] for message in made(USER, call, result)] == ["user", "assistant", "tool"]


def test_an_id_used_twice_in_a_history_becomes_two() -> None:
    call = Message("assistant", (ToolCall("call_0", "get_weather"),))
    result = Message("tool", (ToolResult("call_0", "get_weather", "7"),))
    sent = made(USER, call, result, call, result)
    ids = [message["tool_calls"][0]["id"] for message in sent if "tool_calls" in message]
    assert ids == [message["tool_call_id"] for message in sent if message["role"] == "tool"]
    assert len(set(ids)) == 2


def test_an_invalid_call_goes_back_with_an_empty_object() -> None:
    call = Message("assistant", (ToolCall("x1", "get_weather", invalid=True, raw='{"a'),))
    assert made(USER, call)[1]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_mistral_gets_nine_characters_and_no_user_behind_a_tool() -> None:
    call = Message("assistant", (ToolCall("call_0123456789", "get_weather"),))
    sent = made(USER, call, USER, ids=openai_request.NINE_CHARACTERS)
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert len(sent[1]["tool_calls"][0]["id"]) == 9


def test_nan_in_an_output_is_sent_as_null() -> None:
    call = Message("assistant", (ToolCall("x1", "get_weather"),))
    result = Message("tool", (ToolResult("x1", "get_weather", {"temp": float("nan")}),))
    assert made(USER, call, result)[2]["content"] == '{"temp":null}'


def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (error,) = collect(openai_compatible("demo"))
    assert isinstance(error, ProviderError)
    assert error.code == "configuration"
    assert "OPENAI_API_KEY" in error.message


@pytest.mark.parametrize("url", ["", "localhost:11434", "file:///etc/passwd"])
def test_a_url_that_is_none_is_said(url: str) -> None:
    (error,) = collect(openai_compatible("demo", base_url=url))
    assert isinstance(error, ProviderError)
    assert "base_url" in error.message


def test_the_key_is_looked_up_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    with Upstream(chunk({"content": "hi"}, "stop"), DONE) as upstream:
        provider = openai_compatible("demo", base_url=upstream.url)
        for key in ("first-key", "second-key"):
            monkeypatch.setenv("OPENAI_API_KEY", key)
            collect(provider)
    assert [one.headers["authorization"] for one in upstream.requests] == [
        "Bearer first-key",
        "Bearer second-key",
    ]


def test_a_key_that_cannot_be_a_header_is_said_without_it() -> None:
    (error,) = collect(openai_compatible("demo", base_url="http://127.0.0.1:9/v1", api_key="bad\nkey-secret"))
    assert isinstance(error, ProviderError)
    assert error.code == "configuration"
    assert "secret" not in error.message


def test_environment_proxies_and_netrc_are_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login a password canary")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with Upstream(chunk({"content": "hi"}, "stop"), DONE) as upstream:
        events = collect(openai_compatible("demo", base_url=upstream.url, api_key=""))
    assert events[-1] == Done("stop")
    assert "authorization" not in upstream.requests[0].headers


def test_an_endless_line_is_an_error() -> None:
    events = answered(*[b"data: " + b"x" * 1024 * 1024] * 40)
    assert [type(event) for event in events] == [ProviderError]


def test_a_request_that_is_no_json_is_an_error() -> None:
    call = Message("assistant", (ToolCall("x1", "get_weather", {"at": object()}),))
    (error,) = collect(
        openai_compatible("demo", base_url="http://127.0.0.1:9/v1", api_key=""), ChatRequest("", (USER, call))
    )
    assert isinstance(error, ProviderError)
    assert error.code == "bad_request"


def test_the_headers_of_the_site_win_and_are_not_shown() -> None:
    with Upstream(chunk({"content": "hi"}, "stop"), DONE) as upstream:
        headers = {"Authorization": "Basic canary", "X-Site": "shop"}
        provider = openai_compatible("demo", base_url=upstream.url, api_key="other", headers=headers)
        collect(provider)
    assert upstream.requests[0].headers["authorization"] == "Basic canary"
    assert upstream.requests[0].headers["x-site"] == "shop"
    assert "canary" not in repr(provider)


class Cut(io.RawIOBase):
    """A body in pieces; an exception among them is raised when it is read."""

    def __init__(self, *parts: bytes | Exception) -> None:
        self.parts = list(parts)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self.parts:
            return 0
        part = self.parts.pop(0)
        if isinstance(part, Exception):
            raise part
        buffer[: len(part)] = part
        return len(part)


class Body(io.BufferedReader):
    """Tells urllib3 when the pieces are used up."""

    def isclosed(self) -> bool:
        return self.closed or (isinstance(self.raw, Cut) and not self.raw.parts)


@responses.activate
def test_an_error_of_the_transport_in_mid_answer_is_an_error_after_the_text() -> None:
    parts = (chunk({"content": "Hi"}), urllib3.exceptions.ProtocolError("cut by https://user:canary@host"))
    url = "http://llm.invalid/v1"
    responses.add("POST", f"{url}/chat/completions", body=Body(Cut(*parts)), content_type="text/event-stream")
    events = collect(openai_compatible("demo", base_url=url, api_key="k"))
    assert events[0] == TextDelta("Hi")
    assert isinstance(events[-1], ProviderError)
    assert (events[-1].code, events[-1].retryable) == ("network", True)
    assert "canary" not in events[-1].message


@responses.activate
def test_a_connection_that_fails_is_an_error_without_its_words() -> None:
    url = "http://user:canary@llm.invalid/v1"
    failed = requests.ConnectionError("cannot reach http://user:canary@llm.invalid")
    responses.add("POST", f"{url}/chat/completions", body=failed)
    (error,) = collect(openai_compatible("demo", base_url=url, api_key="k"))
    assert isinstance(error, ProviderError)
    assert error.message == "cannot connect to llm.invalid, or it hung up: does the model run there?"


def test_the_built_in_plugin_names_its_providers() -> None:
    factories = plugin.register_providers()
    assert sorted(factories) == ["anthropic", "ollama", "openai"]
    made = {name: factory("some-model") for name, factory in factories.items()}
    assert all(
        isinstance(provider, Provider) and provider.model == "some-model" for provider in made.values()
    )


def test_ollama_gets_no_key_of_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    with Upstream(chunk({"content": "hi"}, "stop"), DONE) as upstream:
        collect(plugin.ollama("qwen3", base_url=upstream.url))
    assert "authorization" not in upstream.requests[0].headers
