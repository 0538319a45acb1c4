"""A point in time as the pages show it: for machines, and in words that need no script."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

__all__ = ["Moment", "moment"]


class Moment(NamedTuple):
    """``<time datetime="{{ iso }}">{{ text }}</time>``; both in UTC."""

    iso: str
    text: str


def moment(ms: int) -> Moment:
    """Return the moment that is so many milliseconds after the Unix epoch."""
    at = datetime.fromtimestamp(ms / 1000, UTC)
    return Moment(at.isoformat(timespec="milliseconds").replace("+00:00", "Z"), f"{at:%Y-%m-%d %H:%M:%S} UTC")
