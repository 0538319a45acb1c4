"""Money that should be here and is not, or is here and should not be."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import date

__all__ = ["KINDS", "Problem", "problems"]

#: What can be wrong with an order's payment, the worst first.
KINDS = ("disputed", "unpaid", "overdue invoice", "paid too little", "not given back")
_INVOICE_DAYS = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An order whose payments do not fit it, and how much money that is about."""

    number: int
    customer: str
    email: str
    placed_on: str
    status: str
    kind: str
    method: str
    total_cents: int
    amount_cents: int
    days: int


_PROBLEMS = """
WITH paid AS (
    SELECT number, max(happened_on) AS last_on,
           sum(CASE WHEN state = 'captured' THEN amount_cents ELSE 0 END) AS captured_cents,
           sum(CASE WHEN state = 'returned' THEN amount_cents ELSE 0 END)
               + (SELECT coalesce(sum(amount_cents), 0) FROM refund WHERE refund.number = payment.number)
               AS returned_cents,
           sum(CASE WHEN state = 'disputed' THEN amount_cents ELSE 0 END) AS disputed_cents,
           sum(CASE WHEN state = 'open' THEN amount_cents ELSE 0 END) AS open_cents,
           (SELECT method FROM payment AS newest WHERE newest.number = payment.number
            ORDER BY id DESC LIMIT 1) AS method
    FROM payment GROUP BY number
), judged AS (
    SELECT number, name AS customer, email, placed_on, status, coalesce(method, 'none') AS method, total_cents,
           CASE WHEN status = 'cancelled' THEN
                    CASE WHEN captured_cents > returned_cents THEN 'not given back' END
                WHEN disputed_cents > 0 THEN 'disputed'
                WHEN open_cents > 0 THEN
                    CASE WHEN julianday(:today) - julianday(placed_on) > :invoice_days THEN 'overdue invoice' END
                WHEN coalesce(captured_cents, 0) = 0 THEN 'unpaid'
                WHEN captured_cents < total_cents THEN 'paid too little'
           END AS kind,
           CASE WHEN status = 'cancelled' THEN captured_cents - returned_cents
                WHEN disputed_cents > 0 THEN disputed_cents
                ELSE total_cents - coalesce(captured_cents, 0)
           END AS amount_cents,
           CAST(julianday(:today) - julianday(coalesce(last_on, placed_on)) AS INTEGER) AS days
    FROM order_value JOIN customer ON customer.id = customer_id LEFT JOIN paid USING (number)
)
SELECT * FROM judged WHERE kind IS NOT NULL
"""


def problems(database: sqlite3.Connection, today: date) -> list[Problem]:
    """Return what is wrong, the worst kind first and in it the most money."""
    rows = database.execute(_PROBLEMS, {"today": today.isoformat(), "invoice_days": _INVOICE_DAYS})
    found = [Problem(**dict(row)) for row in rows]
    return sorted(found, key=lambda each: (KINDS.index(each.kind), -each.amount_cents, each.number))
