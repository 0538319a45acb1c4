"""Goods that lie: in stock, and not sold for a long time."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import date, timedelta

__all__ = ["Idle", "unsold"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """A product that nobody bought lately; ``last_sold_on`` is None when nobody ever did."""

    sku: str
    product: str
    pieces: int
    cost_cents: int
    last_sold_on: str | None

    @property
    def tied_up_cents(self) -> int:
        return self.pieces * self.cost_cents


def unsold(
    database: sqlite3.Connection,
    today: date,
    days: int,
    *,
    category: str | None = None,
    city: str | None = None,
) -> list[Idle]:
    """Return what has not been sold for so many days, the most money first; of one place when it is named."""
    rows = database.execute(
        "SELECT sku, name || ', ' || colour AS product, sum(quantity) AS pieces, cost_cents,"
        " (SELECT max(placed_on) FROM sale WHERE sale.sku = product.sku) AS last_sold_on"
        " FROM product JOIN supply USING (sku) JOIN stock USING (sku)"
        " WHERE (:category IS NULL OR category = :category) AND (:city IS NULL OR city = :city)"
        " GROUP BY sku HAVING pieces > 0 AND (last_sold_on IS NULL OR last_sold_on < :since)"
        " ORDER BY pieces * cost_cents DESC, sku",
        {"since": (today - timedelta(days=days)).isoformat(), "category": category, "city": city},
    )
    return [Idle(**dict(row)) for row in rows]
