"""What we order from those who make our goods."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from example_app import journal
from example_app.journal import By

__all__ = ["Purchase", "Supply", "on_the_way", "place", "supply_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """Who makes a product, what a piece costs us, how many are in a box, and how long they take."""

    sku: str
    product: str
    supplier: str
    cost_cents: int
    box: int
    lead_days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """An order to a supplier; ``expected_on`` is when it should arrive."""

    id: int
    supplier: str
    city: str
    cost_cents: int
    expected_on: str


def supply_of(database: sqlite3.Connection, sku: str) -> Supply | None:
    """Return how we get a product; None when nobody supplies it."""
    row = database.execute(
        "SELECT sku, product.name || ', ' || colour AS product, supplier, cost_cents, box, lead_days"
        " FROM supply JOIN product USING (sku) JOIN supplier ON supplier.name = supplier WHERE sku = ?",
        (sku,),
    ).fetchone()
    return Supply(**dict(row)) if row else None


def on_the_way(database: sqlite3.Connection, sku: str, today: date) -> int:
    """Return how many pieces are ordered and not due yet."""
    row = database.execute(
        "SELECT coalesce(sum(quantity), 0) FROM purchase_line JOIN purchase ON purchase.id = purchase_id"
        " WHERE sku = ? AND expected_on >= ?",
        (sku, today.isoformat()),
    ).fetchone()
    return int(row[0])


def place(
    database: sqlite3.Connection, city: str, pieces: Mapping[Supply, int], today: date, by: By
) -> Purchase:
    """Order pieces of products that one supplier makes, to a warehouse of ours."""
    first = next(iter(pieces))
    with journal.writing(database):
        values = {
            "supplier": first.supplier,
            "city": city,
            "cost_cents": sum(quantity * supply.cost_cents for supply, quantity in pieces.items()),
            "expected_on": (today + timedelta(days=first.lead_days)).isoformat(),
        }
        is_new = journal.once(database, "purchase", by, **values)
        row = journal.row(database, "purchase", by.key)
        if is_new:
            database.executemany(
                "INSERT INTO purchase_line VALUES (?, ?, ?, ?)",
                [(row["id"], supply.sku, quantity, supply.cost_cents) for supply, quantity in pieces.items()],
            )
        return Purchase(**{name: row[name] for name in Purchase.__slots__})
