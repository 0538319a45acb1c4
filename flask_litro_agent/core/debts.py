"""Who hears how a proposal ended: the session that it came from, and others that were shown it while it was open.

Each of them is told once for each end, by the row that says what it was told last: the proposal's own for the session
that it came from, and one in ``litro_listener`` for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Table,
    and_,
    case,
    delete,
    exists,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.core import standing
from flask_litro_agent.core.database import Database
from flask_litro_agent.core.proposals import Proposal, State, session_digest
from flask_litro_agent.core.tables import listener, proposal

__all__ = ["Debts", "correct", "drop", "is_nothing_owed", "listen"]

_GOING_ON: Final = (State.PROPOSED.value, State.CLAIMED.value)
#: Where it is noted what a session was told: the table, and its column with the proposal's id.
_NOTED: Final[tuple[tuple[Table, Column[Any]], ...]] = (
    (proposal, proposal.c.id),
    (listener, listener.c.proposal),
)


class Debts:
    """What sessions of one ledger are still to be told."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def other_sessions(self, proposal_id: str) -> list[SessionKey]:
        """Return the other sessions that were shown the proposal."""
        query = select(listener.c.agent, listener.c.owner, listener.c.session)
        query = query.where(listener.c.proposal == proposal_id).order_by(listener.c.session_key)
        return self._database.read(lambda connection: [SessionKey(*row) for row in connection.execute(query)])

    def owed(self, session_key: str) -> list[Proposal]:
        """Return what is decided or over and the session was not told, oldest first."""

        def work(connection: Connection) -> list[Proposal]:
            now = standing.read_clock(self._database, connection)
            found = _own(connection, now, session_key) + _others(connection, now, session_key)
            return sorted(found, key=lambda one: (one.created_at, one.id))

        return self._database.read(work)

    def told(self, session_key: str, proposal_id: str, state: State, outcome: str | None) -> bool:
        """Note that the session was told this; see ``Ledger.told``."""

        def work(connection: Connection) -> bool:
            held = select(proposal.c.outcome).where(proposal.c.id == proposal_id).with_for_update()
            if outcome not in (None, connection.execute(held).scalar_one_or_none()):
                return False
            return any(
                connection.execute(
                    update(table)
                    .where(column == proposal_id, table.c.session_key == session_key, _is_next(table, state))
                    .values(told=state.value)
                ).rowcount
                for table, column in _NOTED
            )

        return self._database.write(work)

    def move(self, session_key: str, to: SessionKey) -> None:
        """Owe all of it to another session."""
        self._database.write(lambda connection: _move(connection, session_key, to))

    def forget(self, session_key: str) -> None:
        """Owe a session nothing any more: its log is gone."""

        def work(connection: Connection) -> None:
            is_own = proposal.c.session_key == session_key
            connection.execute(update(proposal).where(is_own).values(session_key=None))
            connection.execute(delete(listener).where(listener.c.session_key == session_key))

        self._database.write(work)

    def unheard(self, *conditions: ColumnElement[bool]) -> set[SessionKey]:
        """Return the sessions that were not told of proposals that meet the conditions and are over."""
        ends = _end() != proposal.c.told, proposal.c.told.is_(None)
        own = select(proposal.c.agent, proposal.c.heir, proposal.c.owner, proposal.c.session)
        own = own.where(*conditions, proposal.c.session_key.is_not(None), or_(*ends))
        others = select(listener.c.agent, listener.c.owner, listener.c.session).join_from(
            proposal, listener, and_(listener.c.proposal == proposal.c.id, _is_behind())
        )

        def work(connection: Connection) -> set[SessionKey]:
            found = {SessionKey(*row) for row in connection.execute(others.where(*conditions))}
            rows = connection.execute(own).all()
            return found | {SessionKey(row.agent, row.heir or row.owner, row.session) for row in rows}

        return self._database.read(work)


def listen(connection: Connection, proposal_id: str, key: SessionKey) -> bool:
    """Let the session hear how the proposal ends; False when another transaction has just added the same."""
    digest = session_digest(*key)
    query = select(listener.c.told).where(
        listener.c.proposal == proposal_id, listener.c.session_key == digest
    )
    if connection.execute(query).one_or_none() is not None:
        return True
    values = {"proposal": proposal_id, "session_key": digest, **key._asdict()}
    try:
        connection.execute(insert(listener).values(values))
    except IntegrityError:
        return False
    return True


def correct(connection: Connection, proposal_id: str) -> None:
    """Owe every listener the end anew: what they heard was not so."""
    connection.execute(update(listener).where(listener.c.proposal == proposal_id).values(told=None))


def drop(connection: Connection, proposal_ids: Sequence[str]) -> None:
    """Delete the listeners of proposals that are deleted."""
    connection.execute(delete(listener).where(listener.c.proposal.in_(proposal_ids)))


def is_nothing_owed() -> ColumnElement[bool]:
    """Whether everybody who is to hear of a proposal that is over has heard of it; as SQL."""
    is_own_told = or_(proposal.c.session_key.is_(None), proposal.c.told == _end())
    waits = exists().where(listener.c.proposal == proposal.c.id, _is_behind())
    return and_(is_own_told, ~waits)


def _own(connection: Connection, now: int, session_key: str) -> list[Proposal]:
    stands = standing.standing_in(now)
    return standing.standing(
        connection,
        now,
        proposal.c.session_key == session_key,
        stands.not_in(_GOING_ON),
        or_(proposal.c.told.is_(None), proposal.c.told != stands),
    )


def _others(connection: Connection, now: int, session_key: str) -> list[Proposal]:
    """Return what other sessions' proposals are owed; what a listener was told last is final, or was unknown."""
    is_open_end = or_(listener.c.told.is_(None), listener.c.told == State.UNKNOWN.value)
    query = select(listener.c.proposal, listener.c.told).where(
        listener.c.session_key == session_key, is_open_end
    )
    told = {row.proposal: row.told for row in connection.execute(query)}
    if not told:
        return []
    found = standing.standing(
        connection, now, proposal.c.id.in_(told), standing.standing_in(now).not_in(_GOING_ON)
    )
    return [one for one in found if told[one.id] != one.state.value]


def _move(connection: Connection, session_key: str, to: SessionKey) -> None:
    digest = session_digest(*to)
    is_own = proposal.c.session_key == session_key
    connection.execute(update(proposal).where(is_own).values(session_key=digest, heir=to.owner))
    known = select(listener.c.proposal).where(listener.c.session_key == digest)
    twice = connection.execute(known).scalars().all()
    ours = listener.c.session_key == session_key
    connection.execute(delete(listener).where(ours, listener.c.proposal.in_(twice)))
    connection.execute(update(listener).where(ours).values(session_key=digest, **to._asdict()))


def _is_next(table: Table, state: State) -> ColumnElement[bool]:
    """Nothing was told yet, or that it is unknown and this is more."""
    told = table.c.told
    return or_(told.is_(None), and_(told == State.UNKNOWN.value, told != state.value))


def _end() -> ColumnElement[str]:
    """How a proposal that is over has ended."""
    is_expired = proposal.c.state == State.PROPOSED.value
    return case((is_expired, State.EXPIRED.value), else_=proposal.c.state)


def _is_behind() -> ColumnElement[bool]:
    """Whether a listener of a proposal that is over has not heard of the end."""
    return or_(listener.c.told.is_(None), listener.c.told != _end())
