"""Months as the books see them: orders with shipping, the VAT in them, and what went back."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import date

__all__ = ["Month", "Vat", "first_of", "last", "vat"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """``gross_cents`` is goods and shipping with VAT; the values before are None where no order reaches."""

    month: str
    orders: int
    gross_cents: int
    vat_cents: int
    refund_cents: int
    month_before_cents: int | None
    year_before_cents: int | None

    @property
    def net_cents(self) -> int:
        return self.gross_cents - self.vat_cents


@dataclass(frozen=True, slots=True, kw_only=True)
class Vat:
    """The VAT of one country; ``rate`` is in hundredths of a percent."""

    country: str
    rate: int
    orders: int
    gross_cents: int
    vat_cents: int


_TAXED = """
SELECT substr(placed_on, 1, 7) AS month, country, rate, total_cents,
       total_cents - CAST(round(total_cents * 10000.0 / (10000 + rate)) AS INTEGER) AS vat_cents
FROM order_value JOIN customer ON customer.id = customer_id JOIN vat_rate USING (country)
WHERE status <> 'cancelled'
"""
_MONTHS = f"""
WITH RECURSIVE calendar(first) AS (
    SELECT (SELECT min(substr(placed_on, 1, 7)) || '-01' FROM orders)
    UNION ALL SELECT date(first, '+1 month') FROM calendar WHERE date(first, '+1 month') <= :today
), sold AS (
    SELECT month, count(*) AS orders, sum(total_cents) AS gross_cents, sum(vat_cents) AS vat_cents
    FROM ({_TAXED}) GROUP BY month
), returned AS (
    SELECT month, sum(cents) AS refund_cents FROM (
        SELECT substr(opened_on, 1, 7) AS month, refund_cents AS cents FROM return_case
        UNION ALL SELECT substr(made_at, 1, 7), amount_cents FROM refund
    ) GROUP BY month
)
SELECT substr(first, 1, 7) AS month, coalesce(orders, 0) AS orders, coalesce(gross_cents, 0) AS gross_cents,
       coalesce(vat_cents, 0) AS vat_cents, coalesce(refund_cents, 0) AS refund_cents,
       lag(coalesce(gross_cents, 0), 1) OVER year AS month_before_cents,
       lag(coalesce(gross_cents, 0), 12) OVER year AS year_before_cents
FROM calendar LEFT JOIN sold ON sold.month = substr(first, 1, 7)
     LEFT JOIN returned ON returned.month = substr(first, 1, 7)
WHERE first IS NOT NULL
WINDOW year AS (ORDER BY first) ORDER BY first DESC LIMIT :count
"""


def last(database: sqlite3.Connection, today: date, count: int) -> list[Month]:
    """Return so many months, the running one first; each with what was taken one and twelve months before."""
    rows = database.execute(_MONTHS, {"today": today.isoformat(), "count": count})
    return [Month(**dict(row)) for row in rows]


def vat(database: sqlite3.Connection, since: str) -> list[Vat]:
    """Return the VAT from a month (2026-01) on, country by country, the most first."""
    rows = database.execute(
        "SELECT country, rate, count(*) AS orders, sum(total_cents) AS gross_cents, sum(vat_cents) AS vat_cents"
        f" FROM ({_TAXED}) WHERE month >= ? GROUP BY country ORDER BY vat_cents DESC, gross_cents DESC",
        (since,),
    )
    return [Vat(**dict(row)) for row in rows]


def first_of(months: list[Month]) -> str:
    """Return the earliest of some months, of which there must be one."""
    return min(month.month for month in months)
