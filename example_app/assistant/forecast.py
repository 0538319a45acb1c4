"""What the next weeks may bring: the same weeks of the year before, grown as the shop has grown since.

Few orders make wild growth: what is used stays between half and double.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from datetime import date, timedelta

__all__ = ["Forecast", "Week", "ahead"]

_YEAR = 364  # 52 weeks: a Monday is set against a Monday
_LOOK_BACK = 56
_LEAST, _MOST = 0.5, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Week:
    """A week to come; ``last_year_cents`` is what its twin brought, ``expected_cents`` that times the growth."""

    since: date
    until: date
    last_year_orders: int
    last_year_cents: int
    expected_cents: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """``growth`` is the last eight weeks over the same ones a year ago; None without those there is no forecast."""

    recent_cents: int
    year_ago_cents: int
    weeks: tuple[Week, ...]

    @property
    def growth(self) -> float | None:
        return self.recent_cents / self.year_ago_cents if self.year_ago_cents else None

    @property
    def used_growth(self) -> float | None:
        return None if self.growth is None else min(_MOST, max(_LEAST, self.growth))


def ahead(database: sqlite3.Connection, today: date, weeks: int) -> Forecast:
    """Return the forecast of so many weeks, from tomorrow on."""
    since = today - timedelta(days=_LOOK_BACK - 1)
    _, recent = _sold(database, since, today)
    _, before = _sold(database, _year_before(since), _year_before(today))
    basis = Forecast(recent_cents=recent, year_ago_cents=before, weeks=())
    starts = [today + timedelta(days=1 + 7 * number) for number in range(weeks)]
    return replace(basis, weeks=tuple(_week(database, start, basis.used_growth) for start in starts))


def _week(database: sqlite3.Connection, since: date, growth: float | None) -> Week:
    until = since + timedelta(days=6)
    orders, cents = _sold(database, _year_before(since), _year_before(until))
    return Week(
        since=since,
        until=until,
        last_year_orders=orders,
        last_year_cents=cents,
        expected_cents=None if growth is None else round(cents * growth),
    )


def _sold(database: sqlite3.Connection, since: date, until: date) -> tuple[int, int]:
    row = database.execute(
        "SELECT count(DISTINCT number), coalesce(sum(goods_cents), 0) FROM sale WHERE placed_on BETWEEN ? AND ?",
        (since.isoformat(), until.isoformat()),
    ).fetchone()
    return row[0], row[1]


def _year_before(day: date) -> date:
    return day - timedelta(days=_YEAR)
