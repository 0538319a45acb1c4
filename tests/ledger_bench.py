"""A ledger to experiment on, and drafts for it."""

from __future__ import annotations

import itertools
import json
from typing import Any

from flask_litro_agent.core.audit import Audit
from flask_litro_agent.core.claims import Claim
from flask_litro_agent.core.database import Database
from flask_litro_agent.core.ledger import Ledger, Recorded
from flask_litro_agent.core.proposals import Proposal, ProposalDraft, session_digest

__all__ = ["LIMIT", "OPERATOR", "SESSION_KEY", "TTL", "LedgerBench", "draft"]

OPERATOR = "operator-1"
TTL = 300_000
LIMIT = 60_000
SESSION_KEY = session_digest("desk", "7", "s1")


def draft(arguments: Any = None, **changes: Any) -> ProposalDraft:
    """Return a draft of a refund; ``arguments`` any JSON value, ``changes`` fields of the draft."""
    values: dict[str, Any] = {
        "agent": "desk",
        "owner": "7",
        "session": "s1",
        "turn": None,
        "call_id": None,
        "tool": "refund",
        "mode": "propose",
        "permission": "refunds:edit",
        "proposer": "7",
        "arguments": json.dumps({"order": 1} if arguments is None else arguments, sort_keys=True).encode(),
        "summary": "refund order 1",
        "preview": None,
        "as_of": None,
        "contract_digest": "c" * 64,
        "four_eyes": False,
        "ttl_ms": TTL,
        "limit_ms": LIMIT,
    }
    return ProposalDraft(**values | changes)


class LedgerBench:
    """A ledger on one database, with shorthands for what tests do most."""

    def __init__(self, database: Database, **options: Any) -> None:
        self.database = database
        self.audit = Audit(database)
        self.ledger = Ledger(database, self.audit, **options)
        self._numbers = itertools.count(1)

    def propose(self, arguments: Any = None, **changes: Any) -> Proposal:
        """Record a new proposal; without arguments, ones that no other has."""
        given = {"number": next(self._numbers)} if arguments is None else arguments
        recorded = self.ledger.record(draft(given, **changes))
        assert isinstance(recorded, Recorded), recorded
        assert recorded.is_new
        return recorded.proposal

    def claim(self, proposal: Proposal, *, epoch: int = 0) -> Claim | None:
        return self.ledger.claim(proposal.id, proposal.digest, operator_id=OPERATOR, epoch=epoch)

    def claimed(self, **changes: Any) -> Claim:
        """Return the claim of a new proposal."""
        claim = self.claim(self.propose(**changes))
        assert claim is not None
        return claim

    def now(self, proposal: Proposal) -> Proposal:
        """Return the proposal as it stands now."""
        found = self.ledger.get(proposal.id)
        assert found is not None
        return found

    def dismiss(self, proposal: Proposal, note: str | None = "no") -> Proposal | None:
        return self.ledger.dismiss(proposal.id, proposal.digest, operator_id=OPERATOR, note=note)

    def answer(self, proposal: Proposal, *, happened: bool) -> Proposal | None:
        return self.ledger.answer(proposal.id, happened=happened, operator_id="operator-2", note="I looked")

    def audited(self) -> list[tuple[str, str, str]]:
        """Return kind, actor and subject of the audit's rows, and check the chain on the way."""
        assert self.audit.verify().faults == ()
        return [(row.kind, row.actor, row.subject) for row in self.audit.rows()]
