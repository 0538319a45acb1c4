"""The tools of one agent: from its files, from agent.py, and what is wrong with some."""

from __future__ import annotations

from pathlib import Path

import pytest

from flask_litro_agent.agent_files import load_agents
from tests.agent_files.samples import IMPORTS, TOOL, WEATHER, Write, agent_with, answer, faults_of

KIT_AGENT = (
    IMPORTS
    + """
from flask_litro_agent.agents import Agent

stock = ToolKit()

@stock.tool(description="Stock.", permission="stock:read", mode=Mode.READ, params=Schema)
def stock_for(params, ctx):
    return "from the kit"

@tool(description="Weather.", permission=PUBLIC, mode=Mode.READ, params=Schema)
def get_weather(params, ctx):
    return "explicit"

agent = Agent(model="scripted:demo", tools=[stock, get_weather])
"""
)


def test_the_name_of_a_tool_is_its_file_and_not_its_function(demo: Path, write: Write) -> None:
    write("demo/tools/weather_now.py", TOOL)
    tools = load_agents(demo).agents["demo"].tools
    assert {name: tool.name for name, tool in tools.items()} == {
        "get_weather": "get_weather",
        "weather_now": "weather_now",
    }


def test_one_tool_under_two_names_in_its_file_is_one_tool(demo: Path, write: Write) -> None:
    write("demo/tools/get_weather.py", TOOL + "alias = get_weather\n")
    assert list(load_agents(demo).agents["demo"].tools) == ["get_weather"]


def test_a_file_may_pass_on_a_shared_tool(demo: Path, write: Write) -> None:
    write("_shared/weather.py", TOOL)
    write("demo/tools/sky.py", "from ..._shared.weather import get_weather\n")
    assert answer(load_agents(demo).agents["demo"], "sky") == "sunny"


def test_a_listed_tool_wins_over_a_file_and_the_report_says_so(demo: Path, write: Write) -> None:
    write("demo/agent.py", KIT_AGENT)
    loaded = load_agents(demo)
    agent = loaded.agents["demo"]
    assert list(agent.tools) == ["get_weather", "stock_for"]
    assert answer(agent, "get_weather") == "explicit"
    assert loaded.notes == ("demo: get_weather from tools=[...] replaces tools/get_weather.py",)


def test_a_file_that_is_listed_as_well_replaces_nothing(demo: Path, write: Write) -> None:
    write("demo/agent.py", "from .tools.get_weather import get_weather\n" + agent_with("tools=[get_weather]"))
    assert load_agents(demo).notes == ()


def test_two_listed_tools_of_one_name_are_a_fault(demo: Path, write: Write) -> None:
    write("demo/agent.py", KIT_AGENT.replace("def stock_for", "def get_weather"))
    assert faults_of(demo) == ["agents/demo/agent.py:16: tools: two tools have the name 'get_weather'"]


@pytest.mark.parametrize("name", ["Get_Weather", "ｇet_weather", "get_weather\\n"])
def test_a_listed_name_that_differs_by_case_or_normal_form_is_a_fault(
    demo: Path, write: Write, name: str
) -> None:
    renamed = f"tools=[dataclasses.replace(get_weather, name='{name}')]"
    write("demo/agent.py", "import dataclasses\n" + KIT_AGENT.replace("tools=[stock, get_weather]", renamed))
    assert faults_of(demo) == [
        f"agents/demo/agent.py:17: tools: the name '{name}' must match [a-z][a-z0-9_]{{0,63}}"
    ]


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("x = 1", ": has no tool; put @tool on a function, or rename the file _get_weather.py"),
        (
            TOOL.replace("permission=PUBLIC, mode=Mode.READ, ", ""),
            ":4: @tool leaves out permission, mode; every tool says its description, permission, mode and params",
        ),
        (
            TOOL.replace('description="Current weather.", ', ""),
            ":4: @tool leaves out description; every tool",
        ),
        (TOOL.replace(", params=Schema", ""), ":4: @tool leaves out params; every tool"),
        (
            IMPORTS
            + "kit = ToolKit()\n@kit.tool(description='x', mode=Mode.READ, params=Schema)\ndef f(p, c): ...",
            ":4: @tool leaves out permission; every tool",
        ),
        (IMPORTS + "@tool\ndef f(p, c): ...", ":3: @tool says nothing; write @tool(description=..."),
        (
            TOOL.replace("params=Schema", "params=Schema, retries=3"),
            ":4: TypeError: tool() got an unexpected keyword argument 'retries'",
        ),
        (
            TOOL.replace("def get", "async def get"),
            ":4: tool 'get_weather': is 'async def'; tools are synchronous: write 'def'",
        ),
        (
            TOOL.replace("Mode.READ", "Mode.EXECUTE"),
            ":4: tool 'get_weather': PUBLIC may stand only on a tool",
        ),
        (TOOL.replace("Mode.READ", "'read'"), ":4: tool 'get_weather': mode must be Mode.READ"),
        (
            TOOL + WEATHER.replace("def get_weather", "def other"),
            ":4: 2 tools in one file: get_weather, other (lines 4, 8); give each a file of its own",
        ),
        (TOOL + WEATHER, ":4: 2 tools in one file: get_weather (lines 4, 8); give each a file of its own"),
    ],
)
def test_a_mistake_in_a_tool_is_one_sentence(demo: Path, write: Write, code: str, fault: str) -> None:
    write("demo/tools/get_weather.py", code)
    (said,) = faults_of(demo)
    assert said.startswith(f"agents/demo/tools/get_weather.py{fault}")


@pytest.mark.parametrize(
    "name", ["Weather.py", "get-weather.py", "9lives.py", "wetter_ü.py", "a.b.py", "late.PY"]
)
def test_the_name_of_a_file_must_be_able_to_name_a_tool(demo: Path, write: Write, name: str) -> None:
    write(f"demo/tools/{name}", TOOL)
    assert faults_of(demo) == [
        f"agents/demo/tools/{name}: the name of a tool's file must match [a-z][a-z0-9_]{{0,63}}\\.py"
    ]


def test_a_name_of_64_letters_is_the_longest(demo: Path, write: Write) -> None:
    write(f"demo/tools/{'a' * 64}.py", TOOL)
    assert "a" * 64 in load_agents(demo).agents["demo"].tools
    write(f"demo/tools/{'b' * 65}.py", TOOL)
    assert len(faults_of(demo)) == 1


def test_a_folder_among_the_tools_is_a_fault(demo: Path, write: Write) -> None:
    write("demo/tools/weather/now.py", TOOL)
    assert faults_of(demo) == [
        "agents/demo/tools/weather: a tool is a file; begin the folder's name with _ if it holds shared code"
    ]


def test_tools_that_are_a_file_are_a_fault(write: Write) -> None:
    write("demo/tools", "")
    folder = write("demo/agent.py", agent_with(""))
    assert faults_of(folder) == ["agents/demo/tools: must be a folder with a file for each tool"]
