"""The day before in one line: what it brought, and what such a day usually brings."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import date, timedelta

from example_app.assistant.shares import change

__all__ = ["Day", "returns_to_settle", "yesterday"]

_WEEKS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """A day's orders; ``usual_cents`` is the mean of the same weekday in the eight weeks before."""

    day: date
    orders: int
    goods_cents: int
    usual_cents: int

    @property
    def change(self) -> float | None:
        return change(self.goods_cents, self.usual_cents)


def yesterday(database: sqlite3.Connection, today: date) -> Day:
    """Return the day before today."""
    day = today - timedelta(days=1)
    twins = [day - timedelta(weeks=number) for number in range(1, _WEEKS + 1)]
    orders, cents = _sold(database, day)
    usual = sum(_sold(database, twin)[1] for twin in twins) / _WEEKS
    return Day(day=day, orders=orders, goods_cents=cents, usual_cents=round(usual))


def returns_to_settle(database: sqlite3.Connection) -> int:
    """Return how many returns have come in and wait for their money."""
    return int(database.execute("SELECT count(*) FROM return_case WHERE state = 'received'").fetchone()[0])


def _sold(database: sqlite3.Connection, day: date) -> tuple[int, int]:
    row = database.execute(
        "SELECT count(DISTINCT number), coalesce(sum(goods_cents), 0) FROM sale WHERE placed_on = ?",
        (day.isoformat(),),
    ).fetchone()
    return row[0], row[1]
