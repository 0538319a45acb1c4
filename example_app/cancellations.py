"""Orders that are called off before they leave, with all that was paid for them going back."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime

from example_app import journal, refunds
from example_app.journal import By

__all__ = ["CAN_BE", "cancel"]

#: In these states an order has not left the house.
CAN_BE = ("paid", "packed")


def cancel(
    database: sqlite3.Connection, number: int, reason: str, by: By, *, kept_before: int
) -> sqlite3.Row | None:
    """Call an order off and give back what we keep of its money; return the cancellation's row.

    None when the order has left, or when its money is no longer what it was.
    """
    with journal.writing(database):
        if not journal.has(database, "order_cancellation", by.key):
            if refunds.kept(database, number) != kept_before or not _set_cancelled(database, number):
                return None
            journal.once(
                database, "order_cancellation", by, number=number, reason=reason, refunded_cents=kept_before
            )
            if kept_before:
                _give_back(database, number, kept_before)
        return journal.row(database, "order_cancellation", by.key)


def _set_cancelled(database: sqlite3.Connection, number: int) -> bool:
    marks = ", ".join("?" for _ in CAN_BE)
    changed = database.execute(
        f"UPDATE orders SET status = 'cancelled' WHERE number = ? AND status IN ({marks})", (number, *CAN_BE)
    )
    return changed.rowcount == 1


def _give_back(database: sqlite3.Connection, number: int, cents: int) -> None:
    database.execute(
        "INSERT INTO payment (number, method, state, amount_cents, happened_on)"
        " SELECT number, method, 'returned', ?, ? FROM payment WHERE number = ? AND state = 'captured'"
        " ORDER BY id DESC LIMIT 1",
        (cents, datetime.now(UTC).date().isoformat(), number),
    )
