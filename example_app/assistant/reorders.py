"""What to order from the suppliers: how fast a product sells, how long the next ones take, and what still lies here."""

from __future__ import annotations

import math
import sqlite3
from dataclasses import dataclass
from datetime import date, timedelta

__all__ = ["WINDOW", "Reorder", "plan", "suppliers"]

#: So many days say how fast a product sells.
WINDOW = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Reorder:
    """A product that would run out; ``reserve`` is the sum of the reorder levels of every place.

    ``on_the_way`` is ordered already and not due yet.
    """

    sku: str
    product: str
    supplier: str
    lead_days: int
    box: int
    cost_cents: int
    sold: int
    stock: int
    on_the_way: int
    reserve: int
    cover_days: int

    @property
    def days_left(self) -> int | None:
        """For how many days the stock lasts; None when nobody buys it."""
        return self.stock * WINDOW // self.sold if self.sold else None

    @property
    def missing(self) -> int:
        """How many pieces are missing for the time until they come, ``cover_days`` after that, and the reserve."""
        wanted = self.sold * (self.lead_days + self.cover_days) / WINDOW + self.reserve
        return max(0, math.ceil(wanted - self.stock - self.on_the_way - 1e-9))

    @property
    def pieces(self) -> int:
        """How many to order: whole boxes."""
        return math.ceil(self.missing / self.box) * self.box

    @property
    def order_cents(self) -> int:
        return self.pieces * self.cost_cents


_SUPPLIED = """
SELECT sku, product.name || ', ' || colour AS product, supplier, lead_days, box, cost_cents,
       coalesce((SELECT sum(quantity) FROM sale WHERE sale.sku = product.sku AND placed_on > :since), 0) AS sold,
       (SELECT coalesce(sum(line.quantity), 0) FROM purchase_line AS line JOIN purchase ON purchase.id = purchase_id
        WHERE line.sku = product.sku AND expected_on >= :today) AS on_the_way,
       sum(quantity) AS stock, sum(reorder_level) AS reserve, :cover_days AS cover_days
FROM product JOIN supply USING (sku) JOIN supplier ON supplier.name = supplier JOIN stock USING (sku)
WHERE :supplier IS NULL OR supplier = :supplier GROUP BY sku
"""


def plan(
    database: sqlite3.Connection, today: date, *, cover_days: int = 30, supplier: str | None = None
) -> list[Reorder]:
    """Return what to order of the products that sell, first what runs out longest before the next ones come."""
    since = (today - timedelta(days=WINDOW)).isoformat()
    values = {
        "since": since,
        "today": today.isoformat(),
        "cover_days": cover_days,
        "supplier": supplier,
    }
    rows = database.execute(_SUPPLIED, values)
    found = [each for each in (Reorder(**dict(row)) for row in rows) if each.sold and each.missing]
    return sorted(found, key=lambda each: ((each.days_left or 0) - each.lead_days, each.sku))


def suppliers(database: sqlite3.Connection) -> list[str]:
    """Return the names of those who deliver to us."""
    return [row["name"] for row in database.execute("SELECT name FROM supplier ORDER BY name")]
