"""What happened to the stock beside selling: deliveries, counts, damages, transfers and goods that came back."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from example_app.periods import Period

__all__ = ["KINDS", "Loss", "Movement", "by_kind", "losses", "of_product"]

KINDS = ("count", "delivery", "damage", "transfer", "return")


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """One change of one shelf; ``sold_until`` is what left it between this change and the next, or now."""

    city: str
    kind: str
    reason: str
    before: int
    after: int
    sold_until: int
    made_on: str
    asked_by: str
    approved_by: str

    @property
    def difference(self) -> int:
        return self.after - self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What counts and damages took from a product in one place, what counts gave back, and what it cost us."""

    sku: str
    product: str
    city: str
    missing: int
    damaged: int
    found: int
    cost_cents: int

    @property
    def pieces(self) -> int:
        return self.missing + self.damaged - self.found

    @property
    def lost_cents(self) -> int:
        return self.pieces * self.cost_cents


_HISTORY = """
SELECT stock_movement.city, kind, reason, before, after,
       after - coalesce(lead(before) OVER (PARTITION BY stock_movement.city ORDER BY stock_movement.id), quantity)
           AS sold_until,
       substr(made_at, 1, 10) AS made_on, coalesce(asker.name, asked_by) AS asked_by,
       coalesce(approver.name, approved_by) AS approved_by
FROM stock_movement JOIN stock USING (sku, city)
     LEFT JOIN account AS asker ON 'account:' || asker.id = asked_by
     LEFT JOIN account AS approver ON 'account:' || approver.id = approved_by
WHERE sku = :sku AND (:city IS NULL OR stock_movement.city = :city) ORDER BY stock_movement.id DESC
"""
_LOSSES = """
SELECT sku, name || ', ' || colour AS product, city, cost_cents,
       sum(CASE WHEN kind = 'count' AND after < before THEN before - after ELSE 0 END) AS missing,
       sum(CASE WHEN kind = 'damage' THEN before - after ELSE 0 END) AS damaged,
       sum(CASE WHEN kind = 'count' AND after > before THEN after - before ELSE 0 END) AS found
FROM stock_movement JOIN product USING (sku) JOIN supply USING (sku)
WHERE kind IN ('count', 'damage') AND substr(made_at, 1, 10) BETWEEN :since AND :until
      AND (:city IS NULL OR city = :city)
GROUP BY sku, city
"""


def of_product(database: sqlite3.Connection, sku: str, city: str | None = None) -> list[Movement]:
    """Return what happened to a product, the newest first; in one place when it is named."""
    return [Movement(**dict(row)) for row in database.execute(_HISTORY, {"sku": sku, "city": city})]


def by_kind(moved: list[Movement]) -> dict[str, int]:
    """Return by how many pieces each kind of movement changed the stock, those that happened."""
    sums = {kind: sum(movement.difference for movement in moved if movement.kind == kind) for kind in KINDS}
    return {kind: pieces for kind, pieces in sums.items() if any(each.kind == kind for each in moved)}


def losses(database: sqlite3.Connection, period: Period, city: str | None = None) -> list[Loss]:
    """Return where goods went missing in a period, the most money first; what was found again is taken off."""
    rows = database.execute(_LOSSES, {**period.bounds, "city": city})
    found = [Loss(**dict(row)) for row in rows]
    return sorted(
        (loss for loss in found if loss.pieces > 0), key=lambda loss: (-loss.lost_cents, loss.sku, loss.city)
    )
