"""What Alembic runs around the revisions: on the connection, and in the transaction, that it is given."""

from __future__ import annotations

from alembic import context

from flask_litro_agent.core.tables import VERSION_TABLE, metadata

__all__ = ["migrate"]


def migrate() -> None:
    """Run the revisions that were asked for."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        version_table=VERSION_TABLE,
    )
    with context.begin_transaction():
        context.run_migrations()


if __name__ == "env_py":  # the name under which Alembic runs this file
    migrate()
