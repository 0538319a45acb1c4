"""Where a proposal stands: the one place that knows when it is open, expired or unknown, by the database's clock.

The display, the compare-and-set of every decision and the recycling of unique keys ask the same ``is_open``, so the
card's button and the server agree to the millisecond. Nothing sweeps: what time has closed is closed when it is read.
A clock is read after the row's lock was waited for, never before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, and_, case, func, or_, select, update

from flask_litro_agent import strict_json
from flask_litro_agent.core.database import Database
from flask_litro_agent.core.proposals import Proposal, State
from flask_litro_agent.core.tables import claimant, proposal

__all__ = [
    "BEAT_MS",
    "DEAD_MS",
    "EARLY_MS",
    "GRACE_MS",
    "close",
    "first",
    "is_open",
    "is_unknown",
    "lock",
    "ordered",
    "read_clock",
    "standing",
    "standing_in",
]

#: A row may be this much younger than nothing: the clock was set back a little. Any more, and it is not trusted.
EARLY_MS = 1_000
#: A claimant says this often that it lives, and is taken for dead after so long a silence.
BEAT_MS = 5_000
DEAD_MS = 15_000
#: What a claimed tool gets beyond its own limit before its outcome counts as unknown.
GRACE_MS = 5_000

_DECODED = {"preview", "result", "labels", "filled"}
_COPIED = tuple(field.name for field in fields(Proposal) if field.name not in _DECODED | {"state", "read_at"})


def is_open(now: int) -> ColumnElement[bool]:
    """Proposed, -1 s < age < ttl, and its place was not given away: a clock set back cannot open it again."""
    return and_(
        proposal.c.state == State.PROPOSED.value,
        proposal.c.open_key.is_not(None),
        proposal.c.created_at < now + EARLY_MS,
        proposal.c.created_at + proposal.c.ttl_ms > now,
    )


def is_unknown(now: int) -> ColumnElement[bool]:
    """Claimed, and nobody can say how it ended: its claimant is dead or gave it up, or its time is over."""
    return and_(
        proposal.c.state == State.CLAIMED.value,
        or_(
            func.coalesce(claimant.c.beat_at, 0) < now - DEAD_MS,
            proposal.c.claimed_at + proposal.c.limit_ms + GRACE_MS < now,
        ),
    )


def standing_in(now: int) -> ColumnElement[str]:
    """The state at that time, the derived ones included, as SQL over ``standing``'s join."""
    return case(
        (is_unknown(now), State.UNKNOWN.value),
        (and_(proposal.c.state == State.PROPOSED.value, ~is_open(now)), State.EXPIRED.value),
        else_=proposal.c.state,
    )


def standing(
    connection: Connection, now: int, *conditions: ColumnElement[bool], newest: int = 0
) -> list[Proposal]:
    """Return the proposals that meet the conditions, oldest first; with ``newest``, so many, newest first."""
    query = _rows(now).where(*conditions)
    if newest:
        query = query.order_by(proposal.c.created_at.desc(), proposal.c.id.desc()).limit(newest)
    else:
        query = query.order_by(proposal.c.created_at, proposal.c.id)
    return [_proposal_of(row, now) for row in connection.execute(query).mappings()]


def ordered(
    connection: Connection,
    now: int,
    *conditions: ColumnElement[bool],
    by: Sequence[ColumnElement[Any]],
    most: int,
) -> list[Proposal]:
    """Return so many of the proposals that meet the conditions, in this order."""
    query = _rows(now).where(*conditions).order_by(*by).limit(most)
    return [_proposal_of(row, now) for row in connection.execute(query).mappings()]


def first(connection: Connection, now: int, *conditions: ColumnElement[bool]) -> Proposal | None:
    """Return the newest proposal that meets the conditions."""
    found = standing(connection, now, *conditions, newest=1)
    return found[0] if found else None


def lock(database: Database, connection: Connection, proposal_id: str) -> int:
    """Wait for the row's lock, and then read the clock."""
    connection.execute(select(proposal.c.id).where(proposal.c.id == proposal_id).with_for_update())
    return read_clock(database, connection)


def close(
    connection: Connection, now: int, proposal_id: str, *conditions: ColumnElement[bool], **values: Any
) -> bool:
    """Take an open proposal out of its open state; False, and nothing written, when it is not open (any more).

    This compare-and-set is every decision's: claim, dismiss and void. It frees the unique keys of an open row.
    """
    statement = update(proposal).where(proposal.c.id == proposal_id, is_open(now), *conditions)
    return connection.execute(statement.values(open_key=None, slot_key=None, **values)).rowcount == 1


def read_clock(database: Database, connection: Connection) -> int:
    """Return the database's time, in ms, inside a transaction."""
    return int(connection.execute(select(database.now)).scalar_one())


def _rows(now: int) -> Select[Any]:
    joined = proposal.outerjoin(claimant, claimant.c.id == proposal.c.claimant)
    return select(proposal, standing_in(now).label("standing")).select_from(joined)


def _proposal_of(row: RowMapping, now: int) -> Proposal:
    values = {name: row[name] for name in _COPIED}
    decoded = {name: _value(row[name]) for name in _DECODED}
    decoded["filled"] = tuple(decoded["filled"] or ())
    return Proposal(**values, **decoded, state=State(row["standing"]), read_at=now)


def _value(data: bytes | None) -> Any:
    return None if data is None else strict_json.decode(data, depth=strict_json.STORED_DEPTH)
