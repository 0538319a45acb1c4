"""The ledger's tables as they were first released."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

__all__ = ["down_revision", "downgrade", "revision", "upgrade"]

revision = "0001"
down_revision = None

_COUNTER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_BYTES = sa.LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql", "mariadb")
_TEXT = sa.Text().with_variant(mysql.TEXT(collation="utf8mb4_bin"), "mysql", "mariadb")
_TABLES = ("proposal", "claimant", "ceiling", "epoch", "audit", "refusal")


def _name(length: int) -> Any:
    return sa.String(length).with_variant(mysql.VARCHAR(length, collation="utf8mb4_bin"), "mysql", "mariadb")


def upgrade() -> None:
    """Make the tables, and the two rows that transactions lock."""
    _make_proposals()
    _make_claimants_and_levels()
    _make_audit()


def downgrade() -> None:
    """Drop the tables and everything in them."""
    for table in reversed(_TABLES):
        op.drop_table(f"litro_{table}")


def _make_proposals() -> None:
    op.create_table(
        "litro_proposal",
        sa.Column("id", _name(32), primary_key=True),
        sa.Column("agent", _name(64), nullable=False),
        sa.Column("owner", _name(255), nullable=False),
        sa.Column("session", _name(64)),
        sa.Column("turn", _name(32)),
        sa.Column("call_id", _name(64)),
        sa.Column("session_key", _name(64)),
        sa.Column("call_key", _name(64), unique=True),
        sa.Column("tool", _name(64), nullable=False),
        sa.Column("mode", _name(8), nullable=False),
        sa.Column("permission", _name(255), nullable=False),
        sa.Column("proposer", _name(255), nullable=False),
        sa.Column("arguments", _BYTES, nullable=False),
        sa.Column("summary", _TEXT, nullable=False),
        sa.Column("preview", _BYTES),
        sa.Column("as_of", _TEXT),
        sa.Column("contract_digest", _name(64), nullable=False),
        sa.Column("args_digest", _name(64), nullable=False),
        sa.Column("digest", _name(64), nullable=False),
        sa.Column("four_eyes", sa.Boolean(), nullable=False),
        sa.Column("ttl_ms", sa.BigInteger(), nullable=False),
        sa.Column("limit_ms", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("state", _name(16), nullable=False),
        sa.Column("open_key", _name(64), unique=True),
        sa.Column("slot_key", _name(80), unique=True),
        sa.Column("claim_id", _name(32), unique=True),
        sa.Column("claimant", _name(32)),
        sa.Column("claimed_at", sa.BigInteger()),
        sa.Column("started_at", sa.BigInteger()),
        sa.Column("settled_at", sa.BigInteger()),
        sa.Column("decided_by", _name(255)),
        sa.Column("note", _TEXT),
        sa.Column("outcome", _name(16)),
        sa.Column("truth", _name(16)),
        sa.Column("reason", _name(64)),
        sa.Column("result", _BYTES),
        sa.Column("error_id", _name(16)),
        sa.Column("told", _name(16)),
        sa.Column("made_from", _name(32)),
        sa.Column("relation", _name(16)),
    )
    op.create_index("litro_proposal_session", "litro_proposal", ["session_key"])
    op.create_index("litro_proposal_state", "litro_proposal", ["state", "created_at"])
    op.create_index("litro_proposal_args", "litro_proposal", ["args_digest", "settled_at"])


def _make_claimants_and_levels() -> None:
    op.create_table(
        "litro_claimant",
        sa.Column("id", _name(32), primary_key=True),
        sa.Column("host", _name(255), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("beat_at", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "litro_ceiling",
        sa.Column("scope", _name(160), primary_key=True),
        sa.Column("level", _name(8), nullable=False),
        sa.Column("changed_by", _name(255), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
    )
    epoch = op.create_table(
        "litro_epoch",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
    )
    op.bulk_insert(epoch, [{"id": 1, "value": 0}, {"id": 2, "value": 0}])


def _make_audit() -> None:
    op.create_table(
        "litro_audit",
        sa.Column("seq", _COUNTER, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kind", _name(32), nullable=False),
        sa.Column("actor", _name(255), nullable=False),
        sa.Column("subject", _name(160), nullable=False),
        sa.Column("data", _BYTES, nullable=False),
        sa.Column("previous", _name(64), nullable=False),
        sa.Column("hash", _name(64), nullable=False, unique=True),
    )
    op.create_table(
        "litro_refusal",
        sa.Column("id", _COUNTER, primary_key=True, autoincrement=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("agent", _name(64), nullable=False),
        sa.Column("actor", _name(255), nullable=False),
        sa.Column("session", _name(64)),
        sa.Column("tool", _name(80), nullable=False),
        sa.Column("origin", _name(16), nullable=False),
        sa.Column("code", _name(32), nullable=False),
    )
