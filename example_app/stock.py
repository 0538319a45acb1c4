"""What lies where: every place's stock of every product, and what runs low; and corrections after a count."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from example_app import journal
from example_app.journal import By

__all__ = ["CITIES", "WAREHOUSES", "Level", "correct", "levels_of", "low"]

#: The warehouses first, then the stores.
CITIES = ("Leipzig", "Rotterdam", "Berlin", "Hamburg", "Munich")
WAREHOUSES = CITIES[:2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The stock of one product in one place; at or below ``reorder_level`` somebody should order."""

    sku: str
    product: str
    city: str
    kind: str
    quantity: int
    reorder_level: int

    @property
    def missing(self) -> int:
        """How many to order: up to three times the reorder level."""
        return max(0, 3 * self.reorder_level - self.quantity)


_LEVEL = """
SELECT stock.sku, product.name || ', ' || product.colour AS product, city, kind, quantity, reorder_level
FROM stock JOIN product USING (sku) JOIN place USING (city)
"""


def levels_of(database: sqlite3.Connection, sku: str, city: str | None = None) -> list[Level]:
    """Return a product's stock, warehouses first; of one city when it is named."""
    rows = database.execute(
        f"{_LEVEL} WHERE stock.sku = ? AND (? IS NULL OR city = ?) ORDER BY kind DESC, city",
        (sku, city, city),
    )
    return [Level(**dict(row)) for row in rows]


def low(database: sqlite3.Connection, city: str) -> list[Level]:
    """Return what is at or below its reorder level in a city, the emptiest first."""
    rows = database.execute(
        f"{_LEVEL} WHERE city = ? AND quantity <= reorder_level"
        " ORDER BY quantity * 1.0 / max(reorder_level, 1), stock.sku",
        (city,),
    )
    return [Level(**dict(row)) for row in rows]


def correct(
    database: sqlite3.Connection, sku: str, city: str, quantity: int, reason: str, by: By
) -> sqlite3.Row:
    """Set what lies in a place to what was counted; return the movement's row."""
    place = (sku, city)
    with journal.writing(database):
        (before,) = database.execute(
            "SELECT quantity FROM stock WHERE sku = ? AND city = ?", place
        ).fetchone()
        values = {"sku": sku, "city": city, "before": before, "after": quantity, "reason": reason}
        if journal.once(database, "stock_movement", by, **values):
            database.execute("UPDATE stock SET quantity = ? WHERE sku = ? AND city = ?", (quantity, *place))
        return journal.row(database, "stock_movement", by.key)
