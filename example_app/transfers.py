"""Goods that go from one place of ours to another."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace

from example_app import journal
from example_app.journal import By

__all__ = ["Transfer", "carry_out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """So many pieces of a product, from a city to a city."""

    sku: str
    quantity: int
    source: str
    target: str


def carry_out(database: sqlite3.Connection, transfer: Transfer, by: By) -> bool:
    """Move the goods in the books; False when there is less at the source than that."""
    with journal.writing(database):
        if journal.has(database, "stock_transfer", by.key):
            return True
        if _level(database, transfer.sku, transfer.source) < transfer.quantity:
            return False
        journal.once(
            database,
            "stock_transfer",
            by,
            sku=transfer.sku,
            quantity=transfer.quantity,
            from_city=transfer.source,
            to_city=transfer.target,
        )
        _move(database, transfer, transfer.source, -transfer.quantity, f"to {transfer.target}", by)
        _move(database, transfer, transfer.target, transfer.quantity, f"from {transfer.source}", by)
        return True


def _move(
    database: sqlite3.Connection, transfer: Transfer, city: str, pieces: int, reason: str, by: By
) -> None:
    before = _level(database, transfer.sku, city)
    values = {"sku": transfer.sku, "city": city, "before": before, "after": before + pieces}
    end = replace(by, key=f"{by.key}/{city}")
    journal.once(database, "stock_movement", end, kind="transfer", reason=reason, **values)
    database.execute(
        "UPDATE stock SET quantity = :after WHERE sku = :sku AND city = :city",
        {"after": before + pieces, "sku": transfer.sku, "city": city},
    )


def _level(database: sqlite3.Connection, sku: str, city: str) -> int:
    row = database.execute("SELECT quantity FROM stock WHERE sku = ? AND city = ?", (sku, city)).fetchone()
    return int(row["quantity"])
