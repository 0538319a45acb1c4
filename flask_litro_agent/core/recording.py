"""From a draft to a row, or to the reason why there is none: a twin, a dismissal, a flood.

Unique keys decide, not what was read before: an open row holds the key of its arguments and one of its session's
places. An expired row's keys are taken by whoever needs them.
"""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from flask_litro_agent import strict_json
from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.core import debts, deliveries, standing
from flask_litro_agent.core.database import Database
from flask_litro_agent.core.proposals import (
    Proposal,
    ProposalDraft,
    State,
    args_digest,
    digest_of,
    session_digest,
    sha256_of,
)
from flask_litro_agent.core.tables import proposal
from flask_litro_agent.errors import LedgerAway

__all__ = ["Dismissed", "Flooded", "Recorded", "Recording", "Twin"]

_TRIES = 100


@dataclass(frozen=True, slots=True)
class Recorded:
    """The row stands; ``is_new`` is False when this very call had been recorded before."""

    proposal: Proposal
    is_new: bool


@dataclass(frozen=True, slots=True)
class Twin:
    """The same tool with the same arguments is open already: that one is the card."""

    proposal: Proposal


@dataclass(frozen=True, slots=True)
class Dismissed:
    """An operator dismissed the same call a short while ago; there is no new row."""

    proposal: Proposal


@dataclass(frozen=True, slots=True)
class Flooded:
    """The session has so many open proposals that it gets no further one."""

    open: int


class Recording:
    """Writes drafts into the ledger; ``most_open`` is for each agent, owner and session.

    With ``announces`` a message about each new row is written beside it, for the webhook.
    """

    def __init__(
        self, database: Database, *, most_open: int, dismissed_ms: int, announces: bool = False
    ) -> None:
        self._database = database
        self._most_open = most_open
        self._dismissed_ms = dismissed_ms
        self._announces = announces

    def record(self, draft: ProposalDraft) -> Recorded | Twin | Dismissed | Flooded:
        """Record it in one transaction; when another took a key first, look again."""
        keys = _Keys.of(draft)
        for _ in range(_TRIES):
            try:
                return self._database.write(lambda connection: self._decide(connection, draft, keys))
            except _Taken:
                continue
        raise LedgerAway("the ledger could not find a place for the proposal: too many at once")

    def _decide(
        self, connection: Connection, draft: ProposalDraft, keys: _Keys
    ) -> Recorded | Twin | Dismissed | Flooded:
        now = standing.read_clock(self._database, connection)
        if keys.call and (known := standing.first(connection, now, proposal.c.call_key == keys.call)):
            return Recorded(known, False)
        if twin := standing.first(connection, now, proposal.c.open_key == keys.open, standing.is_open(now)):
            return self._met(connection, twin, draft, keys)
        if dismissed := self._dismissed(connection, now, draft, keys):
            return Dismissed(dismissed)
        place = self._free_place(connection, now, keys)
        if place is None:
            return Flooded(self._most_open)
        recorded = _insert(connection, now, draft, keys, place)
        if self._announces:
            deliveries.announce(connection, deliveries.RECORDED, recorded.proposal.id, now)
        return recorded

    def _met(self, connection: Connection, twin: Proposal, draft: ProposalDraft, keys: _Keys) -> Twin:
        """Let a session that is shown another one's proposal hear how it ends, as long as that is still to come."""
        if draft.session is None or keys.session in (None, twin.session_key):
            return Twin(twin)
        now = standing.lock(self._database, connection, twin.id)
        held = standing.first(connection, now, proposal.c.id == twin.id, standing.is_open(now))
        key = SessionKey(draft.agent, draft.owner, draft.session)
        if held is None or not debts.listen(connection, twin.id, key):
            raise _Taken
        return Twin(held)

    def _dismissed(
        self, connection: Connection, now: int, draft: ProposalDraft, keys: _Keys
    ) -> Proposal | None:
        """Return the dismissal that still answers; a person who proposes again is not answered by it."""
        if draft.made_from is not None:
            return None
        return standing.first(
            connection,
            now,
            proposal.c.args_digest == keys.arguments,
            proposal.c.agent == draft.agent,
            proposal.c.owner == draft.owner,
            proposal.c.state == State.DISMISSED.value,
            proposal.c.settled_at > now - self._dismissed_ms,
        )

    def _free_place(self, connection: Connection, now: int, keys: _Keys) -> str | None:
        """Free what expired rows hold of the keys, and return a place that nobody holds."""
        places = [f"{keys.scope}:{number}" for number in range(self._most_open)]
        wanted = (proposal.c.open_key == keys.open) | proposal.c.slot_key.in_(places)
        stands = standing.is_open(now)
        holders = connection.execute(
            select(proposal.c.id, proposal.c.slot_key, stands.label("stands")).where(wanted)
        )
        taken, expired = set(), []
        for holder in holders:
            if holder.stands:
                taken.add(holder.slot_key)
            else:
                expired.append(holder.id)
        if expired:
            statement = update(proposal).where(proposal.c.id.in_(expired), ~stands)
            connection.execute(statement.values(open_key=None, slot_key=None))
        return next((place for place in places if place not in taken), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keys:
    """What may stand once in the ledger, or is looked for in it."""

    call: str | None
    session: str | None
    open: str
    scope: str
    arguments: str

    @classmethod
    def of(cls, draft: ProposalDraft) -> _Keys:
        arguments = args_digest(draft.tool, draft.arguments)
        session = None if draft.session is None else session_digest(draft.agent, draft.owner, draft.session)
        whole = session is not None and draft.turn is not None and draft.call_id is not None
        return cls(
            call=sha256_of([session, draft.turn, draft.call_id]) if whole else None,
            session=session,
            open=sha256_of([draft.agent, draft.owner, arguments]),
            scope=sha256_of([draft.agent, draft.owner, draft.session]),
            arguments=arguments,
        )


class _Taken(Exception):
    """Another transaction was faster: it holds one of the unique keys, or has closed the twin."""


def _insert(connection: Connection, now: int, draft: ProposalDraft, keys: _Keys, place: str) -> Recorded:
    proposal_id = secrets.token_hex(16)
    values = asdict(draft) | {
        "id": proposal_id,
        "preview": None if draft.preview is None else strict_json.encode(draft.preview),
        "labels": strict_json.encode(draft.labels) if draft.labels else None,
        "filled": strict_json.encode(draft.filled) if draft.filled else None,
        "session_key": keys.session,
        "call_key": keys.call,
        "args_digest": keys.arguments,
        "digest": digest_of(proposal_id, draft),
        "created_at": now,
        "state": State.PROPOSED.value,
        "open_key": keys.open,
        "slot_key": place,
    }
    try:
        connection.execute(insert(proposal).values(values))
    except IntegrityError:
        raise _Taken from None
    (recorded,) = standing.standing(connection, now, proposal.c.id == proposal_id)
    return Recorded(recorded, True)
