"""Money: integer cents of a euro inside, a price with two digits outside."""

from __future__ import annotations

__all__ = ["euros"]


def euros(cents: int) -> str:
    """Return the amount as it stands on a price tag: ``€1,299.00``."""
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return f"{sign}€{whole:,}.{rest:02d}"
