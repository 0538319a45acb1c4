"""How far the agents reach under a ceiling: which tools a model is shown, and what a change would take away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from flask_litro_agent.agents import LoadedAgent
from flask_litro_agent.core.ceiling import SITE, Level, Levels, Overview, agent_scope, tool_scope
from flask_litro_agent.tools import Tool

__all__ = ["Effect", "effect", "effects", "holding", "reach"]


class Effect(NamedTuple):
    """What is another when a level, or None for what is inherited, is stored; tools are written ``agent.tool``."""

    level: Level | None
    vanishes: tuple[str, ...]
    appears: tuple[str, ...]


def reach(agents: Mapping[str, LoadedAgent], levels: Levels) -> frozenset[str]:
    """Return every tool, as ``agent.tool``, that is at or below the ceiling."""
    return frozenset(
        f"{name}.{tool.name}"
        for name, agent in agents.items()
        for tool in agent.tools.values()
        if tool.mode <= levels.of(name, tool.name)
    )


def effect(agents: Mapping[str, LoadedAgent], before: Levels, after: Levels, level: Level | None) -> Effect:
    """Return what one change of the levels does."""
    was, will = reach(agents, before), reach(agents, after)
    return Effect(level, tuple(sorted(was - will)), tuple(sorted(will - was)))


def effects(agents: Mapping[str, LoadedAgent], overview: Overview, scope: str) -> Iterator[Effect]:
    """Yield what each level would do to a scope now, the highest first."""
    for level in reversed(Level):
        yield effect(agents, overview.levels, overview.levels_with(scope, level), level)


def holding(overview: Overview, agent: str, tool: Tool) -> str | None:
    """Return the scope that holds the tool back, the widest of several; None when none does."""
    for scope in (SITE, agent_scope(agent), tool_scope(agent, tool.name)):
        if tool.mode > overview.own(scope, overview.stored_level(scope)):
            return scope
    return None
