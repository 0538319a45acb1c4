"""The days of a plot, each by itself or a week at a time, so that as many bars fit as a person can tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from flask_litro_agent.web.admin.moments import day_text

__all__ = ["Period", "periods_of", "summed"]

#: More days than this are drawn as weeks.
_MOST_DAYS: Final = 31
_WEEK: Final = 7
#: The Unix epoch was a Thursday: its week began three days before.
_EPOCH_WEEKDAY: Final = 3


@dataclass(frozen=True, slots=True)
class Period:
    """The days from ``first`` to ``last``, counted from the Unix epoch."""

    first: int
    last: int

    @property
    def name(self) -> str:
        """The day, or the days that a week begins and ends with."""
        begin, end = day_text(self.first), day_text(self.last)
        return begin if begin == end else f"{begin} – {end[5:]}"


def periods_of(first: int, last: int) -> Sequence[Period]:
    """Return the days one by one, or by weeks that begin on Mondays when there are too many; both ends may be cut."""
    if last - first < _MOST_DAYS:
        return [Period(day, day) for day in range(first, last + 1)]
    return list(_weeks(first, last))


def summed(periods: Sequence[Period], values: Iterable[tuple[int, int]]) -> list[int]:
    """Return the sum of each period from (day, value) pairs; days outside are left out."""
    place = {day: number for number, one in enumerate(periods) for day in range(one.first, one.last + 1)}
    sums = [0] * len(periods)
    for day, value in values:
        if day in place:
            sums[place[day]] += value
    return sums


def _weeks(first: int, last: int) -> Iterator[Period]:
    begin = first
    while begin <= last:
        end = begin + _WEEK - 1 - (begin + _EPOCH_WEEKDAY) % _WEEK
        yield Period(begin, min(end, last))
        begin = end + 1
