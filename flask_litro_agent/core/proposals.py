"""A proposal: a change that an agent asks for, as one value; and its digests.

The card, the digest and the call are made from the same canonical bytes. A state is stored or derived, never both:

    proposed ──► claimed ──► executed (ok | failed)
        ├──► dismissed                      derived:  expired  = proposed and older than its ttl
        └──► void                                     unknown  = claimed, and nobody can say how it ended
"""

from __future__ import annotations

import enum
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask_litro_agent.contracts import SessionKey

__all__ = [
    "Proposal",
    "ProposalDraft",
    "State",
    "args_digest",
    "digest_of",
    "is_proposal_id",
    "session_digest",
    "sha256_of",
]

_DIGEST_VERSION = 1
_ID = re.compile(r"[0-9A-Za-z_-]{1,32}")


class State(enum.StrEnum):
    """Where a proposal stands; ``EXPIRED`` and ``UNKNOWN`` are derived and never stored."""

    PROPOSED = "proposed"
    CLAIMED = "claimed"
    EXECUTED = "executed"
    DISMISSED = "dismissed"
    VOID = "void"
    EXPIRED = "expired"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalDraft:
    """What the gate records: everything that a card and a call are made from; ``via`` names the token, if any."""

    agent: str
    owner: str
    session: str | None
    turn: str | None
    call_id: str | None
    tool: str
    mode: str
    permission: str
    proposer: str
    arguments: bytes
    summary: str
    preview: Any
    as_of: str | None
    contract_digest: str
    four_eyes: bool
    ttl_ms: int
    limit_ms: int
    made_from: str | None = None
    relation: str | None = None
    labels: Mapping[str, str] | None = None
    filled: Sequence[str] = ()
    via: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A row of the ledger as it stood at ``read_at`` (database time, ms); ``state`` has the derived states too."""

    id: str
    agent: str
    owner: str
    session: str | None
    turn: str | None
    call_id: str | None
    tool: str
    mode: str
    permission: str
    proposer: str
    arguments: bytes
    summary: str
    preview: Any
    as_of: str | None
    contract_digest: str
    args_digest: str
    digest: str
    four_eyes: bool
    ttl_ms: int
    limit_ms: int
    created_at: int
    state: State
    claim_id: str | None
    claimed_at: int | None
    started_at: int | None
    settled_at: int | None
    decided_by: str | None
    note: str | None
    outcome: str | None
    truth: str | None
    reason: str | None
    result: Any
    error_id: str | None
    told: str | None
    made_from: str | None
    relation: str | None
    labels: Mapping[str, str] | None
    filled: Sequence[str]
    heir: str | None
    via: str | None
    session_key: str | None
    read_at: int

    @property
    def input(self) -> Mapping[str, Any]:
        """The canonical arguments as JSON, before the schema loads them."""
        value: Mapping[str, Any] = json.loads(self.arguments)
        return value

    @property
    def expires_at(self) -> int:
        """When it stops being open, in ms of the database's clock."""
        return self.created_at + self.ttl_ms

    @property
    def home(self) -> SessionKey | None:
        """The session that it came from and that is told how it ends; None where there is none, or none any more."""
        if self.session is None or self.session_key is None:
            return None
        return SessionKey(self.agent, self.heir or self.owner, self.session)

    @property
    def is_repeatable(self) -> bool:
        """Whether the same can be proposed anew: it is over, and was not done for sure."""
        return self.state in (State.EXPIRED, State.DISMISSED, State.UNKNOWN)

    @property
    def was_done(self) -> bool:
        """Whether it was carried out: only that can be taken back."""
        return self.state is State.EXECUTED and self.outcome == "ok"

    @property
    def idempotency_key(self) -> str:
        """What the tool hands to the other side: the same for every look at this proposal."""
        return f"litro-{self.id}"


def is_proposal_id(value: object) -> bool:
    """Whether a proposal may have this id: nothing else is looked for."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def args_digest(tool: str, arguments: bytes) -> str:
    """Return the digest by which an open twin is found: equal for equal canonical bytes of one tool."""
    return sha256_of([tool, arguments.decode()])


def digest_of(proposal_id: str, draft: ProposalDraft | Proposal) -> str:
    """Return what the form carries: it covers everything that the card shows and the call runs with."""
    return sha256_of(
        [
            _DIGEST_VERSION,
            proposal_id,
            draft.agent,
            draft.owner,
            draft.session,
            draft.proposer,
            draft.tool,
            draft.contract_digest,
            draft.arguments.decode(),
            draft.preview,
            draft.as_of,
        ]
    )


def session_digest(agent: str, owner: str, session: str) -> str:
    """Return the digest that stands for a session in the ledger."""
    return sha256_of([agent, owner, session])


def sha256_of(value: Any) -> str:
    """Return the SHA-256 of the value's canonical JSON (sorted names, no spaces, UTF-8), in hex."""
    data = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(data.encode()).hexdigest()
