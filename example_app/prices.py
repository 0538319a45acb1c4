"""What products cost from now on: one of them, or a whole list at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import replace

from example_app import journal
from example_app.journal import By

__all__ = ["change", "change_all"]


def change(database: sqlite3.Connection, sku: str, price_cents: int, by: By) -> sqlite3.Row:
    """Set the price of a product; return the row of the price history."""
    with journal.writing(database):
        _set(database, sku, price_cents, by)
        return journal.row(database, "price_change", by.key)


def change_all(database: sqlite3.Connection, prices: Mapping[str, int], by: By) -> dict[str, int]:
    """Set all of these prices or none; return what each product cost before, in the order of the list."""
    with journal.writing(database):
        journal.once(database, "price_list", by, products=len(prices))
        each = {sku: replace(by, key=f"{by.key}/{sku}") for sku in prices}
        for sku, who in each.items():
            _set(database, sku, prices[sku], who)
        return {
            sku: journal.row(database, "price_change", who.key)["before_cents"] for sku, who in each.items()
        }


def _set(database: sqlite3.Connection, sku: str, price_cents: int, by: By) -> None:
    (before,) = database.execute("SELECT price_cents FROM product WHERE sku = ?", (sku,)).fetchone()
    if journal.once(database, "price_change", by, sku=sku, before_cents=before, after_cents=price_cents):
        database.execute("UPDATE product SET price_cents = ? WHERE sku = ?", (price_cents, sku))
