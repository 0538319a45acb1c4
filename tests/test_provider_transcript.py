"""Whatever a history is made of, the body that is made of it keeps the rules of the strictest servers."""

from __future__ import annotations

import importlib.util
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_litro_agent import strict_json
from flask_litro_agent.contracts import (
    ChatRequest,
    Image,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from flask_litro_agent.providers import anthropic_request, openai_request

CHECK = Path(__file__).parent / "wire_corpus" / "check.py"


@pytest.fixture(scope="module")
def faults_of() -> Callable[[str, dict[str, Any]], list[str]]:
    """Return the corpus's re-implementation of the servers' rules."""
    spec = importlib.util.spec_from_file_location("wire_corpus_check", CHECK)
    assert spec is not None
    assert spec.loader is not None
    check = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check)
    return lambda rules, body: check.VALIDATORS[rules](body)


TEXTS = st.sampled_from(["", " ", "\n", "hi", "bye \n", "\ud800x", "a\0b"]).map(Text)
IMAGES = st.just(Image("image/png", "AAAA"))
IDS = st.sampled_from(["c1", "c2", "functions.x:0", "", "x" * 70])
NAMES = st.sampled_from(["get", "orders/look", "orders look", "", "é" * 80, "x" * 80])
INPUTS = st.sampled_from([{}, {"a": "\ud800"}, {"b": float("nan")}])
OUTPUTS = st.one_of(
    st.sampled_from(["", "x", None, [], {"a": "\ud83d"}]),
    st.lists(st.one_of(TEXTS, IMAGES), min_size=1, max_size=2),
)
NO_STATE: Any = st.none()
STATES: Any = st.sampled_from(
    [
        None,
        {"provider": "anthropic", "model": "m", "blocks": [{"type": "redacted_thinking", "data": "d"}]},
        {
            "provider": "anthropic",
            "model": "m",
            "blocks": [{"type": "text", "text": "hi"}, {"type": "tool_use"}],
        },
        {"provider": "openai", "model": "m", "fields": {"reasoning": "r"}, "calls": [{"extra": 1}]},
    ]
)
SAID = st.one_of(
    TEXTS,
    st.builds(Reasoning, st.sampled_from(["", "hm"]), st.sampled_from([None, "", "signed"])),
    st.builds(ToolCall, IDS, NAMES, INPUTS, st.booleans()),
)


def messages(role: Any, parts: st.SearchStrategy[Any], states: Any = NO_STATE) -> st.SearchStrategy[Message]:
    return st.builds(Message, st.just(role), st.lists(parts, max_size=3).map(tuple), states)


REQUESTS = st.builds(
    ChatRequest,
    st.sampled_from(["", " ", "Be brief."]),
    st.lists(
        st.one_of(
            messages("user", st.one_of(TEXTS, IMAGES)),
            messages("assistant", SAID, STATES),
            messages("tool", st.builds(ToolResult, IDS, NAMES, OUTPUTS, st.booleans())),
        ),
        max_size=6,
    ).map(tuple),
    st.lists(st.builds(ToolSpec, NAMES, st.just(""), st.sampled_from([{}, {"properties": None}]))).map(tuple),
)


@given(REQUESTS)
def test_any_history_is_sent_to_openai_by_its_rules(faults_of: Any, asked: ChatRequest) -> None:
    body = json.loads(strict_json.encode(openai_request.body(asked, "m")))

    assert faults_of("openai", body) == []
    roles = [message["role"] for message in body["messages"]]
    assert ("user", "user") not in itertools.pairwise(roles)


@given(REQUESTS)
def test_any_history_is_sent_to_mistral_by_its_rules(faults_of: Any, asked: ChatRequest) -> None:
    made = openai_request.body(asked, "m", ids=openai_request.NINE_CHARACTERS)

    assert faults_of("mistral", json.loads(strict_json.encode(made))) == []


@given(REQUESTS, st.sampled_from([None, 2000]))
def test_any_history_is_sent_to_anthropic_by_its_rules(
    faults_of: Any, asked: ChatRequest, budget: int | None
) -> None:
    made = anthropic_request.body(asked, "m", max_tokens=100, thinking_budget=budget)

    assert faults_of("anthropic", json.loads(strict_json.encode(made))) == []


def test_two_tools_that_are_gone_and_are_sent_as_one_are_declared_once() -> None:
    calls = tuple(ToolCall(f"c{at}", name, {}) for at, name in enumerate(["orders/look", "orders look"]))
    asked = ChatRequest("", (Message("user", (Text("hi"),)), Message("assistant", calls)), ())

    made = anthropic_request.body(asked, "m", max_tokens=100)

    assert [tool["name"] for tool in made["tools"]] == ["orders_look"]


def test_the_rules_notice_a_call_without_a_result(faults_of: Any) -> None:
    """The control: the rules do refuse something."""
    call = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": "{}"}}

    assert faults_of("openai", {"stream": True, "messages": [{"role": "assistant", "tool_calls": [call]}]})
