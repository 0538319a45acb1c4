"""The ledger's tables, and what a site's own migrations need to keep away from them.

All times are whole milliseconds since the Unix epoch, by the database's clock. Digests are SHA-256 in hex. The schema
is changed by the revisions in ``core/migrations`` and nowhere else.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
    insert,
)
from sqlalchemy.dialects import mysql

__all__ = [
    "PREFIX",
    "VERSION_TABLE",
    "audit",
    "ceiling",
    "claimant",
    "delivery",
    "epoch",
    "include_object",
    "listener",
    "metadata",
    "proposal",
    "refusal",
    "token",
    "usage",
]

PREFIX = "litro_"
VERSION_TABLE = f"{PREFIX}alembic_version"

metadata = MetaData()

_COUNTER = BigInteger().with_variant(Integer(), "sqlite")
_TEXT = Text().with_variant(mysql.TEXT(collation="utf8mb4_bin"), "mysql", "mariadb")
_BYTES = LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql", "mariadb")


def _name(length: int) -> Any:
    """Text that two values share only when they are equal byte for byte, also in MySQL."""
    return String(length).with_variant(mysql.VARCHAR(length, collation="utf8mb4_bin"), "mysql", "mariadb")


proposal = Table(
    f"{PREFIX}proposal",
    metadata,
    Column("id", _name(32), primary_key=True),
    Column("agent", _name(64), nullable=False),
    Column("owner", _name(255), nullable=False),
    Column("session", _name(64)),
    Column("turn", _name(32)),
    Column("call_id", _name(64)),
    Column("session_key", _name(64)),  # digest of the session that is told; none when it is deleted
    Column(
        "call_key", _name(64), unique=True
    ),  # digest of session, turn and call: recording twice makes one row
    Column("tool", _name(64), nullable=False),
    Column("mode", _name(8), nullable=False),
    Column("permission", _name(255), nullable=False),
    Column("proposer", _name(255), nullable=False),
    Column("arguments", _BYTES, nullable=False),  # the canonical bytes
    Column("summary", _TEXT, nullable=False),
    Column("preview", _BYTES),
    Column("as_of", _TEXT),
    Column("contract_digest", _name(64), nullable=False),
    Column("args_digest", _name(64), nullable=False),
    Column("digest", _name(64), nullable=False),
    Column("four_eyes", Boolean, nullable=False),
    Column("ttl_ms", BigInteger, nullable=False),
    Column("limit_ms", BigInteger, nullable=False),  # how long the tool may run once it is claimed
    Column("created_at", BigInteger, nullable=False),
    Column("state", _name(16), nullable=False),
    Column("open_key", _name(64), unique=True),  # the args_digest while open: no second card
    Column("slot_key", _name(80), unique=True),  # scope and place while open: no flood
    Column("claim_id", _name(32), unique=True),
    Column("claimant", _name(32)),
    Column("claimed_at", BigInteger),
    Column("started_at", BigInteger),
    Column("settled_at", BigInteger),
    Column("decided_by", _name(255)),
    Column("note", _TEXT),
    Column("outcome", _name(16)),  # ok or failed, once executed
    Column(
        "truth", _name(16)
    ),  # who knew the outcome, when it was not the claimant: operator, reconcile, late
    Column("reason", _name(64)),  # why it is void
    Column("result", _BYTES),
    Column("error_id", _name(16)),
    Column("told", _name(16)),  # the last state that the session's log was told
    Column("made_from", _name(32)),  # the proposal that this one repeats or reverses
    Column("relation", _name(16)),  # again or reverse
    Column("labels", _BYTES),  # what the tool calls the things that its arguments name, by field
    Column("filled", _BYTES),  # the fields that the model left out and the schema filled in
    Column("heir", _name(255)),  # whose the session is since it was handed over
    Column("via", _TEXT),  # the token by which it came in, where it did not come from a session
)
Index(f"{PREFIX}proposal_session", proposal.c.session_key)
Index(f"{PREFIX}proposal_state", proposal.c.state, proposal.c.created_at)
Index(f"{PREFIX}proposal_args", proposal.c.args_digest, proposal.c.settled_at)
Index(f"{PREFIX}proposal_created", proposal.c.created_at, proposal.c.id)
Index(f"{PREFIX}proposal_made_from", proposal.c.made_from)

claimant = Table(
    f"{PREFIX}claimant",
    metadata,
    Column("id", _name(32), primary_key=True),
    Column("host", _name(255), nullable=False),
    Column("pid", Integer, nullable=False),
    Column("beat_at", BigInteger, nullable=False),
)

ceiling = Table(
    f"{PREFIX}ceiling",
    metadata,
    Column("scope", _name(160), primary_key=True),  # "site", "agent:<name>", "tool:<agent>.<name>"
    Column("level", _name(8), nullable=False),
    Column("changed_by", _name(255), nullable=False),
    Column("changed_at", BigInteger, nullable=False),
)

#: Two rows that transactions lock: the policy's epoch, and the number of audit rows.
epoch = Table(
    f"{PREFIX}epoch",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("value", BigInteger, nullable=False),
)
POLICY, AUDIT = 1, 2


@event.listens_for(epoch, "after_create")
def _two_rows(target: Table, connection: Connection, **options: Any) -> None:
    connection.execute(insert(epoch), [{"id": POLICY, "value": 0}, {"id": AUDIT, "value": 0}])


audit = Table(
    f"{PREFIX}audit",
    metadata,
    Column("seq", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("kind", _name(32), nullable=False),
    Column("actor", _name(255), nullable=False),
    Column("subject", _name(160), nullable=False),
    Column("data", _BYTES, nullable=False),  # canonical JSON
    Column("previous", _name(64), nullable=False),
    Column("hash", _name(64), nullable=False, unique=True),
)

Index(f"{PREFIX}audit_kind", audit.c.kind, audit.c.seq)
Index(f"{PREFIX}audit_subject", audit.c.subject)

refusal = Table(
    f"{PREFIX}refusal",
    metadata,
    Column("id", _COUNTER, primary_key=True, autoincrement=True),
    Column("at", BigInteger, nullable=False),
    Column("agent", _name(64), nullable=False),
    Column("actor", _name(255), nullable=False),
    Column("session", _name(64)),
    Column("tool", _name(80), nullable=False),
    Column("origin", _name(16), nullable=False),
    Column("code", _name(32), nullable=False),
)

#: Other sessions that were shown an open proposal: each is told how it ended.
listener = Table(
    f"{PREFIX}listener",
    metadata,
    Column("proposal", _name(32), primary_key=True),
    Column("session_key", _name(64), primary_key=True),
    Column("agent", _name(64), nullable=False),
    Column("owner", _name(255), nullable=False),
    Column("session", _name(64), nullable=False),
    Column("told", _name(16)),
)
Index(f"{PREFIX}listener_session", listener.c.session_key)

#: Messages to the webhook's receiver.
delivery = Table(
    f"{PREFIX}delivery",
    metadata,
    Column("id", _name(32), primary_key=True),
    Column("event", _name(32), nullable=False),
    Column("proposal", _name(32), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("due_at", BigInteger),  # none once it is over
    Column("attempts", Integer, nullable=False),
    Column("failed_at", BigInteger),
    UniqueConstraint("proposal", "event"),
)
Index(f"{PREFIX}delivery_due", delivery.c.due_at)

#: What turns used, summed up by day (UTC, days since the epoch).
usage = Table(
    f"{PREFIX}usage",
    metadata,
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("agent", _name(64), primary_key=True),
    Column("actor", _name(255), primary_key=True),
    Column("model", _name(128), primary_key=True),
    Column("turns", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cached_tokens", BigInteger, nullable=False),
)

#: What lets a person's other programs in over MCP; the secret itself is nowhere.
token = Table(
    f"{PREFIX}token",
    metadata,
    Column("id", _name(16), primary_key=True),
    Column("hash", _name(64), nullable=False, unique=True),  # SHA-256 of the secret
    Column("name", _name(80), nullable=False),
    Column("actor", _name(255), nullable=False),
    Column("agent", _name(64), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
    Column("used_at", BigInteger),
)
Index(f"{PREFIX}token_created", token.c.created_at)


def include_object(object: Any, name: str | None, type_: str, reflected: bool, compare_to: Any) -> bool:
    """Return False for our tables and what hangs on them: an Alembic ``include_object`` for a site's own migrations."""
    table = name if type_ == "table" else getattr(getattr(object, "table", None), "name", None)
    return not (table or "").startswith(PREFIX)
