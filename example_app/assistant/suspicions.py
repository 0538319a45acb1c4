"""Orders that somebody should look at before they leave: each sign is a query, and an order may show several."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from example_app.periods import Period

__all__ = ["SIGNS", "Suspicion", "orders"]

#: Each sign, what it says about an order, and how much it weighs.
SIGNS: dict[str, int] = {
    "earlier dispute": 3,
    "high first order": 3,
    "failed payments": 2,
    "address of another customer": 2,
    "many orders at once": 2,
    "far above the usual value": 1,
    "address changed": 1,
}
_HIGH_CENTS = 50_000
_FAILED = 2
_AT_ONCE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """An order with the signs that it shows, the heaviest first."""

    number: int
    customer: str
    placed_on: str
    status: str
    total_cents: int
    signs: tuple[str, ...]

    @property
    def weight(self) -> int:
        return sum(SIGNS[sign] for sign in self.signs)


_ORDERS = """
WITH mine AS (
    SELECT order_value.*, name AS customer, substr(ships_to, instr(ships_to, ', ') + 2) AS door,
           row_number() OVER history AS place,
           count(*) OVER (PARTITION BY customer_id, substr(ships_to, instr(ships_to, ', ') + 2)) AS at_door,
           avg(total_cents) OVER (history ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS usual_cents,
           (SELECT count(*) FROM orders AS near WHERE near.customer_id = order_value.customer_id
            AND near.placed_on BETWEEN date(order_value.placed_on, '-1 day') AND order_value.placed_on) AS at_once
    FROM order_value JOIN customer ON customer.id = customer_id
    WINDOW history AS (PARTITION BY customer_id ORDER BY placed_on, number)
)
SELECT number, customer, placed_on, status, total_cents,
       place = 1 AND total_cents >= :high_cents AS "high first order",
       coalesce(total_cents >= 3 * usual_cents AND total_cents >= :high_cents, 0) AS "far above the usual value",
       at_once >= :at_once AS "many orders at once",
       (SELECT count(*) FROM payment WHERE payment.number = mine.number AND state = 'failed') >= :failed
           AS "failed payments",
       EXISTS (SELECT 1 FROM payment JOIN orders USING (number) WHERE state = 'disputed'
               AND orders.customer_id = mine.customer_id AND orders.number < mine.number) AS "earlier dispute",
       EXISTS (SELECT 1 FROM mine AS other WHERE other.door = mine.door AND other.customer_id <> mine.customer_id
               GROUP BY other.customer_id HAVING count(*) > mine.at_door) AS "address of another customer",
       EXISTS (SELECT 1 FROM address_change WHERE address_change.number = mine.number) AS "address changed"
FROM mine WHERE placed_on BETWEEN :since AND :until
"""


def orders(database: sqlite3.Connection, period: Period) -> list[Suspicion]:
    """Return the orders of a period that show a sign, the most suspicious first."""
    limits = {"high_cents": _HIGH_CENTS, "failed": _FAILED, "at_once": _AT_ONCE}
    rows = database.execute(_ORDERS, {**period.bounds, **limits}).fetchall()
    found = [_suspicion(row) for row in rows if any(row[sign] for sign in SIGNS)]
    return sorted(found, key=lambda each: (-each.weight, -each.total_cents, each.number))


def _suspicion(row: sqlite3.Row) -> Suspicion:
    facts = {name: row[name] for name in ("number", "customer", "placed_on", "status", "total_cents")}
    return Suspicion(**facts, signs=tuple(sign for sign in SIGNS if row[sign]))
