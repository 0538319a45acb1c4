"""What turns used: one row for each day (UTC), agent, actor and model, to which every ended turn is added.

The adding is one statement, so that any number of processes lose nothing to each other. Days are those of the
database's clock, counted from the Unix epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, delete, select
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.sql.dml import Insert

from flask_litro_agent.core.database import Database
from flask_litro_agent.core.standing import read_clock
from flask_litro_agent.core.tables import usage

__all__ = ["DAY_MS", "Usage", "UsageRow", "Used"]

DAY_MS: Final = 86_400_000
_MODEL_LENGTH: Final = 128
_KEY: Final = ("day", "agent", "actor", "model")


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What so many turns used."""

    turns: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow(Used):
    """One row; ``day`` is counted from the Unix epoch."""

    day: int
    agent: str
    actor: str
    model: str


class Usage:
    """The usage of one site's turns."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, used: Used, *, agent: str, actor: str, model: str) -> None:
        """Add to today's row, which is made when it is missing; LedgerAway when that cannot be done now."""
        key = {"agent": agent, "actor": actor, "model": model[:_MODEL_LENGTH]}
        amounts = asdict(used)

        def work(connection: Connection) -> None:
            day = read_clock(self._database, connection) // DAY_MS
            connection.execute(_upsert(connection.dialect.name, {"day": day, **key}, amounts))

        self._database.write(work)

    def since(self, days: int) -> list[UsageRow]:
        """Return the rows of today and of the days before it, so many in all, oldest first."""

        def work(connection: Connection) -> list[UsageRow]:
            first = read_clock(self._database, connection) // DAY_MS - days + 1
            query = select(usage).where(usage.c.day >= first).order_by(usage.c.day, usage.c.agent)
            return [UsageRow(**row) for row in connection.execute(query).mappings()]

        return self._database.read(work)

    def prune(self, *, days: int, actor: str | None = None) -> int:
        """Delete the rows of days that began so many days ago, of one actor or of all; return how many those were."""
        theirs: list[ColumnElement[bool]] = [] if actor is None else [usage.c.actor == actor]

        def work(connection: Connection) -> int:
            last = read_clock(self._database, connection) // DAY_MS - days
            return connection.execute(delete(usage).where(usage.c.day <= last, *theirs)).rowcount

        return self._database.write(work)


def _upsert(dialect: str, row: Mapping[str, Any], amounts: Mapping[str, int]) -> Insert:
    """Return the one statement that makes the row, or adds to it: each dialect has its own words for that."""
    grown = {name: usage.c[name] + amount for name, amount in amounts.items()}
    if dialect in ("mysql", "mariadb"):
        return mysql.insert(usage).values({**row, **amounts}).on_duplicate_key_update(grown)
    insert = postgresql.insert if dialect == "postgresql" else sqlite.insert
    return insert(usage).values({**row, **amounts}).on_conflict_do_update(index_elements=_KEY, set_=grown)
