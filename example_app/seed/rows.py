"""Rows on their way into a table."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

__all__ = ["decided", "insert"]


def insert(database: sqlite3.Connection, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert rows that name their columns."""
    for row in rows:
        names = ", ".join(row)
        marks = ", ".join(f":{name}" for name in row)
        database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", row)


def decided(table: str, number: int, day: date, *, asked: int = 2, approved: int = 3) -> dict[str, str]:
    """Return what the row of a change says about who wanted it, by the numbers of their accounts."""
    return {
        "key": f"first-{table}-{number}",
        "asked_by": f"account:{asked}",
        "approved_by": f"account:{approved}",
        "made_at": f"{day.isoformat()}T{7 + number % 9:02d}:{number * 7 % 60:02d}:00+00:00",
    }
