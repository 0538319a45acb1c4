"""What is found in an agents folder, and what becomes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from flask_litro_agent.agent_files import load_agents
from tests.agent_files.samples import AGENT, TOOL, Write, agent_with, answer, faults_of


def test_an_agent_has_the_name_of_its_folder_and_the_tools_of_its_files(demo: Path) -> None:
    loaded = load_agents(demo)
    agent = loaded.agents["demo"]
    assert (list(loaded.agents), loaded.folder, loaded.notes) == (["demo"], demo, ())
    assert (agent.name, agent.folder, agent.access) == ("demo", demo / "demo", None)
    assert list(agent.tools) == ["get_weather"]
    assert answer(agent, "get_weather") == "sunny"


def test_an_agent_without_tools_is_one_too(write: Write) -> None:
    assert dict(load_agents(write("demo/agent.py", AGENT)).agents["demo"].tools) == {}


def test_agents_and_tools_come_sorted_by_name(demo: Path, write: Write) -> None:
    for name in ("zeta", "alpha", "my-agent_2"):
        write(f"{name}/agent.py", AGENT)
    for name in ("zoo", "ant"):
        write(f"demo/tools/{name}.py", TOOL)
    agents = load_agents(demo).agents
    assert list(agents) == ["alpha", "demo", "my-agent_2", "zeta"]
    assert list(agents["demo"].tools) == ["ant", "get_weather", "zoo"]


def test_what_was_loaded_cannot_be_changed(demo: Path) -> None:
    loaded = load_agents(demo)
    for mapping in (loaded.agents, loaded.agents["demo"].tools):
        with pytest.raises(TypeError):
            mapping["more"] = None  # type: ignore[index]


@pytest.mark.parametrize("name", ["..", "__init__", "demo\n", "Demo", "DEMO", "", "agents", "_shared"])
def test_an_agent_answers_to_its_exact_name_only(demo: Path, write: Write, name: str) -> None:
    write("_shared/agent.py", AGENT)
    assert name not in load_agents(demo).agents


def test_no_instructions_are_an_empty_prompt_until_the_file_is_written(demo: Path, write: Write) -> None:
    agent = load_agents(demo).agents["demo"]
    assert agent.system_prompt() == ""
    write("demo/instructions.md", "Now.")
    assert agent.system_prompt() == "Now."


def test_instructions_md_is_used_unread_by_any_template_when_nothing_is_said(
    demo: Path, write: Write
) -> None:
    text = "Be {brief}. {{ cycler.__init__.__globals__ }} %(x)s"
    write("demo/instructions.md", text)
    agent = load_agents(demo).agents["demo"]
    assert (agent.instructions, agent.system_prompt()) == (text, text)


def test_a_named_file_of_instructions_follows_its_edits(demo: Path, write: Write) -> None:
    write("demo/agent.py", agent_with('instructions="./prompt.txt"'))
    write("demo/prompt.txt", "First.")
    agent = load_agents(demo).agents["demo"]
    write("demo/prompt.txt", "Second one.")
    assert (agent.instructions, agent.system_prompt()) == ("First.", "Second one.")


def test_literal_instructions_win_over_the_file_and_the_report_says_so(demo: Path, write: Write) -> None:
    write("demo/agent.py", agent_with('instructions="Literal."'))
    write("demo/instructions.md", "From the file.")
    loaded = load_agents(demo)
    assert loaded.agents["demo"].system_prompt() == "Literal."
    assert loaded.notes == ("demo: instructions= in agent.py is used, not instructions.md",)


def test_a_named_file_of_instructions_must_be_there(demo: Path, write: Write) -> None:
    write("demo/agent.py", agent_with('instructions="./prompt.md"'))
    assert faults_of(demo) == [
        "agents/demo/agent.py:3: instructions: prompt.md cannot be read: No such file or directory"
    ]


def test_instructions_that_are_not_utf_8_are_a_fault(demo: Path, write: Write) -> None:
    write("demo/instructions.md", b"one\ncaf\xe9")
    assert faults_of(demo) == ["agents/demo/agent.py:3: instructions: instructions.md is not UTF-8 (line 2)"]


def test_access_is_the_function_of_agent_py(demo: Path, write: Write) -> None:
    write("demo/agent.py", AGENT + "def access(): return 'asked'\n")
    access = load_agents(demo).agents["demo"].access
    assert access is not None
    assert access() == "asked"


def test_access_may_come_from_shared_code(demo: Path, write: Write) -> None:
    write("_shared/doors.py", "def signed_in(role=None): return role\n")
    write("demo/agent.py", "from .._shared.doors import signed_in as access\n" + AGENT)
    assert load_agents(demo).agents["demo"].access is not None


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("access = 'admin'", "4: 'access' must be a function, not a str"),
        ("access = None", "4: 'access' must be a function, not a NoneType"),
        ("class access: pass", "4: 'access' must be a function, not a type"),
        ("async def access(): pass", "4: 'access' is 'async def'; write 'def'"),
        (
            "def access(): yield",
            "4: 'access' must not yield: a generator's body does not run when it is called",
        ),
        ("def access(actor): pass", "4: 'access' must take no arguments"),
        ("import functools\n@functools.cache\ndef access(actor): pass", "5: 'access' must take no arguments"),
        (
            "class Door:\n async def __call__(self): ...\naccess = Door()",
            "6: 'access' is 'async def'; write 'def'",
        ),
    ],
)
def test_an_access_that_guards_nothing_is_a_fault(demo: Path, write: Write, code: str, fault: str) -> None:
    write("demo/agent.py", f"{AGENT}{code}\n")
    assert faults_of(demo) == [f"agents/demo/agent.py:{fault}"]


def test_no_broken_file_hides_the_faults_of_another(demo: Path, write: Write) -> None:
    write("demo/agent.py", "def access(:")
    write("demo/tools/get_weather.py", "raise SystemExit")
    write("demo/tools/Upper.py", TOOL)
    write("no_agent/notes.md")
    write("other/agent.py", AGENT + "access = 1\nagent = Agent(model='x')\n")
    write("third/agent.py", AGENT + "async def access(): ...\n")
    write("third/instructions.md", b"\xff")
    write("third/tools/find.py", "")
    assert [fault.split(": ")[0] for fault in faults_of(demo)] == [
        "agents/demo/tools/Upper.py",
        "agents/demo/tools/get_weather.py:1",
        "agents/demo/agent.py:1",
        "agents/no_agent",
        "agents/other/agent.py:5",
        "agents/third/tools/find.py",
        "agents/third/agent.py:4",
        "agents/third/agent.py:3",
    ]
