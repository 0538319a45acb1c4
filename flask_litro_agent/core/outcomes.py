"""What became of proposals, counted: by the day on which each was made, by agent, and how long a decision took.

Days are the database's, in UTC. What is counted is read from the few columns that it needs, never from a row's
arguments or results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, func, select

from flask_litro_agent.core import standing
from flask_litro_agent.core.database import Database
from flask_litro_agent.core.proposals import State
from flask_litro_agent.core.tables import claimant, proposal

__all__ = ["DAY_MS", "Counted", "Outcomes", "Waited", "outcomes"]

DAY_MS: Final = 86_400_000
#: Medians are those of so many of the newest decisions.
_MOST_DECISIONS: Final = 10_000
_WAITING: Final = (State.PROPOSED.value, State.UNKNOWN.value)


@dataclass(frozen=True, slots=True)
class Counted:
    """How many of an agent's proposals of one day stand so; ``day`` is counted from the Unix epoch."""

    day: int
    agent: str
    state: State
    outcome: str | None
    count: int


@dataclass(frozen=True, slots=True)
class Waited:
    """How long one decision of somebody's took, in ms."""

    agent: str
    ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """The proposals of some days; ``waiting`` counts all that wait now, by agent and state, however old they are."""

    first: int
    today: int
    counted: Sequence[Counted]
    waited: Sequence[Waited]
    waiting: Sequence[tuple[str, State, int]]


def outcomes(database: Database, *, days: int) -> Outcomes:
    """Count the proposals of today and of the days before it, so many in all."""

    def work(connection: Connection) -> Outcomes:
        now = standing.read_clock(database, connection)
        first = now // DAY_MS - days + 1
        is_young = proposal.c.created_at >= first * DAY_MS
        return Outcomes(
            first=first,
            today=now // DAY_MS,
            counted=[
                Counted(int(began) // DAY_MS, agent, State(state), outcome, int(count))
                for began, agent, state, outcome, count in connection.execute(_counted(now, is_young))
            ],
            waited=[Waited(agent, int(ms)) for agent, ms in connection.execute(_waited(is_young))],
            waiting=[
                (agent, State(state), int(count)) for agent, state, count in connection.execute(_waiting(now))
            ],
        )

    return database.read(work)


def _counted(now: int, *conditions: ColumnElement[bool]) -> Select[Any]:
    began = proposal.c.created_at - proposal.c.created_at % DAY_MS
    rows = (
        _rows(now, began.label("began"), proposal.c.agent, proposal.c.outcome).where(*conditions).subquery()
    )
    key = rows.c.began, rows.c.agent, rows.c.stands, rows.c.outcome
    return select(*key, func.count()).group_by(*key)


def _waiting(now: int) -> Select[Any]:
    may_wait = proposal.c.state.in_([State.PROPOSED.value, State.CLAIMED.value])
    rows = _rows(now, proposal.c.agent).where(may_wait).subquery()
    key = rows.c.agent, rows.c.stands
    return select(*key, func.count()).where(rows.c.stands.in_(_WAITING)).group_by(*key)


def _waited(is_young: ColumnElement[bool]) -> Select[Any]:
    """Ask for what somebody approved or dismissed: an approval is as old as its claim."""
    decided_at = func.coalesce(proposal.c.claimed_at, proposal.c.settled_at)
    query = select(proposal.c.agent, decided_at - proposal.c.created_at)
    is_decided = proposal.c.decided_by.is_not(None), decided_at.is_not(None)
    return query.where(is_young, *is_decided).order_by(proposal.c.created_at.desc()).limit(_MOST_DECISIONS)


def _rows(now: int, *columns: ColumnElement[Any]) -> Select[Any]:
    joined = proposal.outerjoin(claimant, claimant.c.id == proposal.c.claimant)
    return select(*columns, standing.standing_in(now).label("stands")).select_from(joined)
