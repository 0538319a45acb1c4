"""What the shop sells: products, found by what a customer says about them, and what buyers wrote."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "CATEGORIES",
    "COLOURS",
    "SORTS",
    "Product",
    "Review",
    "Wish",
    "by_sku",
    "categories",
    "find",
    "match",
    "reviews_of",
    "siblings",
    "similar",
]

CATEGORIES = (
    "tents",
    "sleeping-bags",
    "sleeping-mats",
    "backpacks",
    "jackets",
    "footwear",
    "cooking",
    "lights",
    "accessories",
)
COLOURS = ("black", "blue", "brown", "green", "grey", "orange", "red", "sand", "silver", "yellow")
SORTS = ("price", "-price", "weight", "rating")

_PRODUCT = """
SELECT product.*,
       (SELECT sum(quantity) FROM stock WHERE stock.sku = product.sku) AS in_stock,
       (SELECT round(avg(stars), 1) FROM review WHERE review.sku = product.sku) AS rating
FROM product
"""
_ORDER = {
    "price": "price_cents, sku",
    "-price": "price_cents DESC, sku",
    "weight": "weight_g, sku",
    "rating": "rating DESC, sku",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One article; ``in_stock`` counts every place, ``rating`` is the mean of one to five stars."""

    sku: str
    name: str
    family: str
    category: str
    colour: str
    price_cents: int
    weight_g: int
    capacity: str
    persons: int | None
    comfort_c: int | None
    waterproof: bool
    description: str
    in_stock: int
    rating: float | None

    @property
    def label(self) -> str:
        """The name with its colour, as it stands on an invoice."""
        return f"{self.name}, {self.colour}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What a buyer wrote; ``reply`` is our answer, None when there is none."""

    author: str
    stars: int
    text: str
    written_on: str
    reply: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a customer wants; what is None does not matter. ``text`` is searched in names and descriptions."""

    text: str = ""
    category: str | None = None
    colour: str | None = None
    min_cents: int | None = None
    max_cents: int | None = None
    max_weight_g: int | None = None
    persons: int | None = None
    comfort_c: int | None = None
    waterproof: bool | None = None
    available: bool = False
    sort: str = "price"


def find(database: sqlite3.Connection, wish: Wish) -> list[Product]:
    """Return the products that fulfil every part of the wish, in its order."""
    conditions = {
        "category = :category": wish.category,
        "colour = :colour": wish.colour,
        "price_cents >= :min_cents": wish.min_cents,
        "price_cents <= :max_cents": wish.max_cents,
        "weight_g <= :max_weight_g": wish.max_weight_g,
        "persons >= :persons": wish.persons,
        "comfort_c <= :comfort_c": wish.comfort_c,
        "waterproof = :waterproof": wish.waterproof,
        "in_stock > 0": wish.available or None,
    }
    where = " AND ".join(text for text, value in conditions.items() if value is not None) or "1"
    values = {name: getattr(wish, name) for name in Wish.__slots__}
    rows = database.execute(f"{_PRODUCT} WHERE {where} ORDER BY {_ORDER[wish.sort]}", values)
    wanted = _words(wish.text)
    return [product for product in map(_product, rows) if wanted <= _words_about(product)]


def by_sku(database: sqlite3.Connection, sku: str) -> Product | None:
    """Return the product with this article number."""
    row = database.execute(f"{_PRODUCT} WHERE product.sku = ?", (sku.upper(),)).fetchone()
    return _product(row) if row else None


def match(database: sqlite3.Connection, text: str) -> Product | None:
    """Return the product that a person means: by article number, or by the words of its name and colour."""
    return by_sku(database, text.strip()) or next(iter(_ranked(database, text, least=0.5)), None)


def similar(database: sqlite3.Connection, text: str, limit: int = 5) -> list[Product]:
    """Return products whose names share a word with the text, best first: what one may have meant."""
    return _ranked(database, text, least=0.01)[:limit]


def siblings(database: sqlite3.Connection, product: Product) -> list[Product]:
    """Return the same article in its other colours."""
    rows = database.execute(
        f"{_PRODUCT} WHERE family = ? AND product.sku <> ? ORDER BY product.sku",
        (product.family, product.sku),
    )
    return [_product(row) for row in rows]


def reviews_of(database: sqlite3.Connection, sku: str, limit: int = 10) -> list[Review]:
    """Return the newest reviews of a product."""
    rows = database.execute(
        "SELECT author, stars, text, written_on,"
        " (SELECT reply.text FROM review_reply AS reply WHERE review_id = review.id ORDER BY id DESC LIMIT 1) AS reply"
        " FROM review WHERE sku = ?"
        " ORDER BY written_on DESC, id LIMIT ?",
        (sku, limit),
    )
    return [Review(**dict(row)) for row in rows]


def categories(database: sqlite3.Connection) -> list[tuple[str, int, int, int]]:
    """Return every category with its number of products, its lowest and its highest price in cents."""
    rows = database.execute(
        "SELECT category, count(*) AS products, min(price_cents) AS low, max(price_cents) AS high"
        " FROM product GROUP BY category"
    )
    found = {row["category"]: (row["category"], row["products"], row["low"], row["high"]) for row in rows}
    return [found[name] for name in CATEGORIES if name in found]


def _product(row: sqlite3.Row) -> Product:
    values = dict(row)
    return Product(
        **{**values, "waterproof": bool(values["waterproof"]), "in_stock": values["in_stock"] or 0}
    )


def _ranked(database: sqlite3.Connection, text: str, *, least: float) -> list[Product]:
    asked = _words(text)
    if not asked:
        return []
    scored = [(_likeness(asked, product), product) for product in find(database, Wish())]
    close = [pair for pair in scored if pair[0] >= least]
    return [product for _, product in sorted(close, key=lambda pair: (-pair[0], pair[1].sku))]


def _likeness(asked: frozenset[str], product: Product) -> float:
    """How much of the text the product's name explains (0 to 1), and a little for its colour."""
    family, name = _words(product.family), _words(product.name)
    if not asked & family and not asked >= name - family:
        return 0.0
    known = asked & (name | {product.colour})
    return len(known) / len(asked) + len(known & family) / (10 * len(family))


def _words_about(product: Product) -> frozenset[str]:
    return _words(f"{product.label} {product.category} {product.capacity} {product.description}")


def _words(text: str) -> frozenset[str]:
    plain = unicodedata.normalize("NFKD", text.casefold()).encode("ascii", "ignore").decode()
    return frozenset(_singular(word) for word in re.findall(r"-?\d+|[a-z]+", plain) if word not in _FILLERS)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


_FILLERS: Sequence[str] = ("a", "an", "the", "of", "for", "in", "and", "with", "your", "our", "s")
