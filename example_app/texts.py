"""What the shop says about a product."""

from __future__ import annotations

import sqlite3

from example_app import journal
from example_app.journal import By

__all__ = ["describe"]


def describe(database: sqlite3.Connection, sku: str, text: str, by: By) -> sqlite3.Row:
    """Put a text in the place of a product's description; return the row that says what was there before."""
    with journal.writing(database):
        (before,) = database.execute("SELECT description FROM product WHERE sku = ?", (sku,)).fetchone()
        if journal.once(database, "text_change", by, sku=sku, before=before, after=text):
            database.execute("UPDATE product SET description = ? WHERE sku = ?", (text, sku))
        return journal.row(database, "text_change", by.key)
