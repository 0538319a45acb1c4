"""Who comes back: customers by their rhythm, by what they are worth, and by the quarter in which they came."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import date

__all__ = ["Cohort", "Regular", "Worth", "at_risk", "cohorts", "worth"]

_LEAST = 3  # two orders have one gap: that is no rhythm yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Regular:
    """A customer with a rhythm: the mean number of days between his orders, and how long he has been silent."""

    customer_id: int
    name: str
    email: str
    orders: int
    spent_cents: int
    last_order_on: str
    usual_days: float
    silent_days: int

    @property
    def times(self) -> float:
        """How many of his usual pauses this one is long."""
        return self.silent_days / self.usual_days


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What a customer paid and got back since the first day; ``margin_cents`` is without VAT and purchase prices."""

    customer_id: int
    name: str
    city: str
    country: str
    orders: int
    paid_cents: int
    refund_cents: int
    margin_cents: int
    first_order_on: str
    last_order_on: str

    @property
    def value_cents(self) -> int:
        return self.paid_cents - self.refund_cents


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    """The customers whose first order was in a quarter, and how many ordered again within the days asked for.

    ``is_open`` says that for some of them the days are not over yet.
    """

    quarter: str
    customers: int
    came_back: int
    mean_days: float | None
    is_open: bool


_AT_RISK = """
WITH visit AS (
    SELECT customer_id, placed_on, count(DISTINCT number) AS orders, sum(goods_cents) AS goods_cents
    FROM sale GROUP BY customer_id, placed_on
), rhythm AS (
    SELECT *, julianday(placed_on) - julianday(lag(placed_on) OVER (PARTITION BY customer_id ORDER BY placed_on)) AS gap
    FROM visit
)
SELECT customer.id AS customer_id, name, email, sum(orders) AS orders, sum(goods_cents) AS spent_cents,
       max(placed_on) AS last_order_on, round(avg(gap), 1) AS usual_days,
       CAST(julianday(:today) - julianday(max(placed_on)) AS INTEGER) AS silent_days
FROM rhythm JOIN customer ON customer.id = customer_id
GROUP BY customer.id HAVING count(*) >= :least AND silent_days > :times * avg(gap)
ORDER BY spent_cents DESC, customer.id
"""
_WORTH = """
WITH earned AS (SELECT customer_id, sum(net_cents - cost_cents) AS margin_cents FROM sale GROUP BY customer_id),
     returned AS (
    SELECT customer_id, sum(cents) AS refund_cents FROM (
        SELECT number, refund_cents AS cents FROM return_case UNION ALL SELECT number, amount_cents FROM refund
    ) JOIN orders USING (number) WHERE status <> 'cancelled' GROUP BY customer_id
)
SELECT customer.id AS customer_id, name, city, country, count(*) AS orders, sum(total_cents) AS paid_cents,
       coalesce(refund_cents, 0) AS refund_cents, margin_cents - coalesce(refund_cents, 0) AS margin_cents,
       min(placed_on) AS first_order_on, max(placed_on) AS last_order_on
FROM customer JOIN order_value ON order_value.customer_id = customer.id JOIN earned ON earned.customer_id = customer.id
     LEFT JOIN returned ON returned.customer_id = customer.id
WHERE status <> 'cancelled' AND (:country IS NULL OR country = :country)
GROUP BY customer.id ORDER BY paid_cents - coalesce(refund_cents, 0) DESC, customer.id
"""
_COHORTS = """
WITH numbered AS (
    SELECT customer_id, placed_on, row_number() OVER mine AS place, lead(placed_on) OVER mine AS next_on
    FROM orders WHERE status <> 'cancelled'
    WINDOW mine AS (PARTITION BY customer_id ORDER BY placed_on, number)
), first AS (
    SELECT substr(placed_on, 1, 4) || ' Q' || ((CAST(substr(placed_on, 6, 2) AS INTEGER) + 2) / 3) AS quarter,
           julianday(:today) - julianday(placed_on) AS age, julianday(next_on) - julianday(placed_on) AS gap
    FROM numbered WHERE place = 1
)
SELECT quarter, count(*) AS customers, count(CASE WHEN gap <= :days THEN 1 END) AS came_back,
       round(avg(CASE WHEN gap <= :days THEN gap END), 1) AS mean_days, min(age) < :days AS is_open
FROM first GROUP BY quarter ORDER BY quarter
"""


def at_risk(database: sqlite3.Connection, today: date, times: int = 2) -> list[Regular]:
    """Return regular customers who have been silent for more than ``times`` their usual pause, the best first."""
    rows = database.execute(_AT_RISK, {"today": today.isoformat(), "times": times, "least": _LEAST})
    return [Regular(**dict(row)) for row in rows]


def worth(database: sqlite3.Connection, country: str | None = None) -> list[Worth]:
    """Return everybody who has ordered, the most valuable first."""
    return [Worth(**dict(row)) for row in database.execute(_WORTH, {"country": country})]


def cohorts(database: sqlite3.Connection, today: date, days: int) -> list[Cohort]:
    """Return the quarters in which customers came, the oldest first."""
    rows = database.execute(_COHORTS, {"today": today.isoformat(), "days": days})
    return [Cohort(**{**dict(row), "is_open": bool(row["is_open"])}) for row in rows]
