"""How well the parcel services do their work."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import date

from example_app.assistant.shares import percent
from example_app.periods import Period

__all__ = ["Carrier", "performance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """Parcels handed over in a period; ``late`` ones came after the promised day, or should have come by now."""

    name: str
    parcels: int
    delivered: int
    late: int
    overdue: int
    median_days: float | None
    slowest_days: int | None

    @property
    def late_percent(self) -> float:
        return percent(self.late, self.parcels)


_PERFORMANCE = """
WITH parcel AS (
    SELECT carrier, delivered_on, julianday(delivered_on) - julianday(shipped_on) AS days,
           coalesce(delivered_on, :today) > expected_on AS is_late,
           delivered_on IS NULL AND expected_on < :today AS is_overdue
    FROM shipment WHERE shipped_on BETWEEN :since AND :until
), ranked AS (
    SELECT carrier, days, row_number() OVER (PARTITION BY carrier ORDER BY days) AS place,
           count(*) OVER (PARTITION BY carrier) AS delivered
    FROM parcel WHERE delivered_on IS NOT NULL
), median AS (
    SELECT carrier, avg(days) AS days FROM ranked
    WHERE place IN ((delivered + 1) / 2, (delivered + 2) / 2) GROUP BY carrier
)
SELECT carrier AS name, count(*) AS parcels, count(delivered_on) AS delivered, sum(is_late) AS late,
       sum(is_overdue) AS overdue, median.days AS median_days, CAST(max(parcel.days) AS INTEGER) AS slowest_days
FROM parcel LEFT JOIN median USING (carrier) GROUP BY carrier
ORDER BY CAST(sum(is_late) AS REAL) / count(*), carrier
"""


def performance(database: sqlite3.Connection, today: date, period: Period) -> list[Carrier]:
    """Return the carriers that had parcels, the most punctual first."""
    rows = database.execute(_PERFORMANCE, {**period.bounds, "today": today.isoformat()})
    return [Carrier(**dict(row)) for row in rows]
