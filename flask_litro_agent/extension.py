"""``LitroAgent``: reads the settings, loads plugins and agents, and wires them into a Flask app.

Everything that is wrong with an app is reported together, in one ConfigurationError, before the app serves anything.
"""

from __future__ import annotations

import atexit
import logging
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from flask import Flask, current_app, session
from marshmallow import Schema

from flask_litro_agent import identity as identities
from flask_litro_agent.assembly import ToolContextFunction, assemble
from flask_litro_agent.bookkeeping import Books, GivenEngine
from flask_litro_agent.cli import litro_commands
from flask_litro_agent.contracts import Actor, SessionStore
from flask_litro_agent.core.gate import AgentGate
from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.identity import ActorLoader, AuthenticatedAt, Identity, RequestLoader
from flask_litro_agent.installation import EXTENSION, Installation, installed_in
from flask_litro_agent.notices.heads import Heads
from flask_litro_agent.report import Report
from flask_litro_agent.turns.handover import hand_over
from flask_litro_agent.web.admin.blueprint import register_admin
from flask_litro_agent.web.blueprint import register_routes
from flask_litro_agent.web.slots import Slots

__all__ = ["LitroAgent"]

logger = logging.getLogger("flask_litro_agent")

_LAST_MESSAGES = 2.0

Loader = TypeVar("Loader", bound=Callable[..., Any])
SchemaClass = TypeVar("SchemaClass", bound=type[Schema])


class Loaders(Protocol):
    """What ``identity=`` takes: both loaders of a site, such as ``FlaskLogin(...)``."""

    def request_loader(self) -> Actor | None: ...

    def actor_loader(self, actor_id: str) -> Actor | None: ...


class LitroAgent:
    """Gives a Flask app its agents: ``LitroAgent(app)``, or ``litro = LitroAgent()`` and ``litro.init_app(app)``.

    ``identity`` brings both loaders of a site at once (``FlaskLogin``, ``FlaskSecurity``). ``engine`` is the
    SQLAlchemy engine of the proposals' ledger, or a function that returns it (``lambda: db.engine``), and wins over
    ``LITRO_DATABASE_URI``. ``plugins`` are the site's own plugin modules. ``session_store`` is a store to use instead
    of the one that ``LITRO_SESSION_STORE`` names.

    Config keys, all optional (``settings.Settings`` says what each means): ``LITRO_URL_PREFIX``,
    ``LITRO_AGENTS``, ``LITRO_SESSION_STORE``, ``LITRO_RENDERER``, ``LITRO_POLICIES``, ``LITRO_PLUGINS``,
    ``LITRO_HOSTS``, ``LITRO_TRUSTED_PROXIES``, ``LITRO_FSYNC``, ``LITRO_STREAM_SECONDS``,
    ``LITRO_HEARTBEAT_SECONDS``, ``LITRO_LEASE_SECONDS``, ``LITRO_GRACE_SECONDS``, ``LITRO_MAX_BODY``,
    ``LITRO_MAX_TURNS``, ``LITRO_MAX_ACTOR_TURNS``, ``LITRO_MAX_TAILS``, ``LITRO_MAX_ACTOR_TAILS``,
    ``LITRO_CONTEXT_TOKENS``, ``LITRO_MAX_ROUNDS``, ``LITRO_MAX_CALLS``, ``LITRO_MAX_SAME_CALL``,
    ``LITRO_TURN_SECONDS``, ``LITRO_TOOL_SECONDS``, ``LITRO_IDLE_SECONDS``, ``LITRO_MAX_OUTPUT``,
    ``LITRO_DATABASE_URI``, ``LITRO_CEILING``, ``LITRO_PROTECTED_PERMISSIONS``, ``LITRO_FOUR_EYES``,
    ``LITRO_MAX_OPEN``, ``LITRO_MAX_TTL``, ``LITRO_SESSION_DAYS``, ``LITRO_ADMIN_PREFIX``, ``LITRO_SIGN_IN``,
    ``LITRO_EXTERNAL_URL``, ``LITRO_MCP_ORIGINS``, ``LITRO_MCP_SECONDS``,
    ``LITRO_APPROVAL_FRESHNESS``, ``LITRO_WEBHOOK_URL``, ``LITRO_WEBHOOK_SECRET``;
    and those of plugins, ``LITRO_<NAME>_*``.
    """

    def __init__(
        self,
        app: Flask | None = None,
        *,
        identity: Loaders | None = None,
        engine: GivenEngine | None = None,
        plugins: Sequence[object] = (),
        session_store: SessionStore | None = None,
    ) -> None:
        if isinstance(identity, type):
            raise ConfigurationError(
                f"identity= takes an object with both loaders: write {identity.__name__}(...), not the class"
            )
        self._request_loader: RequestLoader | None = identity.request_loader if identity else None
        self._actor_loader: ActorLoader | None = identity.actor_loader if identity else None
        self._authenticated_at: AuthenticatedAt | None = getattr(identity, "authenticated_at", None)
        self._tool_context: ToolContextFunction | None = None
        self._prop_schemas: dict[str, type[Schema]] = {}
        self._engine = engine
        self._plugins = tuple(plugins)
        self._session_store = session_store
        self._initialised = False
        if app is not None:
            self.init_app(app)

    def request_loader(self, function: Loader) -> Loader:
        """Say who is asking now: the function returns an Actor, or None for somebody without an account."""
        self._before_init("request_loader")
        self._request_loader = function
        return function

    def actor_loader(self, function: Loader) -> Loader:
        """Say who has this id, later and without a request: the function returns an Actor or None."""
        self._before_init("actor_loader")
        self._actor_loader = function
        return function

    def authenticated_at(self, function: Loader) -> Loader:
        """Say when who asks now last proved who he is, for LITRO_APPROVAL_FRESHNESS.

        The function returns seconds since the epoch, a datetime with its zone, or None for never.
        """
        self._before_init("authenticated_at")
        self._authenticated_at = function
        return function

    def tool_context(self, function: Loader) -> Loader:
        """Prepare the app context of every tool call: the function gets the ToolContext; a generator also cleans up."""
        self._before_init("tool_context")
        self._tool_context = function
        return function

    def component(self, name: str) -> Callable[[SchemaClass], SchemaClass]:
        """Say which props a component takes: the decorated marshmallow schema checks them at every use.

        A prop that the schema does not know, lacks or refuses is an error; one that it lets be left out is None in
        the template.
        """
        self._before_init(f"the component {name!r}")
        if name in self._prop_schemas:
            raise ConfigurationError(f"the component {name!r} has two schemas for its props: keep one")

        def declare(schema: SchemaClass) -> SchemaClass:
            self._prop_schemas[name] = schema
            return schema

        return declare

    def gate(self, agent: str) -> AgentGate:
        """Return the gate for one agent, for the site's own code; ConfigurationError for an unknown agent."""
        installed = installed_in(current_app)
        return AgentGate(installed.gate, installed.agent(agent).name)

    def visitor_id(self) -> str | None:
        """Return the id of the visitor who makes this request: ask before signing somebody in."""
        return identities.visitor_id(session)

    def hand_over(self, visitor_id: str | None, actor: Actor) -> int:
        """Give a visitor's sessions to the account that he signed in to; return how many were moved."""
        if visitor_id is None:
            return 0
        installed = installed_in(current_app)
        if not identities.is_visitor_id(visitor_id):
            raise ConfigurationError("hand_over takes a visitor's id, as visitor_id() returns it")
        ttl = installed.settings.lease_seconds
        return hand_over(installed.store, installed.runner, owner=visitor_id, heir=actor.id, ttl=ttl)

    def init_app(self, app: Flask) -> None:
        """Wire this app; ConfigurationError has a sentence for everything that is wrong."""
        if EXTENSION in app.extensions:
            raise ConfigurationError(
                f"LitroAgent was already initialised for the app {app.name!r}: call it once"
            )
        installed = assemble(
            app,
            identity=Identity(self._request_loader, self._actor_loader, self._authenticated_at),
            plugins=self._plugins,
            session_store=self._session_store,
            tool_context=self._tool_context,
            engine=self._engine,
            prop_schemas=self._prop_schemas,
        )
        app.extensions[EXTENSION] = installed
        self._initialised = True
        settings = installed.settings
        slots = Slots(most=settings.max_tails, most_per_actor=settings.max_actor_tails)
        register_routes(app, installed, slots, register_admin(app, installed, slots))
        app.cli.add_command(litro_commands())
        _attend(app, installed.books)
        _drain_at_exit(installed)
        logger.log(_level(installed.report), "%s", installed.report)

    def _before_init(self, loader: str) -> None:
        if self._initialised:
            raise ConfigurationError(
                f"{loader} was registered after init_app, which had already read it: import the module that "
                "registers it before create_app() calls init_app"
            )


def _level(report: Report) -> int:
    # a process that configured no logging shows warnings alone
    return logging.WARNING if report.warnings else logging.INFO


def _attend(app: Flask, books: Books | None) -> None:
    """Let a process's first request begin what goes on beside its requests: at start-up it may still fork."""
    if books is None:
        return
    heads, courier = Heads(books.audit), books.courier

    def attend() -> None:
        heads.attend()
        if courier is not None:
            courier.attend()

    app.before_request_funcs.setdefault(None, []).insert(0, attend)


def _drain_at_exit(installed: Installation) -> None:
    runner = weakref.ref(installed.runner)
    courier = weakref.ref(installed.books.courier) if installed.books and installed.books.courier else None

    def drain() -> None:
        if (living := runner()) is not None:
            living.drain()
        if courier is not None and (sending := courier()) is not None:
            sending.drain(_LAST_MESSAGES)

    atexit.register(drain)
