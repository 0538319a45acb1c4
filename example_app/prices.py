"""What a product costs from now on."""

from __future__ import annotations

import sqlite3

from example_app import journal
from example_app.journal import By

__all__ = ["change"]


def change(database: sqlite3.Connection, sku: str, price_cents: int, by: By) -> sqlite3.Row:
    """Set the price of a product; return the row of the price history."""
    with journal.writing(database):
        (before,) = database.execute("SELECT price_cents FROM product WHERE sku = ?", (sku,)).fetchone()
        if journal.once(database, "price_change", by, sku=sku, before_cents=before, after_cents=price_cents):
            database.execute("UPDATE product SET price_cents = ? WHERE sku = ?", (price_cents, sku))
        return journal.row(database, "price_change", by.key)
