"""Changes as rows that are written once: each has a key, and the same key a second time changes nothing."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

__all__ = ["By", "has", "once", "row", "writing"]


@dataclass(frozen=True, slots=True)
class By:
    """On whose word something is changed; ``key`` is the same however often the same change is asked for."""

    key: str
    asked_by: str
    approved_by: str


@contextlib.contextmanager
def writing(database: sqlite3.Connection) -> Iterator[None]:
    """Hold the database for writing: what is read here stays true until it is all written, or nothing is."""
    database.execute("BEGIN IMMEDIATE")
    with database:
        yield


def once(database: sqlite3.Connection, table: str, by: By, **values: Any) -> bool:
    """Insert the row of a change; False when its key is there already, and then nothing is to be done."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    whole = {
        **values,
        "key": by.key,
        "asked_by": by.asked_by,
        "approved_by": by.approved_by,
        "made_at": now,
    }
    names, marks = ", ".join(whole), ", ".join(f":{name}" for name in whole)
    statement = f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT (key) DO NOTHING"
    return database.execute(statement, whole).rowcount == 1


def row(database: sqlite3.Connection, table: str, key: str) -> sqlite3.Row:
    """Return the row of a change; KeyError when there is none."""
    found: sqlite3.Row | None = database.execute(f"SELECT * FROM {table} WHERE key = ?", (key,)).fetchone()
    if found is None:
        raise KeyError(key)
    return found


def has(database: sqlite3.Connection, table: str, key: str) -> bool:
    """Whether the change with this key was made."""
    return database.execute(f"SELECT 1 FROM {table} WHERE key = ?", (key,)).fetchone() is not None
