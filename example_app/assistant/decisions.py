"""What staff have changed: every table whose rows say who asked and who approved, read as one journal."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from example_app.periods import Period

__all__ = ["Decision", "kinds", "made"]

_ABOUT_ITSELF = frozenset({"id", "key", "asked_by", "approved_by", "made_at"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One change; ``about`` is the rest of its row, and the people are named when they have an account."""

    kind: str
    made_at: str
    asked_by: str
    approved_by: str
    about: dict[str, Any]


def kinds(database: sqlite3.Connection) -> list[str]:
    """Return the journal's tables: a new one is seen as soon as it is there."""
    rows = database.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND EXISTS"
        " (SELECT 1 FROM pragma_table_info(sqlite_master.name) AS field WHERE field.name = 'approved_by')"
        " ORDER BY name"
    )
    return [row["name"] for row in rows]


def made(database: sqlite3.Connection, period: Period, *, by: str | None = None) -> list[Decision]:
    """Return the changes of a period, the newest first; of those whom a name asked for or approved, when given."""
    people = {f"account:{row['id']}": row["name"] for row in database.execute("SELECT id, name FROM account")}
    found = [
        _decision(kind, dict(row), people)
        for kind in kinds(database)
        for row in database.execute(
            f"SELECT * FROM {kind} WHERE substr(made_at, 1, 10) BETWEEN :since AND :until", period.bounds
        )
    ]
    words = (by or "").casefold().split()
    mine = [each for each in found if _names(each, words)]
    return sorted(mine, key=lambda each: (each.made_at, each.kind), reverse=True)


def _decision(kind: str, row: dict[str, Any], people: dict[str, str]) -> Decision:
    return Decision(
        kind=kind.replace("_", " "),
        made_at=row["made_at"],
        asked_by=people.get(row["asked_by"], row["asked_by"]),
        approved_by=people.get(row["approved_by"], row["approved_by"]),
        about={name: value for name, value in row.items() if name not in _ABOUT_ITSELF},
    )


def _names(decision: Decision, words: list[str]) -> bool:
    people = f"{decision.asked_by} {decision.approved_by}".casefold()
    return all(word in people for word in words)
