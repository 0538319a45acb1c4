"""Looking for proposals: what is wanted, a page of it at a time, and how many there are in each state.

Nothing here changes a row. A page ends with a mark, the last row's place in the order, so that rows which come or go
meanwhile neither repeat one on the next page nor leave one out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, and_, func, or_, select

from flask_litro_agent.core import standing
from flask_litro_agent.core.database import Database
from flask_litro_agent.core.proposals import Proposal, State
from flask_litro_agent.core.tables import claimant, proposal
from flask_litro_agent.errors import BadRequest

__all__ = ["Wanted", "counts", "page"]

#: The state that is stored where a derived one is read.
_STORED: Final = {State.EXPIRED: State.PROPOSED, State.UNKNOWN: State.CLAIMED}
_PENDING: Final = (State.PROPOSED.value, State.CLAIMED.value)
_MARK: Final = re.compile(r"([0-9]{1,18})-([0-9A-Za-z_-]{1,32})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the rows must be; None asks nothing. ``since`` and ``until`` are when it was proposed (ms, until excluded).

    ``text`` is looked for in summaries, notes, tool names and people's ids; an id of a proposal must be whole.
    """

    states: Sequence[State] | None = None
    agent: str | None = None
    owner: str | None = None
    tool: str | None = None
    proposer: str | None = None
    decider: str | None = None
    outcome: str | None = None
    text: str | None = None
    since: int | None = None
    until: int | None = None

    def conditions(self, *, is_sqlite: bool) -> Iterator[ColumnElement[bool]]:
        """Yield what is asked of the columns; the states are asked of how a row stands."""
        equal = {
            proposal.c.agent: self.agent,
            proposal.c.tool: self.tool,
            proposal.c.proposer: self.proposer,
            proposal.c.decided_by: self.decider,
            proposal.c.outcome: self.outcome,
        }
        yield from (column == value for column, value in equal.items() if value is not None)
        if self.owner is not None:
            yield or_(proposal.c.owner == self.owner, proposal.c.heir == self.owner)
        if self.since is not None:
            yield proposal.c.created_at >= self.since
        if self.until is not None:
            yield proposal.c.created_at < self.until
        if self.text is not None:
            yield _contains(self.text, is_sqlite=is_sqlite)


def page(
    database: Database, wanted: Wanted, *, after: str | None, limit: int
) -> tuple[list[Proposal], str | None]:
    """Return a page, newest first, and the mark of the next one; None when it is the last.

    BadRequest when ``after`` is no mark of ours.
    """
    older = [] if after is None else [_older_than(after)]

    def work(connection: Connection) -> list[Proposal]:
        now = standing.read_clock(database, connection)
        asked = [*wanted.conditions(is_sqlite=database.is_sqlite), *older, *_stands(wanted.states, now)]
        return standing.standing(connection, now, *asked, newest=limit + 1)

    found = database.read(work)
    return found[:limit], _mark(found[limit - 1]) if len(found) > limit else None


def counts(database: Database, wanted: Wanted) -> Mapping[State, int]:
    """Return how many there are in each state, whatever ``wanted.states`` says; a state without any is not there."""
    asked = list(wanted.conditions(is_sqlite=database.is_sqlite))

    def work(connection: Connection) -> dict[State, int]:
        now = standing.read_clock(database, connection)
        return {
            State(state): int(count)
            for statement in (_count_settled(asked), _count_pending(asked, now))
            for state, count in connection.execute(statement)
        }

    return database.read(work)


def _stands(states: Sequence[State] | None, now: int) -> Iterator[ColumnElement[bool]]:
    """Ask for the stored state too: it has an index."""
    if states is None:
        return
    yield proposal.c.state.in_({_STORED.get(state, state).value for state in states})
    yield standing.standing_in(now).in_([state.value for state in states])


def _count_settled(asked: Sequence[ColumnElement[bool]]) -> Select[Any]:
    """Without other conditions this is read off an index alone, and no row is looked at."""
    counted = select(proposal.c.state, func.count()).where(*asked, proposal.c.state.not_in(_PENDING))
    return counted.group_by(proposal.c.state)


def _count_pending(asked: Sequence[ColumnElement[bool]], now: int) -> Select[Any]:
    joined = proposal.outerjoin(claimant, claimant.c.id == proposal.c.claimant)
    stands = select(standing.standing_in(now).label("stands")).select_from(joined)
    pending = stands.where(*asked, proposal.c.state.in_(_PENDING)).subquery()
    return select(pending.c.stands, func.count()).group_by(pending.c.stands)


def _contains(text: str, *, is_sqlite: bool) -> ColumnElement[bool]:
    """Look for the text in any case. SQLite's LIKE asks for none; to fold both sides would double the work."""
    c = proposal.c
    columns = c.summary, c.note, c.tool, c.owner, c.proposer, c.decided_by
    if is_sqlite:
        return or_(c.id == text, *(column.contains(text, autoescape=True) for column in columns))
    return or_(c.id == text, *(column.icontains(text, autoescape=True) for column in columns))


def _mark(last: Proposal) -> str:
    return f"{last.created_at}-{last.id}"


def _older_than(mark: str) -> ColumnElement[bool]:
    """Return what stands behind that mark; raise BadRequest when it is none."""
    match = _MARK.fullmatch(mark)
    if match is None:
        raise BadRequest("there is no such page")
    at, proposal_id = int(match[1]), match[2]
    is_behind = or_(proposal.c.created_at < at, proposal.c.id < proposal_id)
    return and_(proposal.c.created_at <= at, is_behind)  # so the index leads to the first one
