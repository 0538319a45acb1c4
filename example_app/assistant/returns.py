"""How much of what was sold comes back, product by product."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from example_app.assistant.shares import percent
from example_app.periods import Period

__all__ = ["Rate", "rates", "whole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """The pieces of a period's orders, those of them that came back since, why most did, and what we gave back."""

    sku: str
    product: str
    sold: int
    returned: int
    refund_cents: int
    main_reason: str | None

    @property
    def percent(self) -> float:
        return percent(self.returned, self.sold)


_RATES = """
WITH returned AS (
    SELECT number, sku, sum(quantity) AS pieces, sum(refund_cents) AS refund_cents FROM return_case GROUP BY number, sku
), reasons AS (
    SELECT return_case.sku, reason,
           row_number() OVER (PARTITION BY return_case.sku ORDER BY sum(return_case.quantity) DESC, reason) AS place
    FROM return_case JOIN sale USING (number, sku) WHERE placed_on BETWEEN :since AND :until
    GROUP BY return_case.sku, reason
)
SELECT sale.sku, product, sum(quantity) AS sold, coalesce(sum(pieces), 0) AS returned,
       coalesce(sum(refund_cents), 0) AS refund_cents,
       (SELECT reason FROM reasons WHERE reasons.sku = sale.sku AND place = 1) AS main_reason
FROM sale LEFT JOIN returned ON returned.number = sale.number AND returned.sku = sale.sku
WHERE placed_on BETWEEN :since AND :until AND (:category IS NULL OR category = :category)
GROUP BY sale.sku
"""


def rates(database: sqlite3.Connection, period: Period, category: str | None = None) -> list[Rate]:
    """Return every product that was sold, the highest rate first."""
    rows = database.execute(_RATES, {**period.bounds, "category": category})
    found = [Rate(**dict(row)) for row in rows]
    return sorted(found, key=lambda rate: (-rate.returned / rate.sold, -rate.returned, rate.sku))


def whole(found: list[Rate]) -> Rate:
    """Return the sum of all."""
    return Rate(
        sku="",
        product="all",
        sold=sum(rate.sold for rate in found),
        returned=sum(rate.returned for rate in found),
        refund_cents=sum(rate.refund_cents for rate in found),
        main_reason=None,
    )
