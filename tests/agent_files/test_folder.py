"""What counts in an agents folder: names, links, pipes and leftovers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flask_litro_agent.agent_files import load_agents
from tests.agent_files.samples import AGENT, TOOL, Write, faults_of

OUTSIDE = "is a symbolic link that leads out of the agents folder"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A sound agent that stands outside of the agents folder."""
    outside = tmp_path / "outside"
    (outside / "tools").mkdir(parents=True)
    (outside / "agent.py").write_text(AGENT)
    (outside / "tools" / "find.py").write_text(TOOL)
    return outside


def test_what_starts_with_an_underscore_or_a_dot_is_neither_agent_nor_tool(demo: Path, write: Write) -> None:
    for name in ("_shared/broken.py", ".git/agent.py", "_off/agent.py", "__init__.py", "_x.py"):
        write(name, "raise RuntimeError('nobody imports this')")
    for name in ("_client.py", "_data/rows.py", ".#get_weather.py"):
        write(f"demo/tools/{name}", "raise RuntimeError('nobody imports this')")
    loaded = load_agents(demo)
    assert (list(loaded.agents), list(loaded.agents["demo"].tools)) == (["demo"], ["get_weather"])


def test_files_that_are_not_python_may_stand_beside(demo: Path, write: Write) -> None:
    for name in ("README.md", "demo/notes.txt", "demo/tools/cities.json"):
        write(name, "{")
    assert list(load_agents(demo).agents) == ["demo"]


def test_what_version_control_and_the_interpreter_leave_behind_is_no_agent(demo: Path, write: Write) -> None:
    write("gone/tools/__pycache__/x.cpython-311.pyc")
    write("gone/.DS_Store")
    write("demo/tools/old/__pycache__/x.cpython-311.pyc")
    (demo / "empty").mkdir()
    assert list(load_agents(demo).agents) == ["demo"]


def test_a_folder_without_agent_py_is_a_fault(demo: Path, write: Write) -> None:
    write("half/tools/find.py", TOOL)
    assert faults_of(demo) == [
        "agents/half: has no agent.py; write it, or begin the folder's name with _ if it is no agent"
    ]


def test_a_python_file_among_the_agents_is_a_fault(demo: Path, write: Write) -> None:
    write("helper.py", "x = 1")
    assert faults_of(demo) == [
        "agents/helper.py: an agent is a folder: helper/agent.py; shared code begins with _"
    ]


@pytest.mark.parametrize("name", ["Other", "9lives", "dot.ted", "sp ace", "ｗide", "a" * 65, "new\nline"])
def test_the_name_of_a_folder_must_be_able_to_name_an_agent(demo: Path, write: Write, name: str) -> None:
    write(f"{name}/agent.py", AGENT)
    (said,) = [fault for fault in faults_of(demo) if "must match" in fault]
    assert said.endswith("the name of an agent's folder must match [a-z][a-z0-9_-]{0,63}")
    assert "\n" not in said


def test_an_empty_folder_is_a_fault_that_says_what_to_write(tmp_path: Path) -> None:
    assert faults_of(tmp_path) == [f"{tmp_path.name}: holds no agent; write {tmp_path.name}/<name>/agent.py"]


def test_a_folder_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    assert faults_of(tmp_path / "agents") == ["agents: cannot be read: No such file or directory"]


def test_an_agent_that_is_a_link_to_the_outside_is_a_fault(demo: Path, outside: Path) -> None:
    (demo / "far").symlink_to(outside)
    assert faults_of(demo) == [f"agents/far: {OUTSIDE}"]


def test_an_agent_py_that_is_a_link_to_the_outside_is_a_fault(demo: Path, outside: Path) -> None:
    (demo / "far").mkdir()
    (demo / "far" / "agent.py").symlink_to(outside / "agent.py")
    assert faults_of(demo) == [f"agents/far/agent.py: {OUTSIDE}"]


def test_tools_that_are_a_link_to_the_outside_are_a_fault(demo: Path, write: Write, outside: Path) -> None:
    write("far/agent.py", AGENT)
    (demo / "far" / "tools").symlink_to(outside / "tools")
    assert faults_of(demo) == [f"agents/far/tools: {OUTSIDE}"]


def test_a_tool_that_is_a_link_to_the_outside_is_a_fault(demo: Path, outside: Path) -> None:
    (demo / "demo" / "tools" / "find.py").symlink_to(outside / "tools" / "find.py")
    assert faults_of(demo) == [f"agents/demo/tools/find.py: {OUTSIDE}"]


def test_instructions_that_are_a_link_to_the_outside_are_a_fault(demo: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("key")
    (demo / "demo" / "instructions.md").symlink_to(tmp_path / "secret.txt")
    assert faults_of(demo) == [f"agents/demo/agent.py:3: instructions: instructions.md {OUTSIDE}"]


def test_a_folder_whose_name_only_begins_alike_is_outside(demo: Path, tmp_path: Path) -> None:
    twin = tmp_path / "agents-old"
    twin.mkdir()
    (twin / "find.py").write_text(TOOL)
    (demo / "demo" / "tools" / "find.py").symlink_to(twin / "find.py")
    assert faults_of(demo) == [f"agents/demo/tools/find.py: {OUTSIDE}"]


def test_a_link_within_the_folder_is_followed(demo: Path) -> None:
    (demo / "twin").symlink_to(demo / "demo")
    (demo / "demo" / "tools" / "sky.py").symlink_to("get_weather.py")
    loaded = load_agents(demo)
    assert {name: list(agent.tools) for name, agent in loaded.agents.items()} == {
        "demo": ["get_weather", "sky"],
        "twin": ["get_weather", "sky"],
    }


def test_links_to_nothing_and_to_themselves_are_faults(demo: Path) -> None:
    (demo / "demo" / "tools" / "gone.py").symlink_to("nowhere.py")
    (demo / "loop").symlink_to("loop")
    assert faults_of(demo) == [
        "agents/demo/tools/gone.py: is a symbolic link to nothing",
        "agents/loop: is a symbolic link to nothing",
    ]


def test_a_pipe_in_the_place_of_a_file_is_a_fault_and_never_opened(demo: Path) -> None:
    os.mkfifo(demo / "demo" / "tools" / "find.py")
    (demo / "far").mkdir()
    os.mkfifo(demo / "far" / "agent.py")
    assert faults_of(demo) == [
        "agents/demo/tools/find.py: is not a regular file",
        "agents/far/agent.py: is not a regular file",
    ]
