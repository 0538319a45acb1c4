"""What an agent.py may say, and what it is told when it says it wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from marshmallow import Schema

from flask_litro_agent.agents import Agent, LoadedAgent
from flask_litro_agent.contracts import ChatRequest, ProviderEvent, Stop
from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.tools import PUBLIC, Mode, Tool, ToolKit, tool


class Mute:
    """A provider by shape alone."""

    model = "mute"

    def stream(self, request: ChatRequest, stop: Stop) -> Iterator[ProviderEvent]:
        return iter(())


def read_tool(name: str) -> Tool:
    def function(params: dict[str, Any], ctx: object) -> str:
        return name

    function.__name__ = name
    return tool(description="Reads.", permission=PUBLIC, mode=Mode.READ, params=Schema)(function)


def faults_of(**said: Any) -> tuple[str, ...]:
    with pytest.raises(ConfigurationError) as caught:
        Agent(**{"model": "openai:gpt-5-mini", **said})
    return caught.value.faults


def test_a_model_is_enough() -> None:
    agent = Agent(model="openai:gpt-5-mini")
    assert (agent.instructions, agent.tools, agent.suggestions, dict(agent.limits)) == ("", (), (), {})


def test_a_model_may_be_any_object_with_the_shape_of_a_provider() -> None:
    mute = Mute()
    assert Agent(model=mute).model is mute


def test_a_model_name_may_have_colons_and_slashes() -> None:
    assert Agent(model="ollama:library/qwen3:8b").model == "ollama:library/qwen3:8b"


@pytest.mark.parametrize(
    "model", ["gpt-5", "", ":x", "openai:", "OpenAI:gpt", "openai:gpt 5", "openai:gpt\n"]
)
def test_a_model_without_the_form_name_colon_model_is_refused(model: str) -> None:
    (fault,) = faults_of(model=model)
    assert fault.startswith("model must be a provider or 'name:model'")
    assert repr(model) in fault


@pytest.mark.parametrize("model", [None, 5, object(), Mute])
def test_a_model_that_is_no_provider_is_refused(model: object) -> None:
    (fault,) = faults_of(model=model)
    assert fault.startswith("model must be a provider")


def test_the_name_of_an_instructions_file_is_told_from_a_text() -> None:
    assert Agent(model="a:b", instructions="./prompt.md").instructions_name == "prompt.md"
    assert Agent(model="a:b", instructions="./prompt.txt").instructions_name == "prompt.txt"
    assert Agent(model="a:b", instructions="Read ./prompt.md first.").instructions_name is None
    assert (
        Agent(model="a:b", instructions="./prompt.md is where it stands.\nDo x.md").instructions_name is None
    )


@pytest.mark.parametrize("name", ["./../prompt.md", "./deeper/prompt.md", ".//etc/x.txt", "./a\\b.md"])
def test_instructions_must_be_a_file_beside_agent_py(name: str) -> None:
    (fault,) = faults_of(instructions=name)
    assert "must be a file beside agent.py" in fault


@pytest.mark.parametrize("name", ["instructions.md", "../x/prompt.txt", "/etc/prompt.md"])
def test_a_file_name_that_would_be_sent_as_the_prompt_is_refused(name: str) -> None:
    (fault,) = faults_of(instructions=name)
    assert fault.endswith("is a text, not a file; a file begins with './'")


def test_every_fault_is_told_at_once() -> None:
    faults = faults_of(
        model="gpt",
        instructions=3,
        tools="stock",
        max_tokens=0,
        temperature=9,
        title="two\nlines",
        suggestions="Hello?",
        limits={"max_round": 3, "max_calls": 0},
    )
    assert [fault.split()[0].rstrip(":") for fault in faults] == [
        "model",
        "instructions",
        "tools",
        "max_tokens",
        "temperature",
        "title",
        "suggestions",
        "limits",
        "limits",
    ]


def test_each_wrong_tool_is_named_by_its_place() -> None:
    faults = faults_of(tools=[read_tool("ok"), print, ToolKit("stray")])  # type: ignore[arg-type]
    assert faults == (
        "tools: item 2 must be a tool (made by @tool) or a ToolKit, not a value of type builtin_function_or_method",
        "tools: item 3 is a ToolKit that holds a value of type str",
    )


@pytest.mark.parametrize("value", [True, 0, -1, 2.5, "100"])
def test_max_tokens_is_a_whole_number_from_one(value: object) -> None:
    assert faults_of(max_tokens=value) == (f"max_tokens must be a whole number from 1, not {value!r}",)


@pytest.mark.parametrize("value", [True, -0.1, 2.1, float("nan"), "1"])
def test_temperature_is_a_number_from_zero_to_two(value: object) -> None:
    assert faults_of(temperature=value) == (f"temperature must be a number from 0 to 2, not {value!r}",)


def test_an_unknown_limit_is_answered_with_the_known_ones() -> None:
    (fault,) = faults_of(limits={"rounds": 4})
    assert fault.startswith(
        "limits: no limit named 'rounds'; there is: context_tokens, idle_seconds, max_calls"
    )


def test_a_limit_that_is_no_mapping_is_refused() -> None:
    assert faults_of(limits=[4]) == (
        "limits must be a mapping such as {'max_rounds': 4}, not a value of type list",
    )


def test_a_suggestion_must_be_a_text() -> None:
    assert faults_of(suggestions=["Hi", " ", 3]) == (
        "suggestions: item 2 must be a text, not ' '",
        "suggestions: item 3 must be a text, not 3",
    )


def test_an_agent_does_not_change_with_the_lists_it_was_made_from() -> None:
    suggestions, limits = ["Hello?"], {"max_rounds": 2}
    agent = Agent(model="a:b", suggestions=suggestions, limits=limits)
    suggestions.append("More?")
    limits["max_rounds"] = 99
    assert (agent.suggestions, dict(agent.limits)) == (("Hello?",), {"max_rounds": 2})
    with pytest.raises(dataclasses.FrozenInstanceError):
        agent.title = "other"  # type: ignore[misc]


def test_declared_tools_are_those_of_the_kits_too_and_each_once() -> None:
    ping, find = read_tool("ping"), read_tool("find")
    assert Agent(model="a:b", tools=[ping, ToolKit(find, ping)]).declared_tools() == (ping, find)


def test_the_title_of_a_loaded_agent_falls_back_to_its_name() -> None:
    assert LoadedAgent(name="demo", agent=Agent(model="a:b"), tools={}).title == "demo"
    assert (
        LoadedAgent(name="demo", agent=Agent(model="a:b", title="Concierge"), tools={}).title == "Concierge"
    )


def test_the_system_prompt_without_a_file_is_the_text() -> None:
    loaded = LoadedAgent(
        name="demo", agent=Agent(model="a:b"), tools={}, instructions="Be {brief} {{ 7 * 7 }}."
    )
    assert loaded.system_prompt() == "Be {brief} {{ 7 * 7 }}."
