"""What stays of a sale: its value without VAT, less what the goods cost us at today's purchase prices."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from example_app.assistant.shares import percent
from example_app.periods import Period

__all__ = ["SORTS", "Margin", "by_product", "whole"]

SORTS = ("lowest", "highest", "earned")


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    sku: str
    product: str
    pieces: int
    net_cents: int
    cost_cents: int

    @property
    def earned_cents(self) -> int:
        return self.net_cents - self.cost_cents

    @property
    def percent(self) -> float:
        """The share of the price without VAT that we keep."""
        return percent(self.earned_cents, self.net_cents)


_KEYS = {
    "lowest": lambda margin: (margin.percent, margin.sku),
    "highest": lambda margin: (-margin.percent, margin.sku),
    "earned": lambda margin: (-margin.earned_cents, margin.sku),
}


def by_product(
    database: sqlite3.Connection, period: Period, *, category: str | None = None, sort: str = "lowest"
) -> list[Margin]:
    """Return every product that was sold in the period, in the order of ``sort``."""
    rows = database.execute(
        "SELECT sku, product, sum(quantity) AS pieces, sum(net_cents) AS net_cents, sum(cost_cents) AS cost_cents"
        " FROM sale WHERE placed_on BETWEEN :since AND :until AND (:category IS NULL OR category = :category)"
        " GROUP BY sku",
        {**period.bounds, "category": category},
    )
    return sorted((Margin(**dict(row)) for row in rows), key=_KEYS[sort])


def whole(margins: list[Margin]) -> Margin:
    """Return the sum of all."""
    return Margin(
        sku="",
        product="all",
        pieces=sum(margin.pieces for margin in margins),
        net_cents=sum(margin.net_cents for margin in margins),
        cost_cents=sum(margin.cost_cents for margin in margins),
    )
