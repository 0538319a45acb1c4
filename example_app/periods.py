"""A stretch of days with a name, such as last month."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

__all__ = ["NAMES", "Period", "named"]


@dataclass(frozen=True, slots=True)
class Period:
    """From ``since`` to ``until``, both days included."""

    name: str
    since: date
    until: date

    @property
    def bounds(self) -> dict[str, str]:
        """The days as a statement's values."""
        return {"since": self.since.isoformat(), "until": self.until.isoformat()}

    @property
    def days(self) -> int:
        return (self.until - self.since).days + 1

    @property
    def before(self) -> Period:
        """The stretch of the same length that ends where this one starts."""
        until = self.since - timedelta(days=1)
        return Period(f"{self.days} days before", until - timedelta(days=self.days - 1), until)


def named(name: str, today: date) -> Period:
    """Return the period of this name, seen from today; KeyError for a name that is not in NAMES."""
    since, until = _PERIODS[name](today)
    return Period(name.replace("_", " "), since, until)


def _days(first: int, last: int = 0) -> Callable[[date], tuple[date, date]]:
    return lambda today: (today - timedelta(days=first), today - timedelta(days=last))


def _this_week(today: date) -> tuple[date, date]:
    return today - timedelta(days=today.weekday()), today


def _last_week(today: date) -> tuple[date, date]:
    monday = today - timedelta(days=today.weekday() + 7)
    return monday, monday + timedelta(days=6)


def _this_month(today: date) -> tuple[date, date]:
    return today.replace(day=1), today


def _last_month(today: date) -> tuple[date, date]:
    until = today.replace(day=1) - timedelta(days=1)
    return until.replace(day=1), until


def _this_year(today: date) -> tuple[date, date]:
    return today.replace(month=1, day=1), today


_PERIODS: dict[str, Callable[[date], tuple[date, date]]] = {
    "today": _days(0),
    "yesterday": _days(1, 1),
    "this_week": _this_week,
    "last_week": _last_week,
    "last_7_days": _days(6),
    "last_30_days": _days(29),
    "this_month": _this_month,
    "last_month": _last_month,
    "last_90_days": _days(89),
    "this_year": _this_year,
    "last_12_months": _days(364),
}
NAMES = tuple(_PERIODS)
