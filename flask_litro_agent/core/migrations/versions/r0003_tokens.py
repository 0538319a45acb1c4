"""What MCP needs: tokens, and by which of them a proposal came in."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

__all__ = ["down_revision", "downgrade", "revision", "upgrade"]

revision = "0003"
down_revision = "0002"

_TEXT = sa.Text().with_variant(mysql.TEXT(collation="utf8mb4_bin"), "mysql", "mariadb")


def _name(length: int) -> Any:
    return sa.String(length).with_variant(mysql.VARCHAR(length, collation="utf8mb4_bin"), "mysql", "mariadb")


def upgrade() -> None:
    """Add a column and a table."""
    op.add_column("litro_proposal", sa.Column("via", _TEXT))
    op.create_table(
        "litro_token",
        sa.Column("id", _name(16), primary_key=True),
        sa.Column("hash", _name(64), nullable=False, unique=True),
        sa.Column("name", _name(80), nullable=False),
        sa.Column("actor", _name(255), nullable=False),
        sa.Column("agent", _name(64), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("revoked_at", sa.BigInteger),
        sa.Column("used_at", sa.BigInteger),
    )
    op.create_index("litro_token_created", "litro_token", ["created_at"])


def downgrade() -> None:
    """Take both away."""
    op.drop_table("litro_token")
    with op.batch_alter_table("litro_proposal") as batch:
        batch.drop_column("via")
