"""Start-up: settings, plugins, agents, providers, store and gate become one Installation.

Whatever is wrong is collected, so that one ConfigurationError says all of it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import MappingProxyType
from typing import Any

from flask import Flask

from flask_litro_agent import report
from flask_litro_agent.agent_files import draft_agents, find_folder, watch_folder
from flask_litro_agent.agents import LoadedAgent, LoadedAgents
from flask_litro_agent.bookkeeping import Books, GivenEngine, first_level, open_books, usage_listener
from flask_litro_agent.components import Components, PropSchemas
from flask_litro_agent.contracts import Policy, Provider, SessionStore
from flask_litro_agent.core.ceiling import FixedCeiling, Level, agent_scope
from flask_litro_agent.core.gate import Gate
from flask_litro_agent.core.write_rules import write_tool_faults, writes
from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.identity import Identity
from flask_litro_agent.installation import Installation, tool_spec
from flask_litro_agent.mcp import listing
from flask_litro_agent.notices.signalling import Signalling
from flask_litro_agent.plugins import draft_plugins
from flask_litro_agent.registry import Registry
from flask_litro_agent.settings import Limits, Settings, draft_settings
from flask_litro_agent.tools import Tool, ToolContext
from flask_litro_agent.turns.endings import Endings, OnTurnEnd
from flask_litro_agent.turns.outbox import Outbox
from flask_litro_agent.turns.runner import Runner
from flask_litro_agent.turns.seals import Seals

__all__ = ["ToolContextFunction", "assemble"]

ToolContextFunction = Callable[[ToolContext], Any]

_NO_WEBHOOK_SECRET = (
    "LITRO_WEBHOOK_URL is set and LITRO_WEBHOOK_SECRET is not: nobody could tell our messages from a stranger's; "
    "set it to 'whsec_' and 32 random bytes in base64"
)


class _Faults:
    """Collects what is wrong, block by block."""

    def __init__(self) -> None:
        self._found: list[str] = []

    @contextmanager
    def collecting(self, where: str = "") -> Iterator[None]:
        try:
            yield
        except ConfigurationError as error:
            self._found += [f"{where}{fault}" for fault in error.faults]

    def add(self, found: Iterable[str]) -> None:
        self._found += found

    def stop_if_any(self) -> None:
        if self._found:
            raise ConfigurationError(dict.fromkeys(self._found))


def assemble(
    app: Flask,
    *,
    identity: Identity,
    plugins: Sequence[object],
    session_store: SessionStore | None,
    tool_context: ToolContextFunction | None,
    engine: GivenEngine | None = None,
    prop_schemas: PropSchemas = MappingProxyType({}),
) -> Installation:
    """Return the app's parts, wired; ConfigurationError has every fault."""
    faults = _Faults()
    draft = draft_settings(app.config)
    settings = draft.settings
    registry, found = draft_plugins(app, draft, site_plugins=plugins)
    faults.add(found)
    loaded = _agents(app, settings, faults)
    agents = list(loaded.agents.values())
    providers = dict(_providers(agents, registry, faults))
    policies = list(_policies(settings, registry, faults))
    limits = {agent.name: settings.limits.replace(agent.agent.limits) for agent in agents}
    signalling = Signalling(app, settings, models={name: each.model for name, each in providers.items()})
    faults.add(_freshness_faults(settings, identity))
    faults.add(_mcp_faults(agents, identity))
    with faults.collecting():
        books = _books(app, settings, identity, engine, agents, signalling)
    with app.app_context():  # as in the request that starts a turn
        _check_schemas(agents, faults)
    with faults.collecting():
        components = _components(settings, registry, prop_schemas)
    with faults.collecting():
        store = _store(settings, registry, session_store)
    faults.stop_if_any()

    return Installation(
        settings=settings,
        registry=registry,
        agents=loaded.agents,
        providers=providers,
        limits=limits,
        identity=identity,
        gate=_gate(app, settings, identity, books, agents, limits, policies, tool_context),
        store=store,
        components=components,
        seals=Seals(lambda: _secret_keys(app)),
        runner=Runner(
            store,
            settings,
            outbox=Outbox(books.ledger if books else None),
            endings=Endings(_turn_listeners(signalling, books, providers)),
        ),
        books=books,
        report=report.compose(
            settings=settings,
            loaded=loaded,
            providers=providers,
            store=settings.session_store if session_store is None else f"{_kind(store)} (session_store=)",
            registry=registry,
            books=books,
            components=components.names,
            warnings=list(_warnings(app, settings, books)),
        ),
    )


def _agents(app: Flask, settings: Settings, faults: _Faults) -> LoadedAgents:
    loaded = LoadedAgents(agents={})
    with faults.collecting():
        folder = find_folder(app, settings.agents)
        watch_folder(app, folder)
        loaded = draft_agents(folder)
    faults.add(loaded.faults)
    return loaded


def _providers(
    agents: Sequence[LoadedAgent], registry: Registry, faults: _Faults
) -> Iterator[tuple[str, Provider]]:
    for agent in agents:
        with faults.collecting(f"agent {agent.name}: "):
            yield agent.name, _provider(agent, registry)


def _check_schemas(agents: Sequence[LoadedAgent], faults: _Faults) -> None:
    """Find out now, not at the first turn, which tool's parameters cannot be told to a model."""
    for agent in agents:
        for tool in agent.tools.values():
            with faults.collecting(f"agent {agent.name}, tool {tool.name} ({tool.source}): params: "):
                tool_spec(tool)
                if agent.agent.mcp_server:
                    listing.described(tool)


def _policies(settings: Settings, registry: Registry, faults: _Faults) -> Iterator[Policy]:
    for name in settings.policies:
        with faults.collecting():
            yield registry.policy(name)


def _freshness_faults(settings: Settings, identity: Identity) -> Iterator[str]:
    if settings.approval_freshness is not None and not identity.has_authenticated_at:
        yield (
            "LITRO_APPROVAL_FRESHNESS is set, and nobody says when somebody signed in: register a function with "
            "@litro.authenticated_at"
        )


def _mcp_faults(agents: Sequence[LoadedAgent], identity: Identity) -> Iterator[str]:
    for agent in agents:
        if agent.agent.mcp_server and not identity.has_actor_loader:
            yield (
                f"agent {agent.name}: mcp_server=True needs to know whom a token names: register a function with "
                "@litro.actor_loader"
            )


def _books(
    app: Flask,
    settings: Settings,
    identity: Identity,
    engine: GivenEngine | None,
    agents: Sequence[LoadedAgent],
    signalling: Signalling,
) -> Books | None:
    """Return the books of an app that needs them, for proposals or tokens; what cannot start makes no database."""
    tools = _tools(agents)
    wrong = list(
        write_tool_faults(
            tools, protected=settings.protected_permissions, has_loader=identity.has_actor_loader
        )
    )
    if settings.webhook_url and not settings.webhook_secret:
        wrong.append(_NO_WEBHOOK_SECRET)
    if wrong:
        raise ConfigurationError(wrong)
    if not writes(tools) and not any(agent.agent.mcp_server for agent in agents):
        return None
    return open_books(
        app,
        settings,
        engine=engine,
        tools=tools,
        declared=_declared(agents),
        witnesses=[signalling.hear],
        name_of=identity.by_id,
    )


def _components(settings: Settings, registry: Registry, schemas: PropSchemas) -> Components:
    renderer = registry.renderer(settings.renderer) if settings.renderer else None
    return Components(renderer, schemas, url=f"{settings.url_prefix}/components")


def _secret_keys(app: Flask) -> list[bytes]:
    """Return the app's secret keys, the newest last; none for an app without."""
    newest = [app.secret_key] if app.secret_key else []
    keys = [*(app.config.get("SECRET_KEY_FALLBACKS") or ()), *newest]
    return [key.encode() if isinstance(key, str) else key for key in keys]


def _turn_listeners(
    signalling: Signalling, books: Books | None, providers: Mapping[str, Provider]
) -> list[OnTurnEnd]:
    counting = [] if books is None else [usage_listener(books, providers)]
    return [*counting, signalling.turn_ended]


def _gate(
    app: Flask,
    settings: Settings,
    identity: Identity,
    books: Books | None,
    agents: Sequence[LoadedAgent],
    limits: Mapping[str, Limits],
    policies: Sequence[Policy],
    tool_context: ToolContextFunction | None,
) -> Gate:
    return Gate(
        _tools(agents),
        limits,
        policies,
        around=_around(app, tool_context),
        deciding=app.app_context,
        debug=app.debug,
        ledger=books.ledger if books else None,
        audit=books.audit if books else None,
        ceiling=books.ceiling if books else FixedCeiling(first_level(settings), _declared(agents)),
        actor_loader=identity.by_id if identity.has_actor_loader else None,
        protected=settings.protected_permissions,
        four_eyes=settings.four_eyes,
        max_ttl=settings.max_ttl,
        approval_freshness=settings.approval_freshness,
    )


def _tools(agents: Sequence[LoadedAgent]) -> dict[str, Mapping[str, Tool]]:
    return {agent.name: agent.tools for agent in agents}


def _declared(agents: Sequence[LoadedAgent]) -> dict[str, Level]:
    """Return the levels that agents ask for themselves, by scope."""
    return {agent_scope(each.name): Level.of(each.agent.ceiling) for each in agents if each.agent.ceiling}


def _store(settings: Settings, registry: Registry, given: object) -> SessionStore:
    if given is None:
        return registry.session_store(settings.session_store)
    if isinstance(given, type) or not isinstance(given, SessionStore):
        raise ConfigurationError(
            f"session_store= takes a session store (contracts.SessionStore), not {_kind(given)}"
        )
    return given


def _kind(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def _provider(agent: LoadedAgent, registry: Registry) -> Provider:
    model = agent.agent.model
    if not isinstance(model, str):
        return model
    name, _, of = model.partition(":")
    return registry.provider(name.replace("-", "_"), of)


def _around(
    app: Flask, tool_context: ToolContextFunction | None
) -> Callable[[ToolContext], AbstractContextManager[None]]:
    """Return the context in which a tool's function runs: a fresh app context, prepared by the site."""
    prepare = _preparation(tool_context)

    @contextmanager
    def around(context: ToolContext) -> Iterator[None]:
        with app.app_context():
            returned = False
            with prepare(context):
                yield
                returned = True
            if not returned:
                raise RuntimeError("tool_context swallowed what the tool raised: let it pass")

    return around


def _preparation(
    tool_context: ToolContextFunction | None,
) -> Callable[[ToolContext], AbstractContextManager[Any]]:
    if tool_context is None:
        return nullcontext
    if inspect.isgeneratorfunction(tool_context):
        return contextmanager(tool_context)

    @contextmanager
    def prepare(context: ToolContext) -> Iterator[None]:
        tool_context(context)
        yield

    return prepare


def _warnings(app: Flask, settings: Settings, books: Books | None) -> Iterator[str]:
    if not app.secret_key:
        yield report.NO_SECRET_KEY
    if settings.hosts is None and not app.config.get("TRUSTED_HOSTS") and not app.debug:
        yield report.NO_HOSTS
    if not settings.policies:
        yield "LITRO_POLICIES is empty: no policy allows a call, so every tool is forbidden"
    if books and books.warning:
        yield books.warning
    if books and books.courier and settings.admin_prefix and not settings.external_url:
        yield "LITRO_EXTERNAL_URL is not set: the webhook's messages have no link to the card"
    if _psycopg_blocks():
        yield (
            "psycopg was imported before gevent patched the process and blocks every other request: "
            "start gunicorn without --preload"
        )


def _psycopg_blocks(modules: Mapping[str, Any] | None = None) -> bool:
    """Whether psycopg chose its blocking C wait before gevent patched the sockets."""
    loaded = sys.modules if modules is None else modules
    monkey, waiting = loaded.get("gevent.monkey"), loaded.get("psycopg.waiting")
    if monkey is None or waiting is None or not monkey.is_module_patched("socket"):
        return False
    return bool(waiting.wait.__name__ == "wait_c")
