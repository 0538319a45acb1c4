"""What LitroAgent has installed in one app: the parts, wired once and never changed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from flask import Flask

from flask_litro_agent.agents import LoadedAgent
from flask_litro_agent.bookkeeping import Books
from flask_litro_agent.components import Components
from flask_litro_agent.contracts import (
    Actor,
    Provider,
    Rendered,
    SessionKey,
    SessionStore,
    ToolSpec,
)
from flask_litro_agent.core.gate import Gate
from flask_litro_agent.core.proposals import Proposal
from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.identity import Identity
from flask_litro_agent.registry import Registry
from flask_litro_agent.report import Report
from flask_litro_agent.schemas import json_schema
from flask_litro_agent.settings import Limits, Settings
from flask_litro_agent.tools import Tool, UIResult
from flask_litro_agent.turns.live import LiveTurn
from flask_litro_agent.turns.loop import Assignment
from flask_litro_agent.turns.runner import Runner, Spawn
from flask_litro_agent.turns.seals import Seals

__all__ = ["EXTENSION", "Installation", "installed_in", "tool_spec"]

logger = logging.getLogger(__name__)

EXTENSION = "litro_agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """One app's agents and everything that they run on: ``app.extensions["litro_agent"]``.

    ``books`` is None where no tool changes anything: there is no database then.
    """

    settings: Settings
    registry: Registry
    agents: Mapping[str, LoadedAgent]
    providers: Mapping[str, Provider]
    limits: Mapping[str, Limits]
    identity: Identity
    gate: Gate
    store: SessionStore
    components: Components
    seals: Seals
    runner: Runner
    report: Report
    books: Books | None = None

    def agent(self, name: str) -> LoadedAgent:
        """Return the named agent; ConfigurationError says which there are."""
        if name not in self.agents:
            there = ", ".join(self.agents) or "none"
            raise ConfigurationError(f"no agent named {name!r}; there is: {there}")
        return self.agents[name]

    def tool_of(self, proposal: Proposal) -> Tool | None:
        """Return the tool that would run the proposal now; None when its agent has no such tool any more."""
        agent = self.agents.get(proposal.agent)
        return None if agent is None else agent.tools.get(proposal.tool)

    def start(
        self,
        key: SessionKey,
        text: str,
        *,
        actor: Actor,
        origin: str,
        gate: Gate | None = None,
        provider: Provider | None = None,
        spawn: Spawn | None = None,
    ) -> LiveTurn:
        """Begin a turn of ``key.agent``; see ``Runner.start`` for what is raised. The caller has checked access."""
        assignment = self._assignment(key.agent, actor, origin, gate or self.gate, provider)
        return self.runner.start(key, text, assignment, spawn=spawn)

    def tell(self, proposal: Proposal, *, wake: bool = False) -> None:
        """Let every session that was shown the proposal know how it ended. Nothing is raised.

        With ``wake``, the one that it came from is told by a turn, if its agent asked for that.
        """
        home = proposal.home
        if home is not None and not (wake and self._wake(home)):
            self.runner.tell(home)
        for other in self.runner.outbox.other_sessions(proposal.id):
            self.runner.tell(other)

    def render(self, component: UIResult) -> Rendered:
        """Return a component as html and text; see ``Components.render`` for what is raised."""
        return self.components.render(component)

    def _wake(self, key: SessionKey) -> bool:
        """Begin a turn of the session's owner as he is now; False when none has begun."""
        agent = self.agents.get(key.agent)
        if agent is None or not agent.agent.continue_after_approval:
            return False
        try:
            actor = self.identity.by_id(key.owner)
            if actor is None:
                return False
            assignment = self._assignment(key.agent, actor, "wake", self.gate)
            return self.runner.wake(key, assignment) is not None
        except KeyboardInterrupt:
            raise
        except BaseException:  # the site's loader, or a database; the decision stands
            logger.exception("litro: agent %s was not woken", key.agent)
            return False

    def _assignment(
        self, name: str, actor: Actor, origin: str, gate: Gate, provider: Provider | None = None
    ) -> Assignment:
        return Assignment(
            agent=self.agents[name],
            provider=provider or self.providers[name],
            limits=self.limits[name],
            actor=actor,
            origin=origin,
            gate=gate,
            render=self.render,
            seals=self.seals,
            specs=tuple(map(tool_spec, self.gate.tools(name).values())),
        )


def installed_in(app: Flask) -> Installation:
    """Return what is installed in an app; ConfigurationError when that is nothing."""
    installed = app.extensions.get(EXTENSION)
    if not isinstance(installed, Installation):
        raise ConfigurationError(f"the app {app.name!r} has no LitroAgent: call init_app")
    return installed


def tool_spec(tool: Tool) -> ToolSpec:
    """Return the tool as a model sees it; ConfigurationError when its parameters cannot be written down."""
    return ToolSpec(tool.name, tool.description, json_schema(tool.params).document)
