"""The shop's promises: opening hours, shipping and what comes back."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

__all__ = [
    "COUNTRIES",
    "STORES",
    "TOPICS",
    "WEEKDAYS",
    "Hours",
    "Policy",
    "Rate",
    "address_of",
    "hours",
    "policy",
    "rate_to",
    "rates",
]

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
STORES = ("Berlin", "Hamburg", "Munich")
COUNTRIES = ("Germany", "Austria", "Netherlands", "France", "Switzerland", "Norway")
TOPICS = ("general", "worn", "tents", "sleeping-bags", "sale", "warranty")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hours:
    """A store's hours on one weekday; ``opens`` and ``closes`` are None when it stays closed."""

    weekday: str
    opens: str | None
    closes: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """What a parcel to a country costs; from ``free_from_cents`` of goods on, standard shipping is free."""

    country: str
    standard_cents: int
    express_cents: int
    free_from_cents: int
    standard_days: str
    express_days: str

    def standard_for(self, goods_cents: int | None) -> int:
        """Return the standard cost for goods of this value; None is a value that nobody knows."""
        return 0 if goods_cents is not None and goods_cents >= self.free_from_cents else self.standard_cents


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    topic: str
    title: str
    text: str


def hours(database: sqlite3.Connection, city: str) -> list[Hours]:
    """Return a store's week, Monday first."""
    rows = database.execute("SELECT weekday, opens, closes FROM opening WHERE city = ?", (city,))
    open_on = {row["weekday"]: (row["opens"], row["closes"]) for row in rows}
    return [
        Hours(weekday=name, opens=open_on.get(day, (None, None))[0], closes=open_on.get(day, (None, None))[1])
        for day, name in enumerate(WEEKDAYS)
    ]


def address_of(database: sqlite3.Connection, city: str) -> str:
    """Return the address of a place; an empty text when there is none."""
    row = database.execute("SELECT address FROM place WHERE city = ?", (city,)).fetchone()
    return str(row["address"]) if row else ""


def rates(database: sqlite3.Connection) -> list[Rate]:
    """Return every country we ship to, the nearest first."""
    return [Rate(**dict(row)) for row in database.execute("SELECT * FROM shipping_rate ORDER BY rowid")]


def rate_to(database: sqlite3.Connection, country: str) -> Rate | None:
    """Return what shipping to a country costs."""
    row = database.execute("SELECT * FROM shipping_rate WHERE country = ?", (country,)).fetchone()
    return Rate(**dict(row)) if row else None


def policy(database: sqlite3.Connection, topic: str) -> Policy | None:
    """Return what we promise about a topic."""
    row = database.execute("SELECT * FROM policy WHERE topic = ?", (topic,)).fetchone()
    return Policy(**dict(row)) if row else None
