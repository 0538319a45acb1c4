"""Messages that the webhook's receiver has not taken yet, one row each; any number of processes send them.

The row of a new proposal is written in the proposal's own transaction, so that no crash comes between the two. Whoever
sends a message takes its row first, for a while, by moving the time at which it is due: nobody else finds it due then,
and after a crash somebody does. A row that is not due at any time is over: taken, dropped, or given up.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final, Literal

from sqlalchemy import (
    ColumnElement,
    Connection,
    Update,
    and_,
    case,
    delete,
    exists,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from flask_litro_agent.core import standing
from flask_litro_agent.core.database import Database
from flask_litro_agent.core.proposals import Proposal, State
from flask_litro_agent.core.tables import claimant, delivery, proposal

__all__ = ["RECORDED", "UNKNOWN", "Backlog", "Deliveries", "Delivery", "Event", "announce"]

Event = Literal["proposal.recorded", "proposal.unknown"]
RECORDED: Final[Event] = "proposal.recorded"
UNKNOWN: Final[Event] = "proposal.unknown"
#: The state in which a proposal still is what the message says.
_SAID: Final = {RECORDED: State.PROPOSED, UNKNOWN: State.UNKNOWN}

_LATELY_MS: Final = 7 * 86_400_000
_DAY_MS: Final = 86_400_000
_SOME: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A message that is being sent: ``attempts`` with this one, ``due_at`` when it is anybody's again.

    ``proposal`` is None when its row is gone; ``now`` is the database's time at which it was taken.
    """

    id: str
    event: Event
    proposal: Proposal | None
    created_at: int
    due_at: int
    attempts: int
    now: int

    @property
    def is_true(self) -> bool:
        """Whether the proposal still stands as the message says."""
        return self.proposal is not None and self.proposal.state is _SAID[self.event]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """How many messages wait for another attempt, and how many were given up within a week."""

    waiting: int
    failed: int


class _Taken(Exception):
    """Another process wrote that row first."""


def announce(connection: Connection, event: Event, proposal_id: str, now: int) -> None:
    """Write the message's row in the caller's transaction; it is due at once."""
    row = {"id": secrets.token_hex(16), "event": event, "proposal": proposal_id, "attempts": 0}
    connection.execute(insert(delivery).values(**row, created_at=now, due_at=now))


class Deliveries:
    """The messages of one site."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note_unknown(self) -> int:
        """Announce every proposal whose outcome has become unknown, once each; return how many those were."""
        return sum(self._note(proposal_id) for proposal_id in self._unknown())

    def due_in(self) -> int | None:
        """Return in how many ms the next message is due, 0 or less for now; None when there is none."""
        query = select(func.min(delivery.c.due_at), self._database.now)
        first, now = self._database.read(lambda connection: connection.execute(query).one())
        return None if first is None else int(first) - int(now)

    def take(self, *, for_ms: int) -> Delivery | None:
        """Take a message that is due, the least tried first; for so long nobody else can. None when none is due."""
        return self._database.write(lambda connection: self._take(connection, for_ms))

    def close(self, taken: Delivery) -> None:
        """End it: it was sent, or no longer says what is so."""
        self._change(taken, due_at=None)

    def give_up(self, taken: Delivery) -> None:
        """End it: nobody takes it."""
        self._change(taken, due_at=None, failed_at=self._database.now)

    def put_off(self, taken: Delivery, *, for_ms: int) -> None:
        """Let it be due again after so long."""
        self._change(taken, due_at=self._database.now + for_ms)

    def backlog(self) -> Backlog:
        """Count what did not arrive."""
        is_tried = and_(delivery.c.due_at.is_not(None), delivery.c.attempts > 0)
        is_lost = delivery.c.failed_at > self._database.now - _LATELY_MS
        query = select(func.count(case((is_tried, 1))), func.count(case((is_lost, 1))))
        waiting, failed = self._database.read(lambda connection: connection.execute(query).one())
        return Backlog(waiting=waiting, failed=failed)

    def prune(self, *, days: int | None) -> int:
        """Delete the rows of proposals that are gone, and with ``days`` what was over so long ago; return how many.

        One of a proposal that is still unknown stays: without it, it would be announced again.
        """
        theirs = proposal.c.id == delivery.c.proposal
        is_claimed = exists().where(theirs, proposal.c.state == State.CLAIMED.value)
        is_gone = ~exists().where(theirs)

        def work(connection: Connection) -> int:
            since = standing.read_clock(self._database, connection) - (days or 0) * _DAY_MS
            is_old = and_(delivery.c.due_at.is_(None), delivery.c.created_at < since, ~is_claimed)
            is_over = is_gone if days is None else is_gone | is_old
            return connection.execute(delete(delivery).where(is_over)).rowcount

        return self._database.write(work)

    def _unknown(self) -> list[str]:
        def work(connection: Connection) -> list[str]:
            now = standing.read_clock(self._database, connection)
            is_said = exists().where(delivery.c.proposal == proposal.c.id, delivery.c.event == UNKNOWN)
            rows = proposal.outerjoin(claimant, claimant.c.id == proposal.c.claimant)
            query = select(proposal.c.id).select_from(rows).where(standing.is_unknown(now), ~is_said)
            return list(connection.execute(query.limit(_SOME)).scalars())

        return self._database.read(work)

    def _note(self, proposal_id: str) -> bool:
        def work(connection: Connection) -> None:
            now = standing.read_clock(self._database, connection)
            try:
                announce(connection, UNKNOWN, proposal_id, now)
            except IntegrityError:
                raise _Taken from None

        try:
            self._database.write(work)
        except _Taken:
            return False
        return True

    def _take(self, connection: Connection, for_ms: int) -> Delivery | None:
        now = standing.read_clock(self._database, connection)
        due = select(delivery).where(delivery.c.due_at <= now)
        found = connection.execute(due.order_by(delivery.c.attempts, delivery.c.due_at).limit(_SOME))
        for row in found.all():
            values = {"due_at": now + for_ms, "attempts": row.attempts + 1}
            if connection.execute(_update(row.id, row.due_at).values(values)).rowcount:
                about = standing.first(connection, now, proposal.c.id == row.proposal)
                more = {"id": row.id, "event": row.event, "created_at": row.created_at}
                return Delivery(**more, **values, proposal=about, now=now)
        return None

    def _change(self, taken: Delivery, **values: ColumnElement[int] | int | None) -> None:
        """Write how an attempt ended; one that took too long is somebody else's by now, and changes nothing."""
        statement = _update(taken.id, taken.due_at).values(values)
        self._database.write(lambda connection: connection.execute(statement).close())


def _update(delivery_id: str, due_at: int) -> Update:
    """Begin the compare-and-set: of all who saw it due at that time, one changes it."""
    return update(delivery).where(delivery.c.id == delivery_id, delivery.c.due_at == due_at)
