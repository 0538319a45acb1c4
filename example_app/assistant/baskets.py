"""What people buy together."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from example_app.periods import Period

__all__ = ["Pair", "pairs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two products of one order: in how many orders both were, each was, and how many orders there were at all."""

    first: str
    second: str
    together: int
    with_first: int
    with_second: int
    orders: int

    @property
    def share(self) -> float:
        """How many of those who bought the first bought the second too, from 0 to 1."""
        return self.together / self.with_first

    @property
    def lift(self) -> float:
        """How much likelier that is than by chance: above 1 one draws the other."""
        return self.together * self.orders / (self.with_first * self.with_second)


_PAIRS = """
WITH bought AS (SELECT DISTINCT number, sku, product FROM sale WHERE placed_on BETWEEN :since AND :until),
     popular AS (SELECT sku, count(*) AS orders FROM bought GROUP BY sku)
SELECT one.product AS first, other.product AS second, count(*) AS together,
       (SELECT orders FROM popular WHERE popular.sku = one.sku) AS with_first,
       (SELECT orders FROM popular WHERE popular.sku = other.sku) AS with_second,
       (SELECT count(DISTINCT number) FROM bought) AS orders
FROM bought AS one JOIN bought AS other ON other.number = one.number
WHERE CASE WHEN :sku IS NULL THEN one.sku < other.sku ELSE one.sku = :sku AND other.sku <> :sku END
GROUP BY one.sku, other.sku HAVING together >= :least
ORDER BY together DESC, with_first * with_second, first, second
"""


def pairs(
    database: sqlite3.Connection, period: Period, *, sku: str | None = None, least: int = 2
) -> list[Pair]:
    """Return pairs that at least so many orders have, the most frequent first; of one article when it is named."""
    rows = database.execute(_PAIRS, {**period.bounds, "sku": sku, "least": least})
    return [Pair(**dict(row)) for row in rows]
