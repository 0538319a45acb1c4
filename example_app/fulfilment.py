"""What is said about an order on its way to the door: whether it waits, and where it goes."""

from __future__ import annotations

import sqlite3

from example_app import journal
from example_app.journal import By

__all__ = ["address_of", "hold", "is_held", "redirect"]


def is_held(database: sqlite3.Connection, number: int) -> bool:
    """Whether an order is held back for now."""
    row = database.execute(
        "SELECT held FROM order_hold WHERE number = ? ORDER BY id DESC LIMIT 1", (number,)
    ).fetchone()
    return bool(row and row["held"])


def hold(database: sqlite3.Connection, number: int, held: bool, by: By) -> None:
    """Hold an order back, or let it go on."""
    with journal.writing(database):
        journal.once(database, "order_hold", by, number=number, held=held)


def address_of(database: sqlite3.Connection, number: int) -> str:
    """Return where an order goes; KeyError when there is no such order."""
    row = database.execute(
        "SELECT address FROM address_change WHERE number = ? ORDER BY id DESC LIMIT 1", (number,)
    ).fetchone()
    if row is None:
        row = database.execute(
            "SELECT ships_to AS address FROM orders WHERE number = ?", (number,)
        ).fetchone()
    if row is None:
        raise KeyError(number)
    return str(row["address"])


def redirect(database: sqlite3.Connection, number: int, address: str, by: By) -> None:
    """Send an order to another address."""
    with journal.writing(database):
        journal.once(database, "address_change", by, number=number, address=address)
