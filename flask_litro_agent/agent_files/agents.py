"""The agents of a folder.

agents/
  demo/                   an agent; its name is the folder's
    agent.py              agent = Agent(...), and perhaps def access(): ...
    instructions.md       the system prompt
    tools/get_weather.py  one @tool function; its name is the file's
  _shared/                a name that starts with _ or . is neither agent nor tool
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType, ModuleType

from flask_litro_agent.agent_files.folder import AgentsFolder, is_leftover, is_python
from flask_litro_agent.agent_files.tools import all_tools, file_tools
from flask_litro_agent.agents import NAME, Agent, LoadedAgent, LoadedAgents
from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.instructions import InstructionsFile

__all__ = ["draft_agents", "load_agents"]


def load_agents(folder: Path) -> LoadedAgents:
    """Load every agent of a folder, from scratch; ConfigurationError has every fault of every agent."""
    loaded = draft_agents(folder)
    if loaded.faults:
        raise ConfigurationError(loaded.faults)
    return loaded


def draft_agents(folder: Path) -> LoadedAgents:
    """Load what can be loaded, from scratch; ``faults`` says what is wrong with the rest."""
    agents = AgentsFolder(folder)
    loaded = [agent for path in _agent_folders(agents) if (agent := _load_agent(agents, path))]
    if not loaded and not agents.faults:
        agents.fault(agents.path, f"holds no agent; write {agents.path.name}/<name>/agent.py")
    by_name = MappingProxyType({agent.name: agent for agent in loaded})
    return LoadedAgents(
        agents=by_name,
        folder=agents.path,
        notes=tuple(agents.notes),
        faults=tuple(dict.fromkeys(agents.faults)),
    )


def _agent_folders(agents: AgentsFolder) -> Iterator[Path]:
    for child in agents.children(agents.path):
        if child.is_dir():
            if _is_agent(agents, child):
                yield child
        elif is_python(child):
            agents.fault(child, f"an agent is a folder: {child.stem}/agent.py; shared code begins with _")


def _is_agent(agents: AgentsFolder, folder: Path) -> bool:
    if not os.path.lexists(folder / "agent.py"):
        if not is_leftover(folder):
            agents.fault(
                folder, "has no agent.py; write it, or begin the folder's name with _ if it is no agent"
            )
        return False
    if not NAME.fullmatch(folder.name):
        agents.fault(folder, f"the name of an agent's folder must match {NAME.pattern}")
    return True


def _load_agent(agents: AgentsFolder, folder: Path) -> LoadedAgent | None:
    tools = file_tools(agents, folder / "tools")
    file = folder / "agent.py"
    module = agents.module(file) if agents.leads_inside(file) else None
    agent = _declared_agent(agents, module, file) if module else None
    if module is None or agent is None:
        return None
    access = _access(agents, module, file)
    instructions = _instructions(agents, agent, file)
    return LoadedAgent(
        name=folder.name,
        agent=agent,
        tools=all_tools(agents, agent, tools, file),
        access=access,
        folder=folder,
        instructions=instructions.text() if instructions else agent.instructions,
        instructions_file=instructions,
    )


def _declared_agent(agents: AgentsFolder, module: ModuleType, file: Path) -> Agent | None:
    if "agent" not in vars(module):
        agents.fault(file, "defines no 'agent'; write agent = Agent(model=...)")
        return None
    agent = vars(module)["agent"]
    if not isinstance(agent, Agent):
        agents.fault_at(file, "agent", f"'agent' must be an Agent(...), not a {type(agent).__name__}")
        return None
    return agent


def _access(agents: AgentsFolder, module: ModuleType, file: Path) -> Callable[[], object] | None:
    if "access" not in vars(module):
        return None
    access = vars(module)["access"]
    fault = _access_fault(access)
    if fault:
        agents.fault_at(file, "access", f"'access' {fault}")
    return None if fault else access


def _access_fault(access: object) -> str | None:
    """Say why this cannot guard an agent: what never runs, or never raises, would let everybody in."""
    if not callable(access) or isinstance(access, type):
        return f"must be a function, not a {type(access).__name__}"
    ways = (access, type(access).__call__)
    if any(inspect.iscoroutinefunction(way) or inspect.isasyncgenfunction(way) for way in ways):
        return "is 'async def'; write 'def'"
    if any(inspect.isgeneratorfunction(way) for way in ways):
        return "must not yield: a generator's body does not run when it is called"
    return None if _takes_nothing(access) else "must take no arguments"


def _takes_nothing(function: Callable[..., object]) -> bool:
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    except ValueError:  # some built-in functions do not tell
        return True
    return True


def _instructions(agents: AgentsFolder, agent: Agent, file: Path) -> InstructionsFile | None:
    """Return the agent's file of instructions; None when its text is in ``agent.py``, or with a fault."""
    default = file.with_name("instructions.md")
    if agent.instructions and not agent.instructions_name:
        if os.path.lexists(default):
            agents.notes.append(f"{file.parent.name}: instructions= in agent.py is used, not {default.name}")
        return None
    path = file.with_name(agent.instructions_name or default.name)
    try:
        return InstructionsFile(path, within=agents.path, optional=not agent.instructions)
    except ConfigurationError as error:
        agents.fault_at(file, "agent", f"instructions: {path.name} {error}")
    return None
