"""Agents: what an ``agent.py`` says, and an agent as it was found in a folder.

An agent is a value. Finding and loading the files is the work of ``agent_files``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from flask_litro_agent.contracts import Provider
from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.instructions import InstructionsFile
from flask_litro_agent.settings import Settings
from flask_litro_agent.tools import Tool, ToolKit

__all__ = ["NAME", "Agent", "LoadedAgent", "LoadedAgents"]

NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_LEVELS: Final = ("off", "read", "propose", "execute")
_MODEL: Final = re.compile(r"[a-z][a-z0-9_-]*:\S+")
_FILE: Final = re.compile(r"\./\S+\.(md|txt)")
_BARE_FILE: Final = re.compile(r"[\w./-]+\.(md|txt)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent, as ``agent = Agent(model=...)`` in ``agents/<name>/agent.py`` declares it.

    ``model`` is a provider, or ``"name:model"`` for a provider that a plugin registered. ``instructions`` is the
    text of the system prompt, or ``"./name.md"`` (``.txt``) for a file beside ``agent.py``; without it
    ``instructions.md`` is read if there is one. ``tools`` come on top of those in ``tools/`` and win on a name.
    ``limits`` replaces fields of ``settings.Limits``. ``ceiling`` (``"off"``, ``"read"``, ``"propose"``,
    ``"execute"``) is the most that its tools may do, whatever the site allows. With ``continue_after_approval`` a
    decision about one of its proposals starts a turn in which the model is told of it. With ``mcp_server`` whoever
    has a token for it may call its tools over MCP. ConfigurationError lists everything that is wrong.
    """

    model: Provider | str
    instructions: str = ""
    tools: Sequence[Tool | ToolKit] = ()
    max_tokens: int | None = None
    temperature: float | None = None
    title: str = ""
    suggestions: Sequence[str] = ()
    limits: Mapping[str, Any] = field(default_factory=dict)
    ceiling: str | None = None
    continue_after_approval: bool = False
    mcp_server: bool = False

    def __post_init__(self) -> None:
        faults = list(_faults(self))
        if faults:
            raise ConfigurationError(faults)
        object.__setattr__(self, "tools", tuple(self.tools))
        object.__setattr__(self, "suggestions", tuple(self.suggestions))
        object.__setattr__(self, "limits", MappingProxyType(dict(self.limits)))

    @property
    def instructions_name(self) -> str | None:
        """The name of the file that ``instructions`` points to, or None when it is the text itself."""
        return self.instructions.removeprefix("./") if _FILE.fullmatch(self.instructions) else None

    def declared_tools(self) -> tuple[Tool, ...]:
        """Return every tool of ``tools``, those of its kits included, each one once."""
        nested = ([item] if isinstance(item, Tool) else list(item) for item in self.tools)
        return tuple({id(tool): tool for group in nested for tool in group}.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedAgent:
    """An agent with its name and all of its tools, sorted by name.

    ``access`` is the agent's own check, run at every request; it refuses by raising. ``instructions`` is the text
    as it was loaded: ask ``system_prompt()`` for the one in force.
    """

    name: str
    agent: Agent
    tools: Mapping[str, Tool]
    access: Callable[[], object] | None = None
    folder: Path | None = None
    instructions: str = ""
    instructions_file: InstructionsFile | None = field(default=None, repr=False)

    @property
    def title(self) -> str:
        return self.agent.title or self.name

    def system_prompt(self) -> str:
        """Return the instructions as they are now: an edited file counts at once."""
        return self.instructions_file.text() if self.instructions_file else self.instructions


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedAgents:
    """The agents of one folder, by name; ``notes`` are lines for the start-up report, ``faults`` what is wrong."""

    agents: Mapping[str, LoadedAgent]
    folder: Path | None = None
    notes: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def _faults(agent: Agent) -> Iterator[str]:
    yield from _model_faults(agent.model)
    yield from _instructions_faults(agent.instructions)
    yield from _tools_faults(agent.tools)
    if agent.max_tokens is not None and (not _is_number(agent.max_tokens, int) or agent.max_tokens < 1):
        yield f"max_tokens must be a whole number from 1, not {agent.max_tokens!r}"
    if agent.temperature is not None and not (
        _is_number(agent.temperature, int, float) and 0 <= agent.temperature <= 2
    ):
        yield f"temperature must be a number from 0 to 2, not {agent.temperature!r}"
    if not isinstance(agent.title, str) or not agent.title.isprintable():
        yield f"title must be a text of one line, not {agent.title!r}"
    yield from _suggestions_faults(agent.suggestions)
    yield from _limits_faults(agent.limits)
    if agent.ceiling is not None and agent.ceiling not in _LEVELS:
        yield f"ceiling must be one of {', '.join(_LEVELS)}, not {agent.ceiling!r}"
    flags = {"continue_after_approval": agent.continue_after_approval, "mcp_server": agent.mcp_server}
    for name, flag in flags.items():
        if not _is_flag(flag):
            yield f"{name} must be True or False, not {flag!r}"


def _model_faults(model: object) -> Iterator[str]:
    if isinstance(model, str):
        if not _MODEL.fullmatch(model):
            yield f"model must be a provider or 'name:model', such as 'openai:gpt-5-mini', not {model!r}"
    elif isinstance(model, type) or not isinstance(model, Provider):
        yield f"model must be a provider or 'name:model', not {_kind(model)}"


def _instructions_faults(instructions: object) -> Iterator[str]:
    if not isinstance(instructions, str):
        yield f"instructions must be a text, not {_kind(instructions)}"
    elif _FILE.fullmatch(instructions):
        if re.search(r"[/\\]", instructions[2:]):
            yield f"instructions: {instructions!r} must be a file beside agent.py, such as './instructions.md'"
    elif _BARE_FILE.fullmatch(instructions):
        yield f"instructions: {instructions!r} is a text, not a file; a file begins with './'"


def _tools_faults(tools: object) -> Iterator[str]:
    if not isinstance(tools, (list, tuple)):
        yield f"tools must be a list of tools and tool kits, not {_kind(tools)}"
        return
    for number, item in enumerate(tools, 1):
        if not isinstance(item, (Tool, ToolKit)):
            yield f"tools: item {number} must be a tool (made by @tool) or a ToolKit, not {_kind(item)}"
        elif isinstance(item, ToolKit) and (
            strangers := [_kind(one) for one in item if not isinstance(one, Tool)]
        ):
            yield f"tools: item {number} is a ToolKit that holds {strangers[0]}"


def _suggestions_faults(suggestions: object) -> Iterator[str]:
    if not isinstance(suggestions, (list, tuple)):
        yield f"suggestions must be a list of texts, not {_kind(suggestions)}"
        return
    for number, item in enumerate(suggestions, 1):
        if not (isinstance(item, str) and item.strip()):
            yield f"suggestions: item {number} must be a text, not {item!r}"


def _limits_faults(limits: object) -> Iterator[str]:
    if not isinstance(limits, Mapping):
        yield f"limits must be a mapping such as {{'max_rounds': 4}}, not {_kind(limits)}"
        return
    try:
        Settings().limits.replace(limits)
    except ConfigurationError as error:
        yield from error.faults


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_number(value: object, *kinds: type) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _kind(value: object) -> str:
    return (
        f"the class {value.__name__}"
        if isinstance(value, type)
        else f"a value of type {type(value).__name__}"
    )
