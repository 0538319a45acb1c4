"""The tools' page: what each agent can call, what a tool declares, and what the ceiling does to it now."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from flask import Response

from flask_litro_agent.agents import LoadedAgent
from flask_litro_agent.bookkeeping import overview
from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.ceiling import SITE, Level, Overview, agent_scope
from flask_litro_agent.core.protected import is_protected, matches
from flask_litro_agent.installation import Installation
from flask_litro_agent.schemas import json_schema
from flask_litro_agent.settings import Settings
from flask_litro_agent.tools import Mode, Tool, tool_contract
from flask_litro_agent.web.admin.entry import ADMIN
from flask_litro_agent.web.admin.reach import holding
from flask_litro_agent.web.admin.rendering import Rendering
from flask_litro_agent.web.admin.routes import Route
from flask_litro_agent.web.admin.words import say

__all__ = ["ToolPages", "place_of"]

_NO_FILE: Final = "(no file)"


class Shown(NamedTuple):
    """A tool as the page shows it.

    ``is_protected`` says that it may propose and no more, ``held`` what keeps it from the model, if anything.
    """

    tool: Tool
    permission: str | None
    is_protected: bool
    held: str | None
    place: str
    contract: str
    schema: str
    keywords: Sequence[str]


class AgentTools(NamedTuple):
    """An agent and its tools."""

    agent: LoadedAgent
    level: Level
    tools: Sequence[Shown]


class ToolPages:
    """The page about tools."""

    def __init__(self, installed: Installation, rendering: Rendering) -> None:
        self._installed = installed
        self._rendering = rendering

    def routes(self) -> Iterator[Route]:
        """Yield the page's route."""
        yield Route("/tools", "tools", self.tools, (ADMIN,))

    def tools(self, actor: Actor) -> Response:
        """Show every agent's tools."""
        installed = self._installed
        found = overview(installed.books, installed.settings, installed.agents)
        agents = [
            AgentTools(
                agent,
                found.levels.of(name),
                [_shown(tool, agent, found, installed.settings) for tool in agent.tools.values()],
            )
            for name, agent in installed.agents.items()
        ]
        return self._rendering.page("tools.html", actor, agents=agents, site=found.levels.site)


def place_of(tool: Tool, agent: LoadedAgent) -> str:
    """Return the tool's file from the agents folder on, its name alone where it stands elsewhere."""
    path = Path(tool.source.rpartition(":")[0] or tool.source)
    folder = agent.folder.parent if agent.folder else None
    if folder is not None and path.is_relative_to(folder):
        return path.relative_to(folder).as_posix()
    return path.name


def _shown(tool: Tool, agent: LoadedAgent, found: Overview, settings: Settings) -> Shown:
    return Shown(
        tool,
        tool.facts.permission,
        _is_protected(tool, settings),
        _held(found, agent.name, tool),
        place_of(tool, agent),
        tool_contract(tool),
        json.dumps(json_schema(tool.params).document, indent=2, ensure_ascii=False),
        list(_keywords(tool, settings)) if tool.mode is not Mode.READ else [],
    )


def _is_protected(tool: Tool, settings: Settings) -> bool:
    permission = tool.facts.permission
    if tool.mode is Mode.READ or permission is None:
        return False
    return is_protected(permission, settings.protected_permissions or ())


def _held(found: Overview, agent: str, tool: Tool) -> str | None:
    """Return what keeps the tool from the model, in a sentence."""
    scope = holding(found, agent, tool)
    if scope is None:
        return None
    level = found.own(scope, found.stored_level(scope)).word
    if scope == SITE:
        return say("The model is not shown it: the site is held at %(level)s.", level=level)
    if scope == agent_scope(agent):
        return say("The model is not shown it: the agent is held at %(level)s.", level=level)
    return say("The model is not shown it: the tool itself is held at %(level)s.", level=level)


def _keywords(tool: Tool, settings: Settings) -> Iterator[str]:
    """Yield what a tool that changes something declares beside itself, in words."""
    yield say("A proposal waits for %(seconds)s seconds at most.", seconds=min(tool.ttl, settings.max_ttl))
    if tool.preview:
        yield say("It shows before and after on the card.")
    if tool.labels:
        yield say("It names what its fields stand for.")
    if tool.as_of:
        yield say("A proposal is void when what it would change has changed meanwhile.")
    if tool.four_eyes or any(matches(str(tool.permission), one) for one in settings.four_eyes):
        yield say("It needs four eyes: somebody else than who proposed it must approve.")
    yield say("Its reverse can be proposed.") if tool.inverse else say("It cannot be undone.")
    if tool.reconcile:
        yield say("It can ask the other side whether it happened.")
