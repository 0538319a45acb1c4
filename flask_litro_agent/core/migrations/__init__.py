"""The revisions of the ledger's tables, in the form that Alembic reads."""
