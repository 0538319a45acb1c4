"""Credit that a customer may spend with us: given as goodwill, and taken back as a whole."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from example_app import journal
from example_app.journal import By

__all__ = ["Credit", "balance", "by_id", "give", "of_customer", "withdraw"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Credit:
    """Money that a customer has with us; withdrawn ones count for nothing."""

    id: int
    customer_id: int
    amount_cents: int
    reason: str
    given_on: str
    withdrawn: bool


_CREDIT = """
SELECT credit.id, customer_id, amount_cents, credit.reason, substr(credit.made_at, 1, 10) AS given_on,
       credit_withdrawal.id IS NOT NULL AS withdrawn
FROM credit LEFT JOIN credit_withdrawal ON credit_id = credit.id
"""


def by_id(database: sqlite3.Connection, number: int) -> Credit | None:
    """Return the credit with this number, also a withdrawn one."""
    row = database.execute(f"{_CREDIT} WHERE credit.id = ?", (number,)).fetchone()
    return _credit(row) if row else None


def of_customer(database: sqlite3.Connection, customer_id: int) -> list[Credit]:
    """Return what a customer has with us, the newest first."""
    rows = database.execute(f"{_CREDIT} WHERE customer_id = ? ORDER BY credit.id DESC", (customer_id,))
    return [credit for credit in map(_credit, rows) if not credit.withdrawn]


def balance(database: sqlite3.Connection, customer_id: int) -> int:
    """Return how many cents a customer has with us."""
    return sum(credit.amount_cents for credit in of_customer(database, customer_id))


def give(
    database: sqlite3.Connection, customer_id: int, amount_cents: int, reason: str, by: By
) -> sqlite3.Row:
    """Give a customer credit; return its row."""
    with journal.writing(database):
        values = {"customer_id": customer_id, "amount_cents": amount_cents, "reason": reason}
        journal.once(database, "credit", by, **values)
        return journal.row(database, "credit", by.key)


def withdraw(database: sqlite3.Connection, number: int, reason: str, by: By) -> bool:
    """Take a credit back; False when somebody else has done that already."""
    with journal.writing(database):
        if journal.has(database, "credit_withdrawal", by.key):
            return True
        credit = by_id(database, number)
        if credit is None or credit.withdrawn:
            return False
        return journal.once(database, "credit_withdrawal", by, credit_id=number, reason=reason)


def _credit(row: sqlite3.Row) -> Credit:
    return Credit(**{**dict(row), "withdrawn": bool(row["withdrawn"])})
