"""What customers send back: what is announced for an order, and its arrival."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from example_app import journal
from example_app.journal import By

__all__ = ["Case", "of_order", "receive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Pieces of one product of an order that come back; ``state`` is opened, received, refunded or declined."""

    id: int
    number: int
    sku: str
    product: str
    quantity: int
    reason: str
    state: str
    opened_on: str


def of_order(database: sqlite3.Connection, number: int) -> list[Case]:
    """Return an order's cases, the oldest first."""
    rows = database.execute(
        "SELECT return_case.id, number, sku, name || ', ' || colour AS product, quantity, reason, state, opened_on"
        " FROM return_case JOIN product USING (sku) WHERE number = ? ORDER BY opened_on, return_case.id",
        (number,),
    )
    return [Case(**dict(row)) for row in rows]


def receive(database: sqlite3.Connection, case: Case, city: str, *, to_shelf: bool, by: By) -> bool:
    """Book a case in, and its pieces onto the shelf when they are as new; False when it is no longer open."""
    with journal.writing(database):
        if journal.has(database, "return_receipt", by.key):
            return True
        booked = database.execute(
            "UPDATE return_case SET state = 'received' WHERE id = ? AND state = 'opened'", (case.id,)
        )
        if booked.rowcount == 0:
            return False
        journal.once(database, "return_receipt", by, case_id=case.id, city=city, to_shelf=to_shelf)
        if to_shelf:
            _put_back(database, case, city, by)
        return True


def _put_back(database: sqlite3.Connection, case: Case, city: str, by: By) -> None:
    place = {"sku": case.sku, "city": city}
    before = database.execute(
        "SELECT quantity FROM stock WHERE sku = :sku AND city = :city", place
    ).fetchone()["quantity"]
    moved = {"before": before, "after": before + case.quantity, "reason": f"return of order {case.number}"}
    journal.once(database, "stock_movement", by, kind="return", **place, **moved)
    database.execute(
        "UPDATE stock SET quantity = :after WHERE sku = :sku AND city = :city", {**place, **moved}
    )
