"""Parts of a whole, and what has changed, in percent."""

from __future__ import annotations

__all__ = ["change", "percent"]


def percent(part: float, whole: float) -> float:
    """Return the part's share with one digit; nothing of nothing is 0."""
    return round(100 * part / whole, 1) if whole else 0.0


def change(now: float, before: float | None) -> float | None:
    """Return by how many percent something grew; None when there was nothing to grow from."""
    return round(100 * (now - before) / before, 1) if before else None
