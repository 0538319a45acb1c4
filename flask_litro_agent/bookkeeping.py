"""One app's books: the database of its ledger, and what is kept in it. A site whose tools only read has none."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from flask import Flask
from sqlalchemy import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError

from flask_litro_agent.agents import LoadedAgent
from flask_litro_agent.contracts import Actor, Provider
from flask_litro_agent.core import migration
from flask_litro_agent.core.audit import Audit
from flask_litro_agent.core.ceiling import Ceiling, Level, Overview, agent_scope, tool_scope
from flask_litro_agent.core.database import Database, check_engine
from flask_litro_agent.core.deliveries import Deliveries
from flask_litro_agent.core.ledger import Ledger
from flask_litro_agent.core.news import Witness
from flask_litro_agent.core.tokens import Tokens
from flask_litro_agent.core.usage import Usage, Used
from flask_litro_agent.core.waiting import Waiting
from flask_litro_agent.errors import ConfigurationError, LedgerAway
from flask_litro_agent.notices.courier import Courier
from flask_litro_agent.notices.webhook import Webhook
from flask_litro_agent.sessions.mounts import network_filesystem
from flask_litro_agent.settings import Settings
from flask_litro_agent.tools import Tool
from flask_litro_agent.turns.endings import OnTurnEnd, TurnEnd

__all__ = ["Books", "GivenEngine", "first_level", "open_books", "overview", "usage_listener"]

GivenEngine = Engine | Callable[[], Engine]

_AWAY = "the ledger's database does not answer: no proposal can be made or decided until it does"


@dataclass(frozen=True, slots=True, kw_only=True)
class Books:
    """What stands in the ledger's database; ``place`` names it without a secret, ``warning`` is for the report.

    ``courier`` is None on a site without a webhook.
    """

    database: Database
    audit: Audit
    ceiling: Ceiling
    ledger: Ledger
    usage: Usage
    waiting: Waiting
    deliveries: Deliveries
    tokens: Tokens
    courier: Courier | None
    place: str
    warning: str | None


def open_books(
    app: Flask,
    settings: Settings,
    *,
    engine: GivenEngine | None,
    tools: Mapping[str, Mapping[str, Tool]],
    declared: Mapping[str, Level],
    witnesses: Sequence[Witness] = (),
    name_of: Callable[[str], Actor | None],
) -> Books:
    """Return the app's books; ConfigurationError for a database that cannot carry them or is not up to date.

    ``declared`` are the levels that agents ask for themselves, by scope; ``witnesses`` hear what is committed;
    ``name_of`` is the site's loader of people.
    """
    database = _database(app, settings, engine)
    url, warning = database.engine.url, _standing(database)
    audit, deliveries = Audit(database), Deliveries(database)
    courier = _courier(app, settings, deliveries, name_of)
    everybody = [*([courier.hear] if courier else []), *witnesses]  # a message waits for no receiver
    return Books(
        database=database,
        audit=audit,
        ceiling=Ceiling(
            database,
            audit,
            first=first_level(settings),
            declared=declared,
            scopes=_scopes(tools),
            witnesses=everybody,
        ),
        ledger=Ledger(
            database,
            audit,
            most_open=settings.max_open,
            witnesses=everybody,
            announces=courier is not None,
        ),
        usage=Usage(database),
        waiting=Waiting(database),
        deliveries=deliveries,
        tokens=Tokens(database, audit),
        courier=courier,
        place=_place(url),
        warning=warning,
    )


def first_level(settings: Settings) -> Level:
    """Return the site's level until somebody changes it."""
    return Level.of(settings.ceiling)


def overview(books: Books | None, settings: Settings, agents: Mapping[str, LoadedAgent]) -> Overview:
    """Return every level as it stands; without books nobody can change what the settings and the agents say."""
    if books is not None:
        return books.ceiling.overview()
    said = {agent_scope(name): agent.agent.ceiling for name, agent in agents.items()}
    declared = {scope: Level.of(word) for scope, word in said.items() if word}
    return Overview(epoch=0, first=first_level(settings), declared=declared, stored={})


def usage_listener(books: Books, providers: Mapping[str, Provider]) -> OnTurnEnd:
    """Return what adds every ended turn to the day's usage; one without an answer counts for its agent's model."""

    def add(end: TurnEnd) -> None:
        used = Used(
            turns=1,
            failed=int(end.reason == "failed"),
            input_tokens=end.input_tokens,
            output_tokens=end.output_tokens,
            cached_tokens=end.cached_tokens,
        )
        model = end.model or providers[end.key.agent].model
        books.usage.add(used, agent=end.key.agent, actor=end.actor_id, model=model)

    return add


def _courier(
    app: Flask, settings: Settings, deliveries: Deliveries, name_of: Callable[[str], Actor | None]
) -> Courier | None:
    if settings.webhook_url is None or settings.webhook_secret is None:
        return None
    webhook = Webhook(settings.webhook_url, settings.webhook_secret)
    return Courier(app, settings, deliveries, webhook, name_of=name_of)


def _database(app: Flask, settings: Settings, given: GivenEngine | None) -> Database:
    if given is not None:
        return _given(app, given)
    if settings.database_uri is not None:
        return Database.opened(_from_instance(app, settings.database_uri))
    path = Path(app.instance_path, "litro", "ledger.db")
    _refuse_network(path)
    return migration.open_embedded(path)


def _given(app: Flask, given: GivenEngine) -> Database:
    """Return the database of a site's own engine; one made by a function is asked for in an app context."""

    def engine() -> Engine:
        if not callable(given):
            return given
        with app.app_context():
            return given()

    try:
        found = engine()
    except Exception as error:
        raise ConfigurationError(
            f"engine= raised {type(error).__name__}: {error}; set the site's database up before init_app"
        ) from error
    if not isinstance(found, Engine):
        raise ConfigurationError(
            f"engine= takes an SQLAlchemy Engine or a function that returns one, not {type(found).__name__}"
        )
    check_engine(found)
    if found.dialect.name == "sqlite":
        _refuse_network(Path(str(found.url.database)))
    return Database(engine)


def _from_instance(app: Flask, uri: str) -> str | URL:
    """Return the URI; a relative SQLite file starts at the instance folder, wherever the process was started."""
    try:
        url = make_url(uri)
    except ArgumentError:
        return uri  # open_engine says what is wrong
    name = url.database
    if url.get_backend_name() != "sqlite" or not name or name.startswith((":", "file:")):
        return url
    path = Path(app.instance_path, name)
    _refuse_network(path)
    os.makedirs(path.parent, exist_ok=True)
    return url.set(database=str(path))


def _refuse_network(path: Path) -> None:
    if kind := network_filesystem(str(path)):
        raise ConfigurationError(
            f"the ledger cannot stand at {path}: it is on a network file system ({kind}), where SQLite's locks do "
            "not hold; set LITRO_DATABASE_URI to a database server"
        )


def _standing(database: Database) -> str | None:
    """Return a warning about the schema, or raise it: nobody is served by an old one."""
    try:
        fault = migration.fault(database)
    except LedgerAway:
        return _AWAY
    finally:
        database.engine.dispose()  # a server that forks after this must not hand a connection on
    if fault and not _loads_for_a_command():
        raise ConfigurationError(fault)
    return fault


def _loads_for_a_command() -> bool:
    """Whether the app is loaded to run a command, ``flask litro db upgrade`` perhaps, and not to serve."""
    context = click.get_current_context(silent=True)
    return context is not None and context.info_name != "run"


def _scopes(tools: Mapping[str, Mapping[str, Tool]]) -> frozenset[str]:
    agents = {agent_scope(agent) for agent in tools}
    return frozenset(agents | {tool_scope(agent, name) for agent in tools for name in tools[agent]})


def _place(url: URL) -> str:
    where = url.database if url.get_backend_name() == "sqlite" else f"{url.host or 'local'}/{url.database}"
    return f"{url.get_backend_name()} {where}"
