"""The ledger: every proposal as a row, and the few ways in which a row may change.

Rows, nothing else: no policy is asked and no tool is called here. Whoever decides takes the row out of its open state
by one compare-and-set, so that of an approval, a dismissal, a void and an expiry exactly one happens, in any number
of processes and hosts. A decision and its audit row are one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, and_, delete, or_, select, update

from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.core import debts, search, standing
from flask_litro_agent.core.audit import Audit
from flask_litro_agent.core.claimants import Claimants
from flask_litro_agent.core.claims import Claim, Claims, EpochMoved, Outcome, facts
from flask_litro_agent.core.database import Database
from flask_litro_agent.core.debts import Debts
from flask_litro_agent.core.news import ProposalRecorded, ProposalSettled, Witness, spread
from flask_litro_agent.core.proposals import Proposal, ProposalDraft, State
from flask_litro_agent.core.recording import Dismissed, Flooded, Recorded, Recording, Twin
from flask_litro_agent.core.search import Wanted
from flask_litro_agent.core.tables import claimant, proposal

__all__ = ["Claim", "Dismissed", "EpochMoved", "Flooded", "Ledger", "Recorded", "Twin"]

_DAY_MS = 86_400_000
_BATCH = 500


class Ledger:
    """The proposals of one site; ``most_open`` in each session, ``dismissed_ms`` how long a dismissal answers.

    ``witnesses`` hear of every new row and of every end that is written down; with ``announces`` each new row has a
    message for the webhook beside it.
    """

    def __init__(
        self,
        database: Database,
        audit: Audit,
        *,
        most_open: int = 5,
        dismissed_ms: int = 600_000,
        witnesses: Sequence[Witness] = (),
        announces: bool = False,
    ) -> None:
        self._database = database
        self._audit = audit
        self._witnesses = tuple(witnesses)
        self._recording = Recording(
            database, most_open=most_open, dismissed_ms=dismissed_ms, announces=announces
        )
        self._debts = Debts(database)
        self._claimants = Claimants(database)
        self._claims = Claims(database, audit, self._claimants)

    def record(self, draft: ProposalDraft) -> Recorded | Twin | Dismissed | Flooded:
        """Record a proposal, or say why there is no new one."""
        recorded = self._recording.record(draft)
        if isinstance(recorded, Recorded) and recorded.is_new:
            spread(ProposalRecorded(recorded.proposal), self._witnesses)
        return recorded

    def get(self, proposal_id: str) -> Proposal | None:
        """Return the proposal as it stands now."""
        found = self._read(proposal.c.id == proposal_id)
        return found[0] if found else None

    def find(
        self,
        *,
        states: Iterable[State] | None = None,
        agent: str | None = None,
        owner: str | None = None,
        text: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> tuple[list[Proposal], str | None]:
        """Return a page, newest first, and the mark after which the next one starts; None when it is the last.

        ``text`` is looked for in summaries, notes, tool names and people's ids; BadRequest when the mark is not ours.
        """
        wanted = None if states is None else tuple(states)
        sought = Wanted(states=wanted, agent=agent, owner=owner, text=text)
        return self.search(sought, after=after, limit=limit)

    def search(
        self, wanted: Wanted, *, after: str | None = None, limit: int = 50
    ) -> tuple[list[Proposal], str | None]:
        """Return a page of what is wanted, as ``find``; see ``search.Wanted``."""
        return search.page(self._database, wanted, after=after, limit=limit)

    def counts(self, wanted: Wanted) -> Mapping[State, int]:
        """Return how many of what is wanted there are in each state, whatever ``wanted.states`` says."""
        return search.counts(self._database, wanted)

    def claim(self, proposal_id: str, digest: str, *, operator_id: str, epoch: int) -> Claim | None:
        """Take an open proposal for its one run; see ``Claims.claim``."""
        return self._claims.claim(proposal_id, digest, operator_id=operator_id, epoch=epoch)

    def start(self, claim: Claim) -> bool:
        """Note that the tool is about to run; False means that it must not."""
        return self._claims.start(claim)

    def settle(
        self, claim: Claim, *, outcome: Outcome, result: Any = None, error_id: str | None = None
    ) -> Proposal:
        """Write how a claimed proposal ended; see ``Claims.settle``."""
        return self._told(self._claims.settle(claim, outcome=outcome, result=result, error_id=error_id))

    def lose(self, claim: Claim, *, error_id: str | None = None) -> Proposal:
        """Say that nobody can know how it ended: unknown from now on; see ``Claims.lose``."""
        return self._claims.lose(claim, error_id=error_id)

    def beat(self) -> None:
        """Say that this process lives; a thread does it while there are claims."""
        self._claimants.beat()

    def dismiss(
        self, proposal_id: str, digest: str, *, operator_id: str, note: str | None
    ) -> Proposal | None:
        """Dismiss an open proposal; None when it is not open, or not what the digest says."""
        values = {"state": State.DISMISSED.value, "decided_by": operator_id, "note": note}
        is_shown = proposal.c.digest == digest
        return self._close(proposal_id, is_shown, kind="dismissed", actor=operator_id, values=values)

    def void(self, proposal_id: str, *, reason: str, by: str) -> bool:
        """Make an open proposal void; False when it is not open."""
        values = {"state": State.VOID.value, "reason": reason}
        return self._close(proposal_id, kind="void", actor=by, values=values, reason=reason) is not None

    def void_session(self, session_key: str, *, reason: str, by: str) -> list[str]:
        """Make a session's open proposals void, each on its own, and return the ids of those that it did."""
        is_ours = proposal.c.session_key == session_key
        rows = self._read(is_ours, proposal.c.state == State.PROPOSED.value)
        return [row.id for row in rows if self.void(row.id, reason=reason, by=by)]

    def move_session(self, session_key: str, *, to: SessionKey) -> None:
        """Owe another session what this one was to hear: what is shown and decided stays as it is."""
        self._debts.move(session_key, to)

    def forget_session(self, session_key: str) -> None:
        """Owe a session nothing any more, because its log is gone."""
        self._debts.forget(session_key)

    def answer(
        self,
        proposal_id: str,
        *,
        happened: bool,
        operator_id: str,
        note: str | None,
        truth: Literal["operator", "reconcile"] = "operator",
    ) -> Proposal | None:
        """Say how an unknown one ended; None when it is not unknown (any more)."""

        def work(connection: Connection) -> Proposal | None:
            now = standing.lock(self._database, connection, proposal_id)
            if not standing.first(connection, now, proposal.c.id == proposal_id, standing.is_unknown(now)):
                return None
            outcome = "ok" if happened else "failed"
            ending = {"state": State.EXECUTED.value, "settled_at": now, "outcome": outcome}
            statement = update(proposal).where(proposal.c.id == proposal_id)
            connection.execute(statement.values(**ending, truth=truth, note=note))
            return self._audited(
                connection, now, proposal_id, "answered", operator_id, outcome=outcome, truth=truth
            )

        answered = self._database.write(work)
        return None if answered is None else self._told(answered)

    def owed(self, session_key: str) -> list[Proposal]:
        """Return what is decided or over and the session was not told, oldest first."""
        return self._debts.owed(session_key)

    def told(self, session_key: str, proposal_id: str, state: State, outcome: str | None = None) -> bool:
        """Note that the session was told this state; False when it had been told this or a later one.

        With the ``outcome`` that it was told, False also when the row has another by now.
        """
        return self._debts.told(session_key, proposal_id, state, outcome)

    def other_sessions(self, proposal_id: str) -> list[SessionKey]:
        """Return the sessions that hear how the proposal ends, beside the one that it came from."""
        return self._debts.other_sessions(proposal_id)

    def unheard(self, *, days: int, actor: str | None = None) -> set[SessionKey]:
        """Return the sessions for which ``prune`` would keep a row: they were not told how it ended."""
        now = self._database.time()
        return self._debts.unheard(*_prunable(now, days, actor))

    def prune(self, *, days: int, actor: str | None = None) -> int:
        """Delete what is settled, dismissed, void or expired for so many days, and return how many rows that were.

        With ``actor``, only what this person owns or proposed. An open, claimed or unknown row is never deleted, nor
        one whose end a session is still to be told.
        """
        if days < 0:
            raise ValueError("days cannot be negative")
        count = 0
        while found := self._database.write(lambda connection: self._prune_some(connection, days, actor)):
            count += found
        self._database.write(lambda connection: self._end_pruning(connection, count, days))
        return count

    def _read(self, *conditions: ColumnElement[bool]) -> list[Proposal]:
        def work(connection: Connection) -> list[Proposal]:
            now = standing.read_clock(self._database, connection)
            return standing.standing(connection, now, *conditions)

        return self._database.read(work)

    def _close(
        self,
        proposal_id: str,
        *conditions: ColumnElement[bool],
        kind: str,
        actor: str,
        values: dict[str, Any],
        **extra: Any,
    ) -> Proposal | None:
        def work(connection: Connection) -> Proposal | None:
            now = standing.lock(self._database, connection, proposal_id)
            if not standing.close(connection, now, proposal_id, *conditions, settled_at=now, **values):
                return None
            return self._audited(connection, now, proposal_id, kind, actor, **extra)

        closed = self._database.write(work)
        return None if closed is None else self._told(closed)

    def _told(self, settled: Proposal) -> Proposal:
        spread(ProposalSettled(settled), self._witnesses)
        return settled

    def _audited(
        self, connection: Connection, now: int, proposal_id: str, kind: str, actor: str, **extra: Any
    ) -> Proposal:
        (row,) = standing.standing(connection, now, proposal.c.id == proposal_id)
        self._audit.append(connection, kind=kind, actor=actor, subject=row.id, data=facts(row, **extra))
        return row

    def _prune_some(self, connection: Connection, days: int, actor: str | None) -> int:
        now = standing.read_clock(self._database, connection)
        goes = *_prunable(now, days, actor), debts.is_nothing_owed()
        ids = connection.execute(select(proposal.c.id).where(*goes).limit(_BATCH)).scalars().all()
        if not ids:
            return 0
        gone = connection.execute(delete(proposal).where(proposal.c.id.in_(ids), *goes)).rowcount
        debts.drop(connection, ids)
        return gone

    def _end_pruning(self, connection: Connection, count: int, days: int) -> None:
        now = standing.read_clock(self._database, connection)
        connection.execute(delete(claimant).where(claimant.c.beat_at < now - _DAY_MS))
        data = {"rows": count, "days": days}
        self._audit.append(connection, kind="pruned", actor="", subject="proposals", data=data)


def _prunable(now: int, days: int, actor: str | None) -> Iterator[ColumnElement[bool]]:
    yield _over_since(now, now - days * _DAY_MS)
    if actor is not None:
        yield or_(*(column == actor for column in (proposal.c.owner, proposal.c.proposer, proposal.c.heir)))


def _over_since(now: int, since: int) -> ColumnElement[bool]:
    """Settled, dismissed or void before that moment, or expired before it."""
    is_settled = proposal.c.settled_at < since
    is_expired = proposal.c.created_at + proposal.c.ttl_ms < since
    return or_(
        and_(
            proposal.c.state.in_([State.EXECUTED.value, State.DISMISSED.value, State.VOID.value]), is_settled
        ),
        and_(proposal.c.state == State.PROPOSED.value, ~standing.is_open(now), is_expired),
    )
