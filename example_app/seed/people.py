"""The people at the start: customers and accounts, what they wrote to us, and what they said about our goods."""

from __future__ import annotations

import random
import sqlite3
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from werkzeug.security import generate_password_hash

from example_app.seed.rows import decided, insert

__all__ = [
    "ACCOUNTS",
    "PASSWORD",
    "fill_customers",
    "fill_messages",
    "fill_recent_reviews",
    "fill_reviews",
]

#: The demo accounts, shown on the sign-in page: user name, person, role. The customer is the first in the list;
#: there are two operators, because whoever asks for a refund may not approve it.
ACCOUNTS = (
    ("customer", "Anna Berg", "customer"),
    ("support", "Sam Ritter", "support"),
    ("operator", "Olga Stein", "operator"),
    ("second", "Otto Lang", "operator"),
)
PASSWORD = "outdoor"

_MESSAGES = 36


def fill_customers(
    database: sqlite3.Connection, people: Sequence[Sequence[str]], today: date, chance: random.Random
) -> None:
    """Insert who buys, and who may sign in."""
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


def fill_messages(
    database: sqlite3.Connection, history: Mapping[str, Any], today: date, chance: random.Random
) -> None:
    """Insert what customers asked, most of it answered, and what staff noted about them."""
    for place in range(_MESSAGES):
        days = int(120 * ((_MESSAGES - 1 - place) / _MESSAGES) ** 1.4)
        order = chance.choice(_orders_before(database, today - timedelta(days=days)))
        insert(database, "message", [_message(history, order, days, today, chance)])
    for number, (customer, text) in enumerate(history["notes"], 1):
        who = decided("note", number, today - timedelta(days=17 * number))
        insert(database, "note", [{"customer_id": customer, "text": text, **who}])


def _orders_before(database: sqlite3.Connection, day: date) -> list[sqlite3.Row]:
    """Return the latest orders that were placed by then."""
    return database.execute(
        "SELECT number, customer_id FROM orders WHERE placed_on <= ? ORDER BY number DESC LIMIT 20",
        (day.isoformat(),),
    ).fetchall()


def _message(
    history: Mapping[str, Any], order: sqlite3.Row, days: int, today: date, chance: random.Random
) -> dict[str, Any]:
    subject, text = chance.choice(history["messages"])
    waited = chance.choice((0, 0, 1, 1, 2, 4))
    answered = days > 1 and days >= waited and chance.random() < (0.55 if days < 12 else 0.98)
    return {
        "customer_id": order["customer_id"],
        "number": order["number"] if chance.random() < 0.7 else None,
        "subject": subject,
        "text": text,
        "received_on": (today - timedelta(days=days)).isoformat(),
        "answered_on": (today - timedelta(days=days - waited)).isoformat() if answered else None,
        "answered_by": "account:2" if answered else None,
    }


def fill_reviews(
    database: sqlite3.Connection,
    products: Sequence[Mapping[str, Any]],
    shop: Mapping[str, Any],
    today: date,
    chance: random.Random,
) -> None:
    """Insert a few reviews of every product."""
    for product in products:
        for name, _, _ in chance.sample(shop["customers"], chance.randint(2, 5)):
            stars = chance.choices((5, 4, 3, 2), weights=(8, 6, 2, 1))[0]
            text = chance.choice(shop["reviews"][str(stars)])
            written = today - timedelta(days=chance.randint(3, 360))
            _review(database, product["sku"], name, stars, text, written)


def fill_recent_reviews(
    database: sqlite3.Connection, reviews: Sequence[Sequence[Any]], today: date, chance: random.Random
) -> None:
    """Insert reviews of the last months, by people who bought the product."""
    for category, stars, text in reviews:
        written = today - timedelta(days=chance.randint(1, 75))
        bought = database.execute(
            "SELECT sku, customer.name AS buyer FROM order_line JOIN orders USING (number)"
            " JOIN product USING (sku) JOIN customer ON customer.id = customer_id"
            " WHERE category = ? AND status = 'delivered' AND placed_on < ? ORDER BY number, position",
            (category, (written - timedelta(days=10)).isoformat()),
        ).fetchall()
        row = chance.choice(bought)
        _review(database, row["sku"], row["buyer"], stars, text, written)


def _review(database: sqlite3.Connection, sku: str, name: str, stars: int, text: str, written: date) -> None:
    row = {
        "sku": sku,
        "author": f"{name.split()[0]} {name.split()[-1][0]}.",
        "stars": stars,
        "text": text,
        "written_on": written.isoformat(),
    }
    insert(database, "review", [row])
