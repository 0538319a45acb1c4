"""What we answer to a review, for everybody to read; the newest answer counts, and an empty one shows nothing."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from example_app import journal
from example_app.journal import By

__all__ = ["Reviewed", "by_id", "write"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """A review with our answer to it; ``reply`` is None when there is none."""

    id: int
    product: str
    author: str
    stars: int
    text: str
    reply: str | None


def by_id(database: sqlite3.Connection, number: int) -> Reviewed | None:
    """Return the review with this number."""
    row = database.execute(
        "SELECT review.id, product.name || ', ' || colour AS product, author, stars, text,"
        " (SELECT reply.text FROM review_reply AS reply WHERE review_id = review.id ORDER BY id DESC LIMIT 1) AS reply"
        " FROM review JOIN product USING (sku) WHERE review.id = ?",
        (number,),
    ).fetchone()
    return Reviewed(**dict(row)) if row else None


def write(database: sqlite3.Connection, number: int, text: str | None, by: By) -> None:
    """Answer a review, or take the answer away with None."""
    with journal.writing(database):
        journal.once(database, "review_reply", by, review_id=number, text=text)
