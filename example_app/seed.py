"""The first contents of the shop: the same for everybody on the same day, and a year of orders before it."""

from __future__ import annotations

import json
import random
import sqlite3
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from werkzeug.security import generate_password_hash

__all__ = ["ACCOUNTS", "PASSWORD", "fill"]

#: The demo accounts, shown on the sign-in page: user name, person, role. The customer is the first in the list;
#: there are two operators, because whoever asks for a refund may not approve it.
ACCOUNTS = (
    ("customer", "Anna Berg", "customer"),
    ("support", "Sam Ritter", "support"),
    ("operator", "Olga Stein", "operator"),
    ("second", "Otto Lang", "operator"),
)
PASSWORD = "outdoor"

_DATA = Path(__file__).with_name("data")
_FIRST_ORDER = 1001
_ORDERS = 120
_ANNAS = frozenset({1020, 1055, 1084, 1104, 1111, 1118})  # the demo customer's own: one travels, one is new
_CARRIERS = ("DHL", "GLS", "PostNL")
_WAY = ("left our warehouse in Leipzig", "at the sorting centre", "in the delivery van")


def fill(database: sqlite3.Connection, today: date) -> None:
    """Insert everything; the caller commits."""
    chance = random.Random(20)
    products = json.loads((_DATA / "products.json").read_text("utf-8"))
    shop = json.loads((_DATA / "shop.json").read_text("utf-8"))
    _insert(database, "product", products)
    _fill_places(database, shop)
    _fill_stock(database, products, shop["places"], chance)
    _fill_people(database, shop["customers"], today, chance)
    _fill_orders(database, products, shop, today, chance)
    _fill_returns(database, shop["return_reasons"], today, chance)
    _fill_reviews(database, products, shop, today, chance)


def _insert(database: sqlite3.Connection, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
    for row in rows:
        names = ", ".join(row)
        marks = ", ".join(f":{name}" for name in row)
        database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", row)


def _fill_places(database: sqlite3.Connection, shop: Mapping[str, Any]) -> None:
    _insert(database, "place", shop["places"])
    for city, week in shop["opening"].items():
        for weekday, hours in enumerate(week):
            if hours:
                opens, closes = hours.split("-")
                database.execute("INSERT INTO opening VALUES (?, ?, ?, ?)", (city, weekday, opens, closes))
    _insert(database, "shipping_rate", shop["shipping"])
    _insert(database, "policy", shop["policies"])


def _fill_stock(
    database: sqlite3.Connection,
    products: Sequence[Mapping[str, Any]],
    places: Sequence[Mapping[str, Any]],
    chance: random.Random,
) -> None:
    for product in products:
        for place in places:
            most, reorder = (60, 12) if place["kind"] == "warehouse" else (10, 3)
            scarce = chance.random() < 0.15
            quantity = chance.randint(0, reorder) if scarce else chance.randint(reorder + 1, most)
            row = (product["sku"], place["city"], quantity, reorder)
            database.execute("INSERT INTO stock VALUES (?, ?, ?, ?)", row)


def _fill_people(
    database: sqlite3.Connection, people: Sequence[Sequence[str]], today: date, chance: random.Random
) -> None:
    for number, (name, city, country) in enumerate(people, 1):
        since = today - timedelta(days=chance.randint(370, 1800))
        row = (number, name, f"{_plain(name)}@example.com", city, country, since.isoformat())
        database.execute("INSERT INTO customer VALUES (?, ?, ?, ?, ?, ?)", row)
    for number, (username, name, role) in enumerate(ACCOUNTS, 1):
        customer = 1 if role == "customer" else None
        account = (number, username, name, role, generate_password_hash(PASSWORD), customer)
        database.execute("INSERT INTO account VALUES (?, ?, ?, ?, ?, ?)", account)


def _plain(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.lower().replace("ø", "o").replace("ı", "i"))
    return "".join(letter for letter in letters if letter.isascii()).replace(" ", ".")


def _fill_orders(
    database: sqlite3.Connection,
    products: Sequence[Mapping[str, Any]],
    shop: Mapping[str, Any],
    today: date,
    chance: random.Random,
) -> None:
    rates = {rate["country"]: rate for rate in shop["shipping"]}
    for number in range(_FIRST_ORDER, _FIRST_ORDER + _ORDERS):
        days = _age(number)
        customer = 1 if number in _ANNAS else chance.randint(2, len(shop["customers"]))
        lines = [(product, chance.choice((1, 1, 1, 2))) for product in _basket(products, chance)]
        goods = sum(product["price_cents"] * quantity for product, quantity in lines)
        rate = rates[shop["customers"][customer - 1][2]]
        shipping = 0 if goods >= rate["free_from_cents"] else rate["standard_cents"]
        status = _status(days, chance.random() if customer != 1 else 1.0)
        placed = today - timedelta(days=days)
        database.execute(
            "INSERT INTO orders VALUES (?, ?, ?, ?, ?)",
            (number, customer, placed.isoformat(), status, shipping),
        )
        for position, (product, quantity) in enumerate(lines, 1):
            row = (number, position, product["sku"], quantity, product["price_cents"])
            database.execute("INSERT INTO order_line VALUES (?, ?, ?, ?, ?)", row)
        _ship(database, number, status, placed, today, chance)


def _age(number: int) -> int:
    """Return how many days ago an order was placed: over a year, the more the nearer to today."""
    newer = _FIRST_ORDER + _ORDERS - 1 - number
    return int(0.5 + 365 * (newer / _ORDERS) ** 1.6)


def _basket(products: Sequence[Mapping[str, Any]], chance: random.Random) -> Sequence[Mapping[str, Any]]:
    liked = [2.0 / (1 + index % 7) for index in range(len(products))]
    chosen = chance.choices(products, weights=liked, k=chance.choice((1, 1, 2, 2, 3, 4)))
    return list({product["sku"]: product for product in chosen}.values())


def _status(days: int, luck: float) -> str:
    """Return what has become of an order by now; with little luck it was cancelled, or its parcel is stuck."""
    if luck < 0.05:
        return "cancelled"
    if 8 < days < 25 and luck < 0.25:
        return "shipped"
    if days <= 1:
        return "paid"
    if days <= 3:
        return "packed"
    return "shipped" if days <= 8 else "delivered"


def _ship(
    database: sqlite3.Connection,
    number: int,
    status: str,
    placed: date,
    today: date,
    chance: random.Random,
) -> None:
    if status not in ("shipped", "delivered"):
        return
    shipped = placed + timedelta(days=2)
    expected = shipped + timedelta(days=chance.randint(2, 4))
    delivered = min(expected + timedelta(days=chance.choice((-1, 0, 0, 1))), today)
    arrived = status == "delivered"
    carrier = chance.choice(_CARRIERS)
    row = (
        number,
        carrier,
        f"{carrier[:2].upper()}{chance.randint(10**9, 10**10 - 1)}",
        shipped.isoformat(),
        expected.isoformat(),
        delivered.isoformat() if arrived else None,
        "handed over at the door" if arrived else chance.choice(_WAY),
    )
    database.execute("INSERT INTO shipment VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def _fill_returns(
    database: sqlite3.Connection, reasons: Sequence[str], today: date, chance: random.Random
) -> None:
    delivered = database.execute(
        "SELECT number, sku, unit_cents, delivered_on FROM order_line JOIN shipment USING (number)"
        " WHERE delivered_on IS NOT NULL ORDER BY number, position"
    ).fetchall()
    for row in delivered:
        if chance.random() >= 0.08:
            continue
        opened = date.fromisoformat(row["delivered_on"]) + timedelta(days=chance.randint(1, 20))
        if opened > today:
            continue
        state = _return_state((today - opened).days, chance)
        refund = row["unit_cents"] if state == "refunded" else 0
        database.execute(
            "INSERT INTO return_case (number, sku, quantity, reason, state, opened_on, refund_cents)"
            " VALUES (?, ?, 1, ?, ?, ?, ?)",
            (row["number"], row["sku"], chance.choice(reasons), state, opened.isoformat(), refund),
        )


def _return_state(days: int, chance: random.Random) -> str:
    if days < 6:
        return "opened"
    if days < 12:
        return "received"
    return "declined" if chance.random() < 0.15 else "refunded"


def _fill_reviews(
    database: sqlite3.Connection,
    products: Sequence[Mapping[str, Any]],
    shop: Mapping[str, Any],
    today: date,
    chance: random.Random,
) -> None:
    for product in products:
        for name, _, _ in chance.sample(shop["customers"], chance.randint(2, 5)):
            stars = chance.choices((5, 4, 3, 2), weights=(8, 6, 2, 1))[0]
            text = chance.choice(shop["reviews"][str(stars)])
            written = today - timedelta(days=chance.randint(3, 360))
            author = f"{name.split()[0]} {name.split()[-1][0]}."
            database.execute(
                "INSERT INTO review (sku, author, stars, text, written_on) VALUES (?, ?, ?, ?, ?)",
                (product["sku"], author, stars, text, written.isoformat()),
            )
