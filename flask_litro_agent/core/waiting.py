"""What waits for a person: outcomes that nobody knows, open proposals, and those whose time ran out lately.

Everything is read at one moment of the database's clock. Lists are bounded; the counts beside them are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, or_, select

from flask_litro_agent.core import standing
from flask_litro_agent.core.database import Database
from flask_litro_agent.core.proposals import Proposal, State, sha256_of
from flask_litro_agent.core.tables import claimant, proposal

__all__ = ["FILTERS", "Board", "Pulse", "Waiting"]

#: What the lists can be narrowed by: columns that a card shows.
FILTERS: Final = ("agent", "tool", "proposer")

_DAY_MS: Final = 86_400_000
_MOST_CARDS: Final = 200
_MOST_EXPIRED: Final = 50
_COLUMNS: Final = {"agent": proposal.c.agent, "tool": proposal.c.tool, "proposer": proposal.c.proposer}


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """The lists at one moment, ``read_at``; ``choices`` are the values that waiting ones have, by filter.

    ``open`` has the nearest deadline first. ``total`` counts all that are open or unknown, ``found`` those that the
    filters let through.
    """

    read_at: int
    unknown: Sequence[Proposal]
    open: Sequence[Proposal]
    expired: Sequence[Proposal]
    total: int
    found: int
    choices: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Pulse:
    """How many wait, and a mark that is another one as soon as something about them has changed."""

    count: int
    mark: str


class Waiting:
    """Reads what waits in one ledger."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def board(self, **filters: str) -> Board:
        """Return the lists; ``filters`` are values of FILTERS."""
        wanted = [_COLUMNS[name] == value for name, value in filters.items()]

        def work(connection: Connection) -> Board:
            now = standing.read_clock(self._database, connection)
            facts = _facts(connection, now)
            return Board(
                read_at=now,
                unknown=_unknown(connection, now, wanted),
                open=_open(connection, now, wanted),
                expired=_expired(connection, now, wanted),
                total=len(facts),
                found=sum(all(fact[name] == value for name, value in filters.items()) for fact in facts),
                choices={name: sorted({fact[name] for fact in facts}) for name in FILTERS},
            )

        return self._database.read(work)

    def pulse(self) -> Pulse:
        """Return what a page compares with what it shows; claimed ones count for the mark alone."""

        def work(connection: Connection) -> Pulse:
            now = standing.read_clock(self._database, connection)
            moving = or_(standing.is_open(now), proposal.c.state == State.CLAIMED.value)
            query = select(proposal.c.id, standing.standing_in(now)).select_from(_JOINED).where(moving)
            rows = [tuple(row) for row in connection.execute(query.order_by(proposal.c.id))]
            waiting = [row for row in rows if row[1] != State.CLAIMED.value]
            return Pulse(len(waiting), sha256_of(rows)[:16])

        return self._database.read(work)

    def made_from(self, proposal_id: str) -> list[Proposal]:
        """Return what repeats or reverses this proposal, oldest first."""

        def work(connection: Connection) -> list[Proposal]:
            now = standing.read_clock(self._database, connection)
            return standing.standing(connection, now, proposal.c.made_from == proposal_id)

        return self._database.read(work)


_JOINED = proposal.outerjoin(claimant, claimant.c.id == proposal.c.claimant)


def _unknown(connection: Connection, now: int, wanted: list[ColumnElement[bool]]) -> list[Proposal]:
    order = (proposal.c.claimed_at, proposal.c.id)
    return standing.ordered(connection, now, standing.is_unknown(now), *wanted, by=order, most=_MOST_CARDS)


def _open(connection: Connection, now: int, wanted: list[ColumnElement[bool]]) -> list[Proposal]:
    order = (proposal.c.created_at + proposal.c.ttl_ms, proposal.c.id)
    return standing.ordered(connection, now, standing.is_open(now), *wanted, by=order, most=_MOST_CARDS)


def _expired(connection: Connection, now: int, wanted: list[ColumnElement[bool]]) -> list[Proposal]:
    """Those of the last day that nobody has proposed again since."""
    deadline = proposal.c.created_at + proposal.c.ttl_ms
    is_late = and_(proposal.c.state == State.PROPOSED.value, ~standing.is_open(now), deadline > now - _DAY_MS)
    order = (deadline.desc(), proposal.c.id)
    found = standing.ordered(connection, now, is_late, *wanted, by=order, most=_MOST_EXPIRED)
    made = select(proposal.c.made_from).where(proposal.c.made_from.in_([row.id for row in found]))
    repeated = set(connection.execute(made).scalars()) if found else set()
    return [row for row in found if row.id not in repeated]


def _facts(connection: Connection, now: int) -> Sequence[RowMapping]:
    """Return what the filters look at, of everything that waits."""
    waits = or_(standing.is_open(now), standing.is_unknown(now))
    query = select(*(_COLUMNS[name].label(name) for name in FILTERS)).select_from(_JOINED).where(waits)
    return connection.execute(query).mappings().all()
