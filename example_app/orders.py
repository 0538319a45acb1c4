"""Orders with their lines, and the parcels that carry them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

__all__ = ["STATUSES", "Line", "Order", "Shipment", "by_number", "find", "late", "of_customer"]

STATUSES = ("paid", "packed", "shipped", "delivered", "cancelled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    sku: str
    product: str
    quantity: int
    unit_cents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipment:
    """A parcel; ``delivered_on`` is None while it travels."""

    number: int
    carrier: str
    tracking_code: str
    shipped_on: str
    expected_on: str
    delivered_on: str | None
    last_seen: str

    def is_late(self, today: date) -> bool:
        """Whether it travels still and should have arrived before today."""
        return self.delivered_on is None and self.expected_on < today.isoformat()


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An order as its customer sees it; ``total_cents`` is goods and shipping."""

    number: int
    customer_id: int
    customer: str
    city: str
    placed_on: str
    status: str
    shipping_cents: int
    lines: tuple[Line, ...]
    shipment: Shipment | None

    @property
    def total_cents(self) -> int:
        return self.shipping_cents + sum(line.quantity * line.unit_cents for line in self.lines)


_ORDER = """
SELECT number, customer_id, name AS customer, city, placed_on, status, shipping_cents
FROM orders JOIN customer ON customer.id = customer_id
"""


def by_number(database: sqlite3.Connection, number: int) -> Order | None:
    """Return the order with this number."""
    row = database.execute(f"{_ORDER} WHERE number = ?", (number,)).fetchone()
    return _order(database, row) if row else None


def of_customer(database: sqlite3.Connection, customer_id: int, limit: int = 20) -> list[Order]:
    """Return a customer's orders, newest first."""
    rows = database.execute(
        f"{_ORDER} WHERE customer_id = ? ORDER BY placed_on DESC, number DESC LIMIT ?", (customer_id, limit)
    )
    return [_order(database, row) for row in rows.fetchall()]


def find(
    database: sqlite3.Connection,
    *,
    statuses: Sequence[str] = (),
    customer: str | None = None,
    city: str | None = None,
    since: date | None = None,
    until: date | None = None,
    min_cents: int | None = None,
    limit: int = 20,
) -> tuple[list[Order], int]:
    """Return the newest orders that fit, and how many fit in all; ``until`` is inclusive."""
    rows = database.execute(
        f"{_ORDER} WHERE (:since IS NULL OR placed_on >= :since) AND (:until IS NULL OR placed_on <= :until)"
        " AND (:city IS NULL OR city = :city COLLATE NOCASE) ORDER BY placed_on DESC, number DESC",
        {"since": _iso(since), "until": _iso(until), "city": city},
    )
    words = (customer or "").casefold().split()
    chosen = [
        row
        for row in rows.fetchall()
        if (not statuses or row["status"] in statuses)
        and all(word in row["customer"].casefold() for word in words)
    ]
    found = [_order(database, row) for row in chosen]
    found = [order for order in found if order.total_cents >= (min_cents or 0)]
    return found[:limit], len(found)


def late(database: sqlite3.Connection, today: date) -> list[Order]:
    """Return orders whose parcel should have arrived before today, the longest overdue first."""
    rows = database.execute(
        "SELECT number FROM shipment WHERE delivered_on IS NULL AND expected_on < ? ORDER BY expected_on",
        (today.isoformat(),),
    )
    found = (by_number(database, row["number"]) for row in rows.fetchall())
    return [order for order in found if order is not None]


def _order(database: sqlite3.Connection, row: sqlite3.Row) -> Order:
    lines = database.execute(
        "SELECT sku, name || ', ' || colour AS product, quantity, unit_cents"
        " FROM order_line JOIN product USING (sku) WHERE number = ? ORDER BY position",
        (row["number"],),
    )
    shipment = database.execute("SELECT * FROM shipment WHERE number = ?", (row["number"],)).fetchone()
    return Order(
        **dict(row),
        lines=tuple(Line(**dict(line)) for line in lines),
        shipment=Shipment(**dict(shipment)) if shipment else None,
    )


def _iso(day: date | None) -> str | None:
    return day.isoformat() if day else None
