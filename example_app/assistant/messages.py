"""What customers wrote to us, and how long they wait for an answer."""

from __future__ import annotations

import sqlite3
import statistics
from dataclasses import dataclass
from datetime import date

from example_app.periods import Period

__all__ = ["PROMISED_DAYS", "Message", "answer_days", "unanswered"]

#: An answer is promised by the next day but one.
PROMISED_DAYS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    id: int
    customer_id: int
    customer: str
    email: str
    order_number: int | None
    order_status: str | None
    subject: str
    text: str
    received_on: str
    days: int

    @property
    def is_overdue(self) -> bool:
        return self.days > PROMISED_DAYS


_UNANSWERED = """
SELECT message.id, message.customer_id, name AS customer, email, message.number AS order_number,
       status AS order_status, subject, text, received_on,
       CAST(julianday(:today) - julianday(received_on) AS INTEGER) AS days
FROM message JOIN customer ON customer.id = message.customer_id LEFT JOIN orders ON orders.number = message.number
WHERE answered_on IS NULL ORDER BY received_on, message.id
"""


def unanswered(database: sqlite3.Connection, today: date) -> list[Message]:
    """Return every message without an answer, the oldest first."""
    return [Message(**dict(row)) for row in database.execute(_UNANSWERED, {"today": today.isoformat()})]


def answer_days(database: sqlite3.Connection, period: Period) -> float | None:
    """Return the median of the days until an answer, for messages of a period; None when none was answered."""
    rows = database.execute(
        "SELECT julianday(answered_on) - julianday(received_on) AS days FROM message"
        " WHERE answered_on IS NOT NULL AND received_on BETWEEN :since AND :until",
        period.bounds,
    )
    days = [row["days"] for row in rows]
    return statistics.median(days) if days else None
