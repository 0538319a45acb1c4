"""Money that goes back for an order."""

from __future__ import annotations

import sqlite3

from example_app import journal
from example_app.journal import By

__all__ = ["give", "given", "kept"]


def given(database: sqlite3.Connection, number: int) -> int:
    """Return how many cents have gone back for an order as refunds."""
    row = database.execute("SELECT sum(amount_cents) FROM refund WHERE number = ?", (number,)).fetchone()
    return int(row[0] or 0)


def kept(database: sqlite3.Connection, number: int) -> int:
    """Return how many cents of an order's money we have still: what came, less what went back in any way."""
    row = database.execute(
        "SELECT sum(CASE state WHEN 'captured' THEN amount_cents WHEN 'returned' THEN -amount_cents END)"
        " FROM payment WHERE number = ?",
        (number,),
    ).fetchone()
    return int(row[0] or 0) - given(database, number)


def give(
    database: sqlite3.Connection, number: int, amount_cents: int, reason: str, by: By, *, given_before: int
) -> sqlite3.Row | None:
    """Give money back; return the refund's row, or None when another refund has come in between."""
    with journal.writing(database):
        if not journal.has(database, "refund", by.key) and given(database, number) != given_before:
            return None
        journal.once(database, "refund", by, number=number, amount_cents=amount_cents, reason=reason)
        return journal.row(database, "refund", by.key)
