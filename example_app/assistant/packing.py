"""What waits to be packed or handed over, and what stands in its way."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

__all__ = ["Waiting", "queue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """An order that has not left; ``short`` names what no warehouse has enough of."""

    number: int
    customer: str
    country: str
    placed_on: str
    placed_at: str
    status: str
    pieces: int
    total_cents: int
    days: int
    is_held: bool
    is_unpaid: bool
    short: tuple[str, ...]

    @property
    def obstacles(self) -> tuple[str, ...]:
        """Why it cannot leave now; empty when it can."""
        return tuple(self._obstacles())

    def _obstacles(self) -> Iterator[str]:
        if self.is_held:
            yield "on hold"
        if self.is_unpaid:
            yield "no payment"
        for product in self.short:
            yield f"not enough of {product}"


_QUEUE = """
SELECT number, name AS customer, country, placed_on, placed_at, status, pieces, total_cents,
       CAST(julianday(:today) - julianday(placed_on) AS INTEGER) AS days,
       coalesce((SELECT held FROM order_hold WHERE order_hold.number = order_value.number ORDER BY id DESC LIMIT 1), 0)
           AS is_held,
       NOT EXISTS (SELECT 1 FROM payment WHERE payment.number = order_value.number AND state IN ('captured', 'open'))
           AS is_unpaid
FROM order_value JOIN customer ON customer.id = customer_id
WHERE status IN ('paid', 'packed') ORDER BY placed_on, placed_at, number
"""
_SHORT = """
SELECT number, product.name || ', ' || colour AS product FROM orders JOIN order_line USING (number)
       JOIN product USING (sku)
WHERE status = 'paid' AND quantity > (
    SELECT coalesce(max(stock.quantity), 0) FROM stock JOIN place USING (city)
    WHERE stock.sku = order_line.sku AND kind = 'warehouse'
) ORDER BY number, position
"""


def queue(database: sqlite3.Connection, today: date) -> list[Waiting]:
    """Return every order that has not left, the oldest first; a packed one has its goods already."""
    short: dict[int, list[str]] = {}
    for row in database.execute(_SHORT):
        short.setdefault(row["number"], []).append(row["product"])
    rows = database.execute(_QUEUE, {"today": today.isoformat()}).fetchall()
    return [_waiting(row, short.get(row["number"], [])) for row in rows]


def _waiting(row: sqlite3.Row, short: list[str]) -> Waiting:
    values = dict(row)
    return Waiting(
        **{**values, "is_held": bool(values["is_held"]), "is_unpaid": bool(values["is_unpaid"])},
        short=tuple(short),
    )
