"""The tools of one agent: one file in ``tools/`` is one tool, named as the file."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from flask_litro_agent.agent_files.folder import AgentsFolder, is_leftover, is_python
from flask_litro_agent.agents import Agent
from flask_litro_agent.tools import NAME, Tool

__all__ = ["all_tools", "file_tools"]


def file_tools(agents: AgentsFolder, folder: Path) -> dict[str, Tool]:
    """Return the sound tools of an agent's ``tools/``; no such folder is no tool."""
    if not os.path.lexists(folder) or not agents.leads_inside(folder):
        return {}
    if not folder.is_dir():
        agents.fault(folder, "must be a folder with a file for each tool")
        return {}
    found = ((file.stem, _file_tool(agents, file)) for file in _tool_files(agents, folder))
    return {name: tool for name, tool in found if tool}


def all_tools(
    agents: AgentsFolder, agent: Agent, from_files: Mapping[str, Tool], file: Path
) -> Mapping[str, Tool]:
    """Return the tools from files and those that ``agent.py`` (``file``) lists, by name; a listed one wins."""
    listed: dict[str, Tool] = {}
    for tool in agent.declared_tools():
        if not NAME.fullmatch(tool.name):
            agents.fault_at(file, "agent", f"tools: the name {tool.name!r} must match {NAME.pattern}")
        elif tool.name in listed:
            agents.fault_at(file, "agent", f"tools: two tools have the name {tool.name!r}")
        listed[tool.name] = tool
    for name in sorted(listed.keys() & from_files.keys()):
        if listed[name].function is not from_files[name].function:
            agents.notes.append(f"{file.parent.name}: {name} from tools=[...] replaces tools/{name}.py")
    return MappingProxyType(dict(sorted({**from_files, **listed}.items())))


def _tool_files(agents: AgentsFolder, folder: Path) -> Iterator[Path]:
    for child in agents.children(folder):
        if child.is_dir():
            if not is_leftover(child):
                agents.fault(
                    child, "a tool is a file; begin the folder's name with _ if it holds shared code"
                )
        elif is_python(child):
            if child.suffix == ".py" and NAME.fullmatch(child.stem):
                yield child
            else:
                agents.fault(child, f"the name of a tool's file must match {NAME.pattern}\\.py")


def _file_tool(agents: AgentsFolder, file: Path) -> Tool | None:
    module = agents.module(file)
    if module is None:
        return None
    tools = list({id(value): value for value in vars(module).values() if isinstance(value, Tool)}.values())
    if not tools:
        agents.fault(file, f"has no tool; put @tool on a function, or rename the file _{file.name}")
        return None
    lines = sorted(line for tool in tools for line in agents.modules.functions(file, tool.name))
    if len(tools) == 1 and len(lines) < 2:
        return dataclasses.replace(tools[0], name=file.stem)
    agents.fault(file, _too_many(tools, lines), line=min(lines, default=None))
    return None


def _too_many(tools: list[Tool], lines: list[int]) -> str:
    where = f" (lines {', '.join(map(str, lines))})" if lines else ""
    names = ", ".join(tool.name for tool in tools)
    return f"{max(len(tools), len(lines))} tools in one file: {names}{where}; give each a file of its own"
