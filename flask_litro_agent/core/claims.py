"""The claim: one compare-and-set before a side effect, in any number of processes and hosts.

    claim ──► start ──► (the tool runs, once) ──► settle: ok | failed
                                             └──► lost: nobody can say, and nobody tries again

A claimed proposal is spent, whatever comes after. A claim that was stopped on its way does not start late.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, select, update

from flask_litro_agent import strict_json
from flask_litro_agent.core import debts, standing
from flask_litro_agent.core.audit import Audit
from flask_litro_agent.core.claimants import Claimants
from flask_litro_agent.core.database import Database
from flask_litro_agent.core.proposals import Proposal, State
from flask_litro_agent.core.tables import POLICY, proposal
from flask_litro_agent.core.tables import epoch as epoch_row
from flask_litro_agent.errors import LedgerAway, LitroError

__all__ = ["START_MS", "Claim", "Claims", "EpochMoved", "Outcome", "facts"]

Outcome = Literal["ok", "failed"]

#: A claim that is older than this does not start any more.
START_MS = 5_000
#: For how long a claim may wait for its row while this process says that it lives.
_CLAIMING_MS = 120_000
_ANSWERED = ("operator", "reconcile")


class EpochMoved(LitroError):
    """The ceiling was changed since the checks were made: make them again."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to run one proposal once, held by the process that made it."""

    proposal: Proposal
    claim_id: str
    claimant: str


class Claims:
    """Claims, starts and settles proposals of one ledger."""

    def __init__(self, database: Database, audit: Audit, claimants: Claimants) -> None:
        self._database = database
        self._audit = audit
        self._claimants = claimants

    def claim(self, proposal_id: str, digest: str, *, operator_id: str, epoch: int) -> Claim | None:
        """Take the proposal, or return None: it is not open, or not what the digest says.

        Raises EpochMoved when the policy epoch is another than ``epoch``, Overloaded when no thread is left to beat in,
        and LedgerAway when nobody can say whether the claim was written: then it is not ours.
        """
        claim_id = secrets.token_hex(16)
        self._claimants.beat()
        self._claimants.hold(claim_id, _CLAIMING_MS)  # first: who cannot beat must not claim
        taken = None
        try:
            taken = self._taken(proposal_id, digest, operator_id, epoch, claim_id)
        finally:
            if taken is None:
                self._claimants.release(claim_id)
        if taken is None:
            return None
        self._claimants.hold(claim_id, taken.limit_ms)
        return Claim(taken, claim_id, self._claimants.id)

    def start(self, claim: Claim) -> bool:
        """Note that the tool is about to run; False means that it must not: too late, or no longer ours."""
        return self._database.write(lambda connection: self._start(connection, claim))

    def settle(
        self, claim: Claim, *, outcome: Outcome, result: Any = None, error_id: str | None = None
    ) -> Proposal:
        """Write how it ended, and return the row; a truth that comes after *unknown* is flagged as late.

        Settling again changes nothing, so a COMMIT whose answer was lost is settled by doing it again.
        """
        if outcome not in ("ok", "failed"):
            raise ValueError(f"an outcome is ok or failed, not {outcome!r}")
        try:
            stored = None if result is None else strict_json.encode(result)
            ending = {"outcome": outcome, "error_id": error_id, "result": stored}
            return self._twice(lambda connection: self._settle(connection, claim, ending))
        finally:
            self._claimants.release(claim.claim_id)

    def lose(self, claim: Claim, *, error_id: str | None = None) -> Proposal:
        """Give the claim up: nobody can say how it ended. The row is unknown at once, and stays ours to settle late."""
        try:
            return self._twice(lambda connection: self._lose(connection, claim, error_id))
        finally:
            self._claimants.release(claim.claim_id)

    def _taken(
        self, proposal_id: str, digest: str, operator_id: str, epoch: int, claim_id: str
    ) -> Proposal | None:
        try:
            return self._database.write(
                lambda connection: self._take(connection, proposal_id, digest, operator_id, epoch, claim_id)
            )
        except LedgerAway:
            taken = self._reread(claim_id)
            if taken is None:
                raise
            return taken

    def _take(
        self,
        connection: Connection,
        proposal_id: str,
        digest: str,
        operator_id: str,
        epoch: int,
        claim_id: str,
    ) -> Proposal | None:
        _check_epoch(connection, epoch)
        now = standing.lock(self._database, connection, proposal_id)
        is_taken = standing.close(
            connection,
            now,
            proposal_id,
            proposal.c.digest == digest,
            state=State.CLAIMED.value,
            claim_id=claim_id,
            claimant=self._claimants.id,
            claimed_at=now,
            decided_by=operator_id,
        )
        if is_taken:
            self._claimants.touch(connection, now)
        # by the claim's own id: in a second try the first may turn out to have been committed
        taken = standing.first(connection, now, proposal.c.claim_id == claim_id)
        if is_taken and taken:
            self._write_audit(connection, "approved", taken)
        return taken

    def _reread(self, claim_id: str) -> Proposal | None:
        def work(connection: Connection) -> Proposal | None:
            now = standing.read_clock(self._database, connection)
            return standing.first(connection, now, proposal.c.claim_id == claim_id)

        return self._database.read(work)

    def _start(self, connection: Connection, claim: Claim) -> bool:
        now = standing.lock(self._database, connection, claim.proposal.id)
        statement = update(proposal).where(
            proposal.c.claim_id == claim.claim_id,
            proposal.c.state == State.CLAIMED.value,
            proposal.c.started_at.is_(None),
            proposal.c.claimed_at > now - START_MS,
        )
        return connection.execute(statement.values(started_at=now)).rowcount == 1

    def _settle(self, connection: Connection, claim: Claim, ending: dict[str, Any]) -> Proposal:
        now, before = self._own(connection, claim)
        is_answered = before.state is State.EXECUTED and before.truth in _ANSWERED
        if before.state is State.EXECUTED and not is_answered:
            return before
        is_late = is_answered or before.state is State.UNKNOWN
        truth = "late" if is_late else None
        values = {**ending, "state": State.EXECUTED.value, "settled_at": now, "truth": truth}
        if is_answered and before.outcome != ending["outcome"]:
            values["told"] = None  # whoever was told heard what was not so
            debts.correct(connection, before.id)
        settled = self._change(connection, claim, now, values)
        extra = {"outcome": settled.outcome, "answered": before.outcome, "error_id": settled.error_id}
        self._write_audit(connection, "late" if is_late else "executed", settled, **extra)
        return settled

    def _lose(self, connection: Connection, claim: Claim, error_id: str | None) -> Proposal:
        now, before = self._own(connection, claim)
        if before.state is State.EXECUTED:
            return before
        lost = self._change(connection, claim, now, {"claimant": None, "error_id": error_id})
        self._write_audit(connection, "unknown", lost, error_id=error_id)
        return lost

    def _own(self, connection: Connection, claim: Claim) -> tuple[int, Proposal]:
        now = standing.lock(self._database, connection, claim.proposal.id)
        before = standing.first(connection, now, proposal.c.claim_id == claim.claim_id)
        if before is None:
            raise LedgerAway("the claimed proposal is no longer in the ledger")
        return now, before

    def _change(self, connection: Connection, claim: Claim, now: int, values: dict[str, Any]) -> Proposal:
        connection.execute(update(proposal).where(proposal.c.claim_id == claim.claim_id).values(values))
        (changed,) = standing.standing(connection, now, proposal.c.claim_id == claim.claim_id)
        return changed

    def _twice(self, work: Callable[[Connection], Proposal]) -> Proposal:
        try:
            return self._database.write(work)
        except LedgerAway:
            return self._database.write(work)

    def _write_audit(self, connection: Connection, kind: str, row: Proposal, **extra: Any) -> None:
        actor = row.decided_by or ""
        self._audit.append(connection, kind=kind, actor=actor, subject=row.id, data=facts(row, **extra))


def facts(row: Proposal, **extra: Any) -> dict[str, Any]:
    """Return what an audit row says about a proposal: enough to know it by when its row is pruned, nobody's words."""
    said = {"agent": row.agent, "tool": row.tool, "proposer": row.proposer, "digest": row.digest}
    return said | {name: value for name, value in extra.items() if value is not None}


def _check_epoch(connection: Connection, expected: int) -> None:
    """Hold the policy epoch until the transaction ends; a missing row is a moved one."""
    query = select(epoch_row.c.value).where(epoch_row.c.id == POLICY).with_for_update(read=True)
    if connection.execute(query).scalar() != expected:
        raise EpochMoved("the ceiling was changed in the meantime")
