"""The provider without a model."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from flask_litro_agent.contracts import (
    ChatRequest,
    Done,
    Message,
    ProviderError,
    ProviderEvent,
    Stop,
    Text,
    TextDelta,
    ToolCall,
    ToolCallEvent,
    Usage,
)
from flask_litro_agent.providers.scripted import call, delay, say, scripted
from flask_litro_agent.testing.providers import collect, question


def answer(*lines: Any, request: ChatRequest | None = None) -> list[ProviderEvent]:
    return collect(scripted(lambda request, turn: lines), request)


def test_a_text_is_a_delta_and_the_rest_is_added() -> None:
    assert answer("Hi there") == [TextDelta("Hi there"), Usage(input_tokens=2, output_tokens=2), Done("stop")]


def test_a_call_gets_an_id_and_ends_with_tool_calls() -> None:
    first, second, _, done = answer(call("find", name="tent"), call("find", query="b"))
    assert isinstance(first, ToolCallEvent)
    assert (first.id, first.input) == ("call_1", {"name": "tent"})
    assert isinstance(second, ToolCallEvent)
    assert second.id == "call_2"
    assert done == Done("tool_calls")


def test_ids_go_on_where_the_history_ends() -> None:
    history = (Message("user", (Text("Hi"),)), Message("assistant", (ToolCall("call_1", "find"),)))
    first = answer(call("find"), request=ChatRequest("", history))[0]
    assert isinstance(first, ToolCallEvent)
    assert first.id == "call_2"


def test_the_turn_is_the_number_of_user_messages() -> None:
    provider = scripted(lambda request, turn: f"turn {turn}")
    twice = ChatRequest("", (Message("user", (Text("a"),)), Message("user", (Text("b"),))))
    assert collect(provider)[0] == TextDelta("turn 1")
    assert collect(provider, twice)[0] == TextDelta("turn 2")


def test_what_the_script_ends_with_stands() -> None:
    usage = Usage(input_tokens=1, output_tokens=1)
    assert answer(usage, Done("length"), "never said") == [usage, Done("length")]
    assert answer(ProviderError("overloaded", "busy"), "never said") == [ProviderError("overloaded", "busy")]


def test_say_gives_the_text_word_by_word() -> None:
    said = list(say("one  two three", seconds=0.5))
    assert "".join(part.text for part in said if isinstance(part, TextDelta)) == "one  two three"
    assert said.count(delay(0.5)) == 3


@pytest.mark.parametrize(
    "script", [lambda request, turn: None, lambda request, turn: [7], lambda request: "x"]
)
def test_a_script_that_is_wrong_is_an_error_with_the_type_only(script: Any) -> None:
    assert collect(scripted(script)) == [ProviderError("configuration", "the script raised TypeError")]


def test_an_exception_of_the_script_is_not_quoted() -> None:
    def script(request: ChatRequest, turn: int) -> Iterator[str]:
        yield "Hi"
        raise RuntimeError("/secret/path")

    assert collect(scripted(script)) == [
        TextDelta("Hi"),
        ProviderError("configuration", "the script raised RuntimeError"),
    ]


def test_a_stop_ends_a_delay_at_once() -> None:
    stop, began = Stop(), time.monotonic()
    events = scripted(lambda request, turn: ["Hi", delay(60), "late"]).stream(question(), stop)
    assert next(events) == TextDelta("Hi")
    threading.Timer(0.05, stop.set).start()
    assert list(events) == []
    assert time.monotonic() - began < 10
