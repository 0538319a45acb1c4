"""The first contents of the shop: the same for everybody on the same day, and two years of orders before it."""

from __future__ import annotations

import json
import random
import sqlite3
from datetime import date
from pathlib import Path
from typing import Any

from example_app.seed import goods, people
from example_app.seed.orders import Orders
from example_app.seed.people import ACCOUNTS, PASSWORD

__all__ = ["ACCOUNTS", "PASSWORD", "fill"]

_DATA = Path(__file__).parent.with_name("data")


def fill(database: sqlite3.Connection, today: date) -> None:
    """Insert everything; the caller commits."""
    products, shop, history = (_read(name) for name in ("products", "shop", "history"))
    chance = random.Random(20)
    goods.fill_places(database, shop)
    goods.fill_products(database, products, shop["places"], chance)
    people.fill_customers(database, shop["customers"], today, chance)
    orders = Orders(database, products, shop, history, today)
    orders.fill_newest(chance)
    orders.fill_returns(shop["return_reasons"], chance)
    people.fill_reviews(database, products, shop, today, chance)
    earlier = random.Random(21)  # of its own: what is added here leaves the dice above as they fell
    orders.fill_older(shop["return_reasons"], earlier)
    orders.announce_returns(shop["return_reasons"])
    orders.fill_payments(earlier)
    goods.fill_supply(database, products, history, earlier)
    goods.fill_prices(database, history["prices"], today)
    goods.fill_movements(database, history["stock_reasons"], today, earlier)
    people.fill_messages(database, history, today, earlier)
    people.fill_recent_reviews(database, history["reviews"], today, earlier)


def _read(name: str) -> Any:
    return json.loads((_DATA / f"{name}.json").read_text("utf-8"))
