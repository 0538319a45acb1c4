"""How much the agents may do at most, changed while the site runs, in force at the next call in every process.

    off < read < propose < execute

The site's level comes first; an agent's and a tool's can only be lower. Lowering it bumps the policy's epoch, which
every claim compares: a claim that was being checked under the old level does not go through.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from sqlalchemy import Connection, delete, insert, select, update

from flask_litro_agent.core import tables
from flask_litro_agent.core.audit import Audit
from flask_litro_agent.core.database import Database
from flask_litro_agent.core.news import CeilingChanged, Witness, spread
from flask_litro_agent.errors import AgentError, BadRequest

__all__ = [
    "SITE",
    "Ceiling",
    "FixedCeiling",
    "Level",
    "LevelSource",
    "Levels",
    "Overview",
    "Stored",
    "agent_scope",
    "tool_scope",
]

SITE: Final = "site"
_SEEN_OLDER: Final = "the ceiling was changed since this page was loaded: load it again before you raise it"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A scope's level in the database; ``changed_at`` is in ms of its clock."""

    scope: str
    level: Level
    changed_by: str
    changed_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What is said about every level: at first, by the agents themselves, and in the database."""

    epoch: int
    first: Level
    declared: Mapping[str, Level]
    stored: Mapping[str, Stored]

    @property
    def levels(self) -> Levels:
        """The levels in force."""
        return self._levels({scope: one.level for scope, one in self.stored.items()})

    def levels_with(self, scope: str, level: Level | None) -> Levels:
        """Return the levels that would be in force with this one stored, or with none."""
        stored = {name: one.level for name, one in self.stored.items() if name != scope}
        return self._levels(stored if level is None else {**stored, scope: level})

    def own(self, scope: str, stored: Level | None) -> Level:
        """Return what a scope allows by itself, whatever the others say, when this is stored for it."""
        usual = self.first if scope == SITE else Level.EXECUTE
        return min(usual if stored is None else stored, self.declared.get(scope, Level.EXECUTE))

    def raises(self, scope: str, after: Level | None) -> bool:
        """Whether more is allowed when this level, or none, is stored for the scope."""
        return self.own(scope, after) > self.own(scope, self.stored_level(scope))

    def stored_level(self, scope: str) -> Level | None:
        """Return what is stored for a scope."""
        one = self.stored.get(scope)
        return None if one is None else one.level

    def _levels(self, stored: Mapping[str, Level]) -> Levels:
        scopes = (stored.keys() | self.declared.keys()) - {SITE}
        lower = {scope: self.own(scope, stored.get(scope)) for scope in scopes}
        return Levels(epoch=self.epoch, site=self.own(SITE, stored.get(SITE)), lower=lower)


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
        witnesses: Sequence[Witness] = (),
    ) -> None:
        """``first`` is in force until somebody sets the site's level; ``scopes`` are those that exist.

        ``witnesses`` hear of every change.
        """
        self._database = database
        self._audit = audit
        self._first = first
        self._declared = declared
        self._scopes = scopes | {SITE}
        self._witnesses = tuple(witnesses)

    def levels(self) -> Levels:
        """Read all levels and the epoch."""
        return self.overview().levels

    def overview(self) -> Overview:
        """Read everything that is known about the levels, as it stands at one moment."""

        def work(connection: Connection) -> Overview:
            epoch = select(tables.epoch.c.value).where(tables.epoch.c.id == tables.POLICY)
            value = int(
                connection.execute(epoch).scalar_one()
            )  # first: an older epoch than the rows is refused later
            rows = connection.execute(select(tables.ceiling)).mappings()
            stored = {
                str(row["scope"]): Stored(**{**row, "level": Level.of(str(row["level"]))}) for row in rows
            }
            return Overview(epoch=value, first=self._first, declared=self._declared, stored=stored)

        return self._database.read(work)

    @property
    def scopes(self) -> tuple[str, ...]:
        """Every scope that there is, the site first."""
        return SITE, *sorted(self._scopes - {SITE})

    def set(self, scope: str, level: Level, *, by: str, seen: int | None = None) -> Levels:
        """Set a scope's level; audited, and in force everywhere when this returns. BadRequest for an unknown scope.

        With ``seen``, the epoch of the levels that somebody looked at, raising it is refused (409) once there is a
        newer one: nobody raises what another has just lowered without having seen that.
        """
        return self._change(scope, level, by=by, seen=seen)

    def clear(self, scope: str, *, by: str, seen: int | None = None) -> Levels:
        """Forget a scope's level, also one that is no longer there: what is above it holds again; else as ``set``."""
        return self._change(scope, None, by=by, seen=seen)

    def _change(self, scope: str, level: Level | None, *, by: str, seen: int | None) -> Levels:
        after = None if level is None else level.word

        def work(connection: Connection) -> str | None:
            locked = select(tables.epoch.c.value).where(tables.epoch.c.id == tables.POLICY).with_for_update()
            value = int(connection.execute(locked).scalar_one())
            before = _stored(connection, scope)
            self._check_scope(scope, is_known=level is None and before is not None)
            if seen not in (None, value) and self._raises(scope, before, level):
                raise AgentError(_SEEN_OLDER, status=409)
            values = {"changed_by": by, "changed_at": self._database.now}
            _put(connection, scope, None if level is None else {"level": level.word, **values})
            connection.execute(
                update(tables.epoch).where(tables.epoch.c.id == tables.POLICY).values(value=value + 1)
            )
            data = {"before": before, "after": after}
            self._audit.append(connection, kind="ceiling", actor=by, subject=scope, data=data)
            return before

        self._changed(scope, self._database.write(work), after, by)
        return self.levels()

    def _check_scope(self, scope: str, *, is_known: bool) -> None:
        if not is_known and scope not in self._scopes:
            raise BadRequest(f"no scope named {scope[:80]!r}; there is: {', '.join(sorted(self._scopes))}")

    def _raises(self, scope: str, before: str | None, after: Level | None) -> bool:
        there = Overview(epoch=0, first=self._first, declared=self._declared, stored={})
        return there.own(scope, after) > there.own(scope, None if before is None else Level.of(before))

    def _changed(self, scope: str, before: str | None, after: str | None, by: str) -> None:
        if before != after:
            spread(CeilingChanged(scope=scope, before=before, after=after, by=by), self._witnesses)


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


def _put(connection: Connection, scope: str, values: Mapping[str, object] | None) -> None:
    if values is None:
        connection.execute(delete(tables.ceiling).where(tables.ceiling.c.scope == scope))
        return
    changed = connection.execute(
        update(tables.ceiling).where(tables.ceiling.c.scope == scope).values(**values)
    )
    if not changed.rowcount:
        connection.execute(insert(tables.ceiling).values(scope=scope, **values))
