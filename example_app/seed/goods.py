"""The goods at the start: what they are, where they lie, what they cost us, and how that came about."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from example_app.seed.rows import decided, insert

__all__ = [
    "fill_movements",
    "fill_places",
    "fill_prices",
    "fill_products",
    "fill_supply",
    "price_at",
]

_KINDS = ("delivery", "delivery", "delivery", "count", "count", "count", "damage", "return")
_DIFFERENCES = (-3, -1, -1, 0, 0, 0, 0, 1)  # most counts find what they should


def fill_places(database: sqlite3.Connection, shop: Mapping[str, Any]) -> None:
    """Insert warehouses and stores, opening hours, shipping rates and policies."""
    insert(database, "place", shop["places"])
    for city, week in shop["opening"].items():
        for weekday, hours in enumerate(week):
            if hours:
                opens, closes = hours.split("-")
                database.execute("INSERT INTO opening VALUES (?, ?, ?, ?)", (city, weekday, opens, closes))
    insert(database, "shipping_rate", shop["shipping"])
    insert(database, "policy", shop["policies"])


def fill_products(
    database: sqlite3.Connection,
    products: Sequence[Mapping[str, Any]],
    places: Sequence[Mapping[str, Any]],
    chance: random.Random,
) -> None:
    """Insert the products and what lies of them in each place."""
    insert(database, "product", products)
    for product in products:
        for place in places:
            most, reorder = (60, 12) if place["kind"] == "warehouse" else (10, 3)
            scarce = chance.random() < 0.15
            quantity = chance.randint(0, reorder) if scarce else chance.randint(reorder + 1, most)
            row = (product["sku"], place["city"], quantity, reorder)
            database.execute("INSERT INTO stock VALUES (?, ?, ?, ?)", row)


def fill_supply(
    database: sqlite3.Connection,
    products: Sequence[Mapping[str, Any]],
    history: Mapping[str, Any],
    chance: random.Random,
) -> None:
    """Insert who makes each product and what it costs us, the VAT of our countries, and what has nearly run out."""
    insert(database, "supplier", history["suppliers"])
    for sku, counts in history["scarce"].items():
        for city, quantity in counts.items():
            place = (quantity, sku, city)
            database.execute("UPDATE stock SET quantity = ? WHERE sku = ? AND city = ?", place)
    insert(database, "vat_rate", history["vat"])
    for product in products:
        supplier, share, box = history["supply"][product["category"]]
        net = product["price_cents"] / 1.19
        cost = round(net * (share + chance.randint(-8, 8)) / 1000) * 10
        database.execute("INSERT INTO supply VALUES (?, ?, ?, ?)", (product["sku"], supplier, cost, box))


def price_at(product: Mapping[str, Any], history: Mapping[str, Any], days_ago: int) -> int:
    """Return what a product cost so many days ago: ``history`` has, newest last, until when it cost what."""
    steps = history["prices"].get(product["sku"], ())
    return next((int(cents) for until, cents in steps if days_ago > until), int(product["price_cents"]))


def fill_prices(database: sqlite3.Connection, prices: Mapping[str, Any], today: date) -> None:
    """Insert the changes that led to the prices of today."""
    changes = sorted(_price_changes(database, prices), key=lambda change: -change[0])
    for number, (days, sku, before, after) in enumerate(changes, 1):
        who = decided("price", number, today - timedelta(days=days), asked=3, approved=4)
        row = {"sku": sku, "before_cents": before, "after_cents": after, **who}
        insert(database, "price_change", [row])


def _price_changes(
    database: sqlite3.Connection, prices: Mapping[str, Any]
) -> Iterator[tuple[int, str, int, int]]:
    """Yield how many days ago each change was, of what, from which price, and to which."""
    for sku, steps in prices.items():
        now = database.execute("SELECT price_cents FROM product WHERE sku = ?", (sku,)).fetchone()[0]
        costs = [cents for _, cents in steps] + [now]
        for (days, before), after in zip(steps, costs[1:], strict=True):
            yield days, sku, before, after


def fill_movements(
    database: sqlite3.Connection, reasons: Mapping[str, Sequence[str]], today: date, chance: random.Random
) -> None:
    """Insert deliveries, counts and damages that end at what lies there now; in between goods were sold."""
    found = []
    for level in database.execute("SELECT sku, city, quantity FROM stock ORDER BY sku, city").fetchall():
        found += _backwards(level, reasons, chance)
    found.sort(key=lambda row: -row["days"])
    for number, row in enumerate(found, 1):
        day = today - timedelta(days=row.pop("days"))
        insert(database, "stock_movement", [{**row, **decided("stock", number, day, asked=3, approved=4)}])


def _backwards(
    level: sqlite3.Row, reasons: Mapping[str, Sequence[str]], chance: random.Random
) -> Iterator[dict[str, Any]]:
    """Yield the movements of one shelf, the newest first: each starts at what the one after it found."""
    there = level["quantity"]
    days = chance.randint(2, 120)
    for _ in range(chance.randint(0, 3)):
        kind = chance.choice(_KINDS)
        after = there + chance.randint(0, 3)  # sold since
        before = max(0, after - _size(kind, after, chance))
        yield {
            "sku": level["sku"],
            "city": level["city"],
            "before": before,
            "after": after,
            "kind": kind,
            "reason": chance.choice(reasons[kind]),
            "days": days,
        }
        there = before
        days += chance.randint(20, 90)


def _size(kind: str, after: int, chance: random.Random) -> int:
    match kind:
        case "delivery":
            return min(after, chance.randint(4, 24))
        case "return":
            return min(after, 1)
        case "damage":
            return -1
        case _:
            return chance.choice(_DIFFERENCES)
