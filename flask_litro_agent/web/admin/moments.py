"""A point in time as the pages show it: for machines, and in words that need no script."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, NamedTuple

__all__ = ["Moment", "day_text", "duration", "moment"]

_DAY: Final = 86_400
_HOUR: Final = 3_600
_MINUTE: Final = 60


class Moment(NamedTuple):
    """``<time datetime="{{ iso }}">{{ text }}</time>``; both in UTC."""

    iso: str
    text: str


def moment(ms: int) -> Moment:
    """Return the moment that is so many milliseconds after the Unix epoch."""
    at = datetime.fromtimestamp(ms / 1000, UTC)
    return Moment(at.isoformat(timespec="milliseconds").replace("+00:00", "Z"), f"{at:%Y-%m-%d %H:%M:%S} UTC")


def day_text(day: int) -> str:
    """Return the day that is so many days after the Unix epoch, as ``2026-11-30``."""
    return f"{datetime.fromtimestamp(day * _DAY, UTC):%Y-%m-%d}"


def duration(ms: int) -> str:
    """Return how long that is, in the two units that matter."""
    seconds = max(0, ms) // 1000
    if seconds >= 2 * _DAY:
        return f"{seconds // _DAY} d {seconds % _DAY // _HOUR} h"
    if seconds >= _HOUR:
        return f"{seconds // _HOUR} h {seconds % _HOUR // _MINUTE} min"
    if seconds >= _MINUTE:
        return f"{seconds // _MINUTE} min {seconds % _MINUTE} s"
    return f"{seconds} s"
