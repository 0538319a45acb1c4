"""The start-up report: what an app has, in one readable block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from flask_litro_agent.agents import LoadedAgent, LoadedAgents
from flask_litro_agent.bookkeeping import Books
from flask_litro_agent.contracts import Provider
from flask_litro_agent.registry import PluginInfo, Registry
from flask_litro_agent.settings import Settings

__all__ = ["NO_HOSTS", "NO_SECRET_KEY", "Report", "compose"]

NO_SECRET_KEY = "SECRET_KEY is not set: somebody without an account cannot be told apart and is refused"
NO_HOSTS = "LITRO_HOSTS is not set: list this site's hosts, so that a rebound name cannot reach the agents"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Sections of lines, and the warnings again by themselves."""

    sections: Sequence[tuple[str, Sequence[str]]] = field(default_factory=tuple)
    warnings: Sequence[str] = ()

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """Yield the block, line by line."""
        yield "flask-litro-agent"
        for title, lines in (*self.sections, ("warnings", self.warnings)):
            for place, line in enumerate(lines):
                yield f"  {title + ':' if place == 0 else '':<10} {line}"


def compose(
    *,
    settings: Settings,
    loaded: LoadedAgents,
    providers: Mapping[str, Provider],
    store: str,
    registry: Registry,
    books: Books | None,
    components: Sequence[str],
    warnings: Sequence[str],
) -> Report:
    """Return the report of an app that starts."""
    agents = loaded.agents.values()
    sections = [
        (
            "agents",
            [f"{agent.name}: {_agent_line(agent, providers[agent.name])}" for agent in agents] or ["none"],
        ),
        ("folder", [str(loaded.folder)]),
        ("tools", [line for agent in agents for line in _tool_lines(agent)] or ["none"]),
        ("store", [store]),
        ("ledger", [books.place if books else "none: no tool changes anything"]),
        ("policies", [", ".join(settings.policies) or "none: every call is forbidden"]),
        ("renderer", [_renderer_line(settings.renderer, components)]),
        ("plugins", [_plugin_line(plugin) for plugin in registry.plugins] or ["none"]),
        ("routes", list(_routes(settings, loaded))),
        ("notes", loaded.notes),
    ]
    return Report(sections=tuple(sections), warnings=tuple(warnings))


def _routes(settings: Settings, loaded: LoadedAgents) -> Iterator[str]:
    yield f"{settings.url_prefix}/agent/<agent>/<session>"
    for agent in loaded.agents.values():
        if agent.agent.mcp_server:
            yield f"{settings.url_prefix}/mcp/{agent.name} (MCP, by token)"


def _agent_line(agent: LoadedAgent, provider: Provider) -> str:
    access = "access checked" if agent.access else "open to everybody"
    tools = "1 tool" if len(agent.tools) == 1 else f"{len(agent.tools)} tools"
    return f"{provider.model}, {tools}, {access}"


def _tool_lines(agent: LoadedAgent) -> Iterator[str]:
    for tool in agent.tools.values():
        yield f"{agent.name}.{tool.name}: {tool.facts.mode}, {tool.facts.permission or 'PUBLIC'}"


def _renderer_line(renderer: str | None, components: Sequence[str]) -> str:
    if renderer is None:
        return "none"
    return f"{renderer}: {', '.join(components)}" if components else renderer


def _plugin_line(plugin: PluginInfo) -> str:
    version = f" {plugin.distribution} {plugin.version}" if plugin.distribution else ""
    return f"{plugin.name} ({plugin.source}{version}) {'; '.join(plugin.hooks)}"
