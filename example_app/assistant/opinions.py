"""What buyers write about our goods, the worst first."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from example_app.periods import Period

__all__ = ["Digest", "Opinion", "Rated", "digest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """A review; ``reply`` is our public answer, None when there is none."""

    id: int
    sku: str
    product: str
    author: str
    stars: int
    text: str
    written_on: str
    reply: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """A product's mean in the period, and before it: None when nobody had written."""

    product: str
    reviews: int
    mean: float
    mean_before: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """The reviews of a period, the worst first; ``fallen`` are products that are rated lower than before."""

    reviews: tuple[Opinion, ...]
    mean: float | None
    mean_before: float | None
    stars: dict[int, int]
    fallen: tuple[Rated, ...]


_WRITTEN = """
FROM review JOIN product USING (sku)
WHERE written_on BETWEEN :since AND :until AND (:category IS NULL OR category = :category)
"""
_RATED = """
SELECT name || ', ' || colour AS product,
       count(CASE WHEN written_on >= :since THEN 1 END) AS reviews,
       avg(CASE WHEN written_on >= :since THEN stars END) AS mean,
       avg(CASE WHEN written_on < :since THEN stars END) AS mean_before
FROM review JOIN product USING (sku)
WHERE written_on <= :until AND (:category IS NULL OR category = :category)
GROUP BY sku HAVING reviews > 0 AND mean < mean_before ORDER BY mean - mean_before, sku
"""


def digest(database: sqlite3.Connection, period: Period, category: str | None = None) -> Digest:
    """Return what was written in a period, set against all that was written before it."""
    values = {**period.bounds, "category": category}
    rows = database.execute(
        "SELECT review.id, sku, name || ', ' || colour AS product, author, stars, text, written_on,"
        " (SELECT answer.text FROM review_reply AS answer WHERE review_id = review.id ORDER BY answer.id DESC LIMIT 1)"
        f" AS reply {_WRITTEN}"
        " ORDER BY stars, written_on DESC, review.id",
        values,
    )
    reviews = tuple(Opinion(**dict(row)) for row in rows)
    earlier = {**values, "since": "", "until": period.before.until.isoformat()}
    return Digest(
        reviews=reviews,
        mean=_mean([review.stars for review in reviews]),
        mean_before=database.execute(f"SELECT avg(stars) {_WRITTEN}", earlier).fetchone()[0],
        stars={stars: sum(review.stars == stars for review in reviews) for stars in range(1, 6)},
        fallen=tuple(Rated(**dict(row)) for row in database.execute(_RATED, values)),
    )


def _mean(stars: list[int]) -> float | None:
    return sum(stars) / len(stars) if stars else None
