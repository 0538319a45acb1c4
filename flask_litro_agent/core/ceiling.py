"""How much the agents may do at most, changed while the site runs, in force at the next call in every process.

    off < read < propose < execute

The site's level comes first; an agent's and a tool's can only be lower. Lowering it bumps the policy's epoch, which
every claim compares: a claim that was being checked under the old level does not go through.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Connection, insert, select, update

from flask_litro_agent.core import tables
from flask_litro_agent.core.audit import Audit
from flask_litro_agent.core.database import Database
from flask_litro_agent.errors import BadRequest

__all__ = ["Ceiling", "FixedCeiling", "Level", "LevelSource", "Levels", "agent_scope", "tool_scope"]

SITE = "site"


class Level(enum.IntEnum):
    """What is allowed at most; the values above OFF are those of ``tools.Mode``."""

    OFF = 0
    READ = 1
    PROPOSE = 2
    EXECUTE = 3

    @property
    def word(self) -> str:
        return self.name.lower()

    @classmethod
    def of(cls, word: str) -> Level:
        """Return the level of this name; BadRequest says which there are."""
        if word in _WORDS:
            return _WORDS[word]
        raise BadRequest(f"no level named {word[:40]!r}; there is: {', '.join(_WORDS)}")


_WORDS = {level.word: level for level in Level}


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """Every level at one moment, and the policy's epoch at that moment."""

    epoch: int
    site: Level
    lower: Mapping[str, Level]

    def of(self, agent: str, tool: str | None = None) -> Level:
        """Return the level in force for an agent or one of its tools."""
        named = [agent_scope(agent)] + ([tool_scope(agent, tool)] if tool is not None else [])
        return min(self.site, *(self.lower.get(scope, Level.EXECUTE) for scope in named))


class LevelSource(Protocol):
    """What the gate asks at every call."""

    def levels(self) -> Levels: ...


@dataclass(frozen=True, slots=True)
class FixedCeiling:
    """The level of a site that has no database, since none of its tools changes anything."""

    level: Level
    declared: Mapping[str, Level]

    def levels(self) -> Levels:
        return Levels(epoch=0, site=self.level, lower=self.declared)


class Ceiling:
    """The levels in the database. ``declared`` are what agents ask for themselves: the database can only lower them."""

    def __init__(
        self,
        database: Database,
        audit: Audit,
        *,
        first: Level,
        declared: Mapping[str, Level],
        scopes: frozenset[str],
    ) -> None:
        """``first`` is in force until somebody sets the site's level; ``scopes`` are those that exist."""
        self._database = database
        self._audit = audit
        self._first = first
        self._declared = declared
        self._scopes = scopes | {SITE}

    def levels(self) -> Levels:
        """Read all levels and the epoch."""

        def work(connection: Connection) -> Levels:
            epoch = select(tables.epoch.c.value).where(tables.epoch.c.id == tables.POLICY)
            value = int(
                connection.execute(epoch).scalar_one()
            )  # first: an older epoch than the rows is refused later
            rows = connection.execute(select(tables.ceiling.c.scope, tables.ceiling.c.level)).all()
            stored = {str(scope): Level.of(str(level)) for scope, level in rows}
            site = stored.pop(SITE, self._first)
            lower = {
                scope: min(stored.get(scope, Level.EXECUTE), self._declared.get(scope, Level.EXECUTE))
                for scope in stored.keys() | self._declared.keys()
            }
            return Levels(epoch=value, site=site, lower=lower)

        return self._database.read(work)

    def set(self, scope: str, level: Level, *, by: str) -> Levels:
        """Set a scope's level; audited, and in force everywhere when this returns. BadRequest for an unknown scope."""
        if scope not in self._scopes:
            raise BadRequest(f"no scope named {scope[:80]!r}; there is: {', '.join(sorted(self._scopes))}")

        def work(connection: Connection) -> None:
            locked = select(tables.epoch.c.value).where(tables.epoch.c.id == tables.POLICY).with_for_update()
            value = int(connection.execute(locked).scalar_one())
            before = _stored(connection, scope)
            _put(connection, scope, {"level": level.word, "changed_by": by, "changed_at": self._database.now})
            connection.execute(
                update(tables.epoch).where(tables.epoch.c.id == tables.POLICY).values(value=value + 1)
            )
            data = {"before": before, "after": level.word}
            self._audit.append(connection, kind="ceiling", actor=by, subject=scope, data=data)

        self._database.write(work)
        return self.levels()


def agent_scope(agent: str) -> str:
    """Return the scope of one agent."""
    return f"agent:{agent}"


def tool_scope(agent: str, tool: str) -> str:
    """Return the scope of one tool of one agent."""
    return f"tool:{agent}.{tool}"


def _stored(connection: Connection, scope: str) -> str | None:
    row = select(tables.ceiling.c.level).where(tables.ceiling.c.scope == scope)
    found = connection.execute(row).scalar_one_or_none()
    return None if found is None else str(found)


def _put(connection: Connection, scope: str, values: Mapping[str, object]) -> None:
    changed = connection.execute(
        update(tables.ceiling).where(tables.ceiling.c.scope == scope).values(**values)
    )
    if not changed.rowcount:
        connection.execute(insert(tables.ceiling).values(scope=scope, **values))
