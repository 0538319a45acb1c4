"""Who buys: customers by name, city or address, and what they are worth to the shop."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

__all__ = ["Customer", "by_id", "find"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Customer:
    """A customer; ``orders`` and ``spent_cents`` leave out what was cancelled."""

    id: int
    name: str
    email: str
    city: str
    country: str
    member_since: str
    orders: int
    spent_cents: int


_CUSTOMER = """
SELECT customer.*,
       (SELECT count(*) FROM orders WHERE customer_id = customer.id AND status <> 'cancelled') AS orders,
       (SELECT coalesce(sum(quantity * unit_cents), 0) FROM orders JOIN order_line USING (number)
        WHERE customer_id = customer.id AND status <> 'cancelled') AS spent_cents
FROM customer
"""


def by_id(database: sqlite3.Connection, customer_id: int) -> Customer | None:
    """Return the customer with this number."""
    row = database.execute(f"{_CUSTOMER} WHERE customer.id = ?", (customer_id,)).fetchone()
    return Customer(**dict(row)) if row else None


def find(
    database: sqlite3.Connection, text: str = "", *, city: str | None = None, limit: int = 20
) -> list[Customer]:
    """Return customers whose name or address holds every word of the text, the best customers first."""
    words = text.casefold().split()
    rows = database.execute(f"{_CUSTOMER} ORDER BY spent_cents DESC, id")
    found = [Customer(**dict(row)) for row in rows]
    return [customer for customer in found if _fits(customer, words, city)][:limit]


def _fits(customer: Customer, words: list[str], city: str | None) -> bool:
    if city and city.casefold() not in (customer.city.casefold(), customer.country.casefold()):
        return False
    about = f"{customer.name} {customer.email}".casefold()
    return all(word in about for word in words)
