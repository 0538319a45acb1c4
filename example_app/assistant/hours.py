"""When people order: the days of the week and the hours of the day."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from example_app.periods import Period

__all__ = ["WEEKDAYS", "Slot", "by_hour", "by_weekday"]

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A weekday (0 is Monday) or an hour, with what was ordered in it in all; ``days`` says how often it came."""

    slot: int
    days: int
    orders: int
    goods_cents: int


_SLOTS = """
WITH RECURSIVE day(on_day) AS (
    SELECT :since UNION ALL SELECT date(on_day, '+1 day') FROM day WHERE on_day < :until
), calendar AS (
    SELECT (CAST(strftime('%w', on_day) AS INTEGER) + 6) % 7 AS weekday, count(*) AS days FROM day GROUP BY 1
), sold AS (
    SELECT number, (CAST(strftime('%w', placed_on) AS INTEGER) + 6) % 7 AS weekday,
           CAST(substr(placed_at, 1, 2) AS INTEGER) AS hour, goods_cents
    FROM sale WHERE placed_on BETWEEN :since AND :until AND (:category IS NULL OR category = :category)
)"""
_BY_WEEKDAY = f"""{_SLOTS}
SELECT calendar.weekday AS slot, days, count(DISTINCT number) AS orders, coalesce(sum(goods_cents), 0) AS goods_cents
FROM calendar LEFT JOIN sold ON sold.weekday = calendar.weekday GROUP BY slot, days ORDER BY slot
"""
_BY_HOUR = f"""{_SLOTS}, clock(hour) AS (SELECT 0 UNION ALL SELECT hour + 1 FROM clock WHERE hour < 23)
SELECT clock.hour AS slot, (SELECT sum(days) FROM calendar) AS days, count(DISTINCT number) AS orders,
       coalesce(sum(goods_cents), 0) AS goods_cents
FROM clock LEFT JOIN sold ON sold.hour = clock.hour GROUP BY slot ORDER BY slot
"""


def by_weekday(database: sqlite3.Connection, period: Period, category: str | None = None) -> list[Slot]:
    """Return the weekdays that the period has, those without an order too."""
    return _slots(database, _BY_WEEKDAY, period, category)


def by_hour(database: sqlite3.Connection, period: Period, category: str | None = None) -> list[Slot]:
    """Return the 24 hours of the shop's clock."""
    return _slots(database, _BY_HOUR, period, category)


def _slots(database: sqlite3.Connection, statement: str, period: Period, category: str | None) -> list[Slot]:
    rows = database.execute(statement, {**period.bounds, "category": category})
    return [Slot(**dict(row)) for row in rows]
