"""Figures for the people who run the shop; cancelled orders never count."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from example_app.periods import Period

__all__ = ["BestSeller", "Returns", "Sales", "best_sellers", "returns", "sales", "sales_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sales:
    """Orders, pieces and the value of the goods, without shipping."""

    orders: int
    pieces: int
    goods_cents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BestSeller:
    sku: str
    product: str
    pieces: int
    goods_cents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Returns:
    """Return cases of a period; ``rate`` is the share of the pieces sold in it, from 0 to 1."""

    cases: int
    rate: float
    refund_cents: int
    states: dict[str, int]
    reasons: dict[str, int]
    products: dict[str, int]


_SOLD = """
FROM orders JOIN order_line USING (number) JOIN product USING (sku)
WHERE status <> 'cancelled' AND placed_on BETWEEN :since AND :until
"""
_SALES = "SELECT count(DISTINCT number) AS orders, coalesce(sum(quantity), 0) AS pieces," + (
    " coalesce(sum(quantity * unit_cents), 0) AS goods_cents"
)


def sales(database: sqlite3.Connection, period: Period) -> Sales:
    """Return what was sold in a period."""
    return Sales(**dict(database.execute(f"{_SALES} {_SOLD}", period.bounds).fetchone()))


def sales_of(database: sqlite3.Connection, period: Period, category: str) -> Sales:
    """Return what was sold of one category."""
    row = database.execute(
        f"{_SALES} {_SOLD} AND category = :category", {**period.bounds, "category": category}
    )
    return Sales(**dict(row.fetchone()))


def best_sellers(
    database: sqlite3.Connection, period: Period, *, category: str | None = None, limit: int = 5
) -> list[BestSeller]:
    """Return the products of which most pieces were sold, the first first."""
    rows = database.execute(
        "SELECT sku, name || ', ' || colour AS product, sum(quantity) AS pieces,"
        f" sum(quantity * unit_cents) AS goods_cents {_SOLD} AND (:category IS NULL OR category = :category)"
        " GROUP BY sku ORDER BY pieces DESC, goods_cents DESC, sku LIMIT :limit",
        {**period.bounds, "category": category, "limit": limit},
    )
    return [BestSeller(**dict(row)) for row in rows]


def returns(database: sqlite3.Connection, period: Period) -> Returns:
    """Return the return cases that were opened in a period, counted by state, reason and product."""
    cases = database.execute(
        "SELECT state, reason, quantity, refund_cents, name || ', ' || colour AS product"
        " FROM return_case JOIN product USING (sku) WHERE opened_on BETWEEN :since AND :until",
        period.bounds,
    ).fetchall()
    sold = sales(database, period).pieces
    return Returns(
        cases=len(cases),
        rate=round(sum(case["quantity"] for case in cases) / sold, 3) if sold else 0.0,
        refund_cents=sum(case["refund_cents"] for case in cases),
        states=_counted(cases, "state"),
        reasons=_counted(cases, "reason"),
        products=_counted(cases, "product"),
    )


def _counted(cases: list[sqlite3.Row], column: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for case in cases:
        counts[case[column]] = counts.get(case[column], 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
