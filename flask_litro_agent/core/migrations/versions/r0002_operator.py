"""What the operator's side keeps: names beside ids, other sessions that listen, messages to send, and usage by day."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

__all__ = ["down_revision", "downgrade", "revision", "upgrade"]

revision = "0002"
down_revision = "0001"

_BYTES = sa.LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql", "mariadb")
_TABLES = ("listener", "delivery", "usage")


def _name(length: int) -> Any:
    return sa.String(length).with_variant(mysql.VARCHAR(length, collation="utf8mb4_bin"), "mysql", "mariadb")


def upgrade() -> None:
    """Add the columns, the indexes of the pages, and three tables."""
    op.add_column("litro_proposal", sa.Column("labels", _BYTES))
    op.add_column("litro_proposal", sa.Column("filled", _BYTES))
    op.add_column("litro_proposal", sa.Column("heir", _name(255)))
    op.create_index("litro_proposal_created", "litro_proposal", ["created_at", "id"])
    op.create_index("litro_proposal_made_from", "litro_proposal", ["made_from"])
    op.create_index("litro_audit_kind", "litro_audit", ["kind", "seq"])
    op.create_index("litro_audit_subject", "litro_audit", ["subject"])
    _make_listeners_and_deliveries()
    _make_usage()


def downgrade() -> None:
    """Take all of it away."""
    for table in reversed(_TABLES):
        op.drop_table(f"litro_{table}")
    op.drop_index("litro_audit_subject", "litro_audit")
    op.drop_index("litro_audit_kind", "litro_audit")
    op.drop_index("litro_proposal_made_from", "litro_proposal")
    op.drop_index("litro_proposal_created", "litro_proposal")
    with op.batch_alter_table("litro_proposal") as batch:
        batch.drop_column("heir")
        batch.drop_column("filled")
        batch.drop_column("labels")


def _make_listeners_and_deliveries() -> None:
    op.create_table(
        "litro_listener",
        sa.Column("proposal", _name(32), primary_key=True),
        sa.Column("session_key", _name(64), primary_key=True),
        sa.Column("agent", _name(64), nullable=False),
        sa.Column("owner", _name(255), nullable=False),
        sa.Column("session", _name(64), nullable=False),
        sa.Column("told", _name(16)),
    )
    op.create_index("litro_listener_session", "litro_listener", ["session_key"])
    op.create_table(
        "litro_delivery",
        sa.Column("id", _name(32), primary_key=True),
        sa.Column("event", _name(32), nullable=False),
        sa.Column("proposal", _name(32), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("due_at", sa.BigInteger),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("failed_at", sa.BigInteger),
        sa.UniqueConstraint("proposal", "event"),
    )
    op.create_index("litro_delivery_due", "litro_delivery", ["due_at"])


def _make_usage() -> None:
    op.create_table(
        "litro_usage",
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("agent", _name(64), primary_key=True),
        sa.Column("actor", _name(255), primary_key=True),
        sa.Column("model", _name(128), primary_key=True),
        sa.Column("turns", sa.BigInteger, nullable=False),
        sa.Column("failed", sa.BigInteger, nullable=False),
        sa.Column("input_tokens", sa.BigInteger, nullable=False),
        sa.Column("output_tokens", sa.BigInteger, nullable=False),
        sa.Column("cached_tokens", sa.BigInteger, nullable=False),
    )
