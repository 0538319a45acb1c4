"""Collections: products under one name, for the shop's front page. Every version is kept, the newest counts."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from example_app import journal
from example_app.journal import By

__all__ = ["Collection", "by_name", "every", "published", "save"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    name: str
    skus: tuple[str, ...]
    published: bool


def by_name(database: sqlite3.Connection, name: str) -> Collection | None:
    """Return the collection as it stands."""
    row = database.execute(
        "SELECT * FROM collection_version WHERE name = ? ORDER BY id DESC LIMIT 1", (name,)
    ).fetchone()
    return _collection(row) if row else None


def every(database: sqlite3.Connection) -> list[Collection]:
    """Return all collections as they stand, by name."""
    rows = database.execute(
        "SELECT * FROM collection_version WHERE id IN (SELECT max(id) FROM collection_version GROUP BY name)"
        " ORDER BY name"
    )
    return [_collection(row) for row in rows]


def published(database: sqlite3.Connection) -> list[Collection]:
    """Return what visitors see, by name."""
    return [collection for collection in every(database) if collection.published]


def save(database: sqlite3.Connection, name: str, skus: Sequence[str], published: bool, by: By) -> Collection:
    """Write the collection, a new one or in the place of what it was; return it."""
    with journal.writing(database):
        listed = json.dumps(list(skus))
        journal.once(database, "collection_version", by, name=name, skus=listed, published=published)
        return _collection(journal.row(database, "collection_version", by.key))


def _collection(row: sqlite3.Row) -> Collection:
    return Collection(name=row["name"], skus=tuple(json.loads(row["skus"])), published=bool(row["published"]))
