"""The visitor's basket: article numbers with their counts, in Flask's signed session."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from flask import session

from example_app import catalogue
from example_app.catalogue import Product

__all__ = ["add", "contents", "count", "empty"]

_KEY = "basket"
_MOST_ARTICLES = 30
_MOST_PIECES = 20


def add(database: sqlite3.Connection, skus: Iterable[str]) -> None:
    """Put these articles into the basket; what we do not sell and what is above 20 pieces is left out."""
    held: dict[str, int] = dict(session.get(_KEY, {}))
    for sku in skus:
        product = catalogue.by_sku(database, sku)
        if product and (product.sku in held or len(held) < _MOST_ARTICLES):
            held[product.sku] = min(_MOST_PIECES, held.get(product.sku, 0) + 1)
    session[_KEY] = held


def contents(database: sqlite3.Connection) -> list[tuple[Product, int]]:
    """Return what lies in it."""
    found = [(catalogue.by_sku(database, sku), pieces) for sku, pieces in session.get(_KEY, {}).items()]
    return [(product, pieces) for product, pieces in found if product]


def count() -> int:
    """Return how many pieces lie in it."""
    return sum(session.get(_KEY, {}).values())


def empty() -> None:
    """Take everything out."""
    session.pop(_KEY, None)
