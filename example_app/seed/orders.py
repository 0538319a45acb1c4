"""Two years of orders, with their parcels, payments and returns."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from example_app.seed.goods import price_at
from example_app.seed.rows import insert

__all__ = ["Orders"]

_FIRST_ORDER = 1001
_ORDERS = 120
_OLDER = 110
_ANNOUNCED = 3
_ANNAS = frozenset({1020, 1055, 1084, 1104, 1111, 1118})  # the demo customer's own: one travels, one is new
_DISPUTED = frozenset({1086})
_UNDERPAID = frozenset({1094, 1101})
_CARRIERS = ("DHL", "GLS", "PostNL")
_DELAYS = {"DHL": (-1, 0, 0, 0, 1), "GLS": (-1, 0, 1, 2, 4), "PostNL": (0, 0, 0, 1, 2)}
_WAY = ("left our warehouse in Leipzig", "at the sorting centre", "in the delivery van")
#: How many orders come in each hour of the day, and in each month of the year.
_HOURS = (1, 1, 0, 0, 0, 1, 1, 2, 3, 4, 5, 5, 6, 5, 4, 4, 5, 6, 8, 10, 12, 11, 7, 3)
_MONTHS = (3, 3, 4, 6, 8, 9, 9, 7, 5, 4, 6, 8)


@dataclass(frozen=True, slots=True)
class Orders:
    """Fills the tables of orders; each method throws the dice that it is given."""

    database: sqlite3.Connection
    products: Sequence[Mapping[str, Any]]
    shop: Mapping[str, Any]
    history: Mapping[str, Any]
    today: date

    def fill_newest(self, chance: random.Random) -> None:
        """Insert the orders of the last year."""
        clock = random.Random(22)
        for number in range(_FIRST_ORDER, _FIRST_ORDER + _ORDERS):
            days = _age(number)
            customer = 1 if number in _ANNAS else chance.randint(2, len(self.shop["customers"]))
            lines = [(product, chance.choice((1, 1, 1, 2))) for product in _basket(self.products, chance)]
            status = _status(days, chance.random() if customer != 1 else 1.0)
            self._place(number, customer, lines, status, days, clock)
            self._ship(number, status, days, chance)

    def fill_older(self, reasons: Sequence[str], chance: random.Random) -> None:
        """Insert the orders of the year before, by those who were customers then, and their returns."""
        ages = range(366, 731)
        busy = [_MONTHS[(self.today - timedelta(days=days)).month - 1] for days in ages]
        placed = sorted(chance.choices(ages, weights=busy, k=_OLDER), reverse=True)
        for number, days in enumerate(placed, _FIRST_ORDER - _OLDER):
            lines = [(product, chance.choice((1, 1, 1, 2))) for product in _basket(self.products, chance)]
            status = "cancelled" if chance.random() < 0.05 else "delivered"
            known = self._customers(days)
            buyer = known[
                int(chance.random() * len(known))
            ]  # one die, however many there are: it is any day's
            self._place(number, buyer, lines, status, days, chance)
            self._ship(number, status, days, chance, _DELAYS)
        self.fill_returns(reasons, chance, before=_FIRST_ORDER)

    def _customers(self, days: int) -> list[int]:
        """Return who was a customer so many days ago; the demo's own customer has all his orders already."""
        rows = self.database.execute(
            "SELECT id FROM customer WHERE id > 1 AND member_since <= ? ORDER BY id",
            ((self.today - timedelta(days=days)).isoformat(),),
        )
        return [row["id"] for row in rows]

    def _place(
        self,
        number: int,
        customer: int,
        lines: Sequence[tuple[Mapping[str, Any], int]],
        status: str,
        days: int,
        clock: random.Random,
    ) -> None:
        name, _, country = self.shop["customers"][customer - 1]
        priced = [
            (product["sku"], quantity, price_at(product, self.history, days)) for product, quantity in lines
        ]
        goods = sum(quantity * cents for _, quantity, cents in priced)
        rate = next(rate for rate in self.shop["shipping"] if rate["country"] == country)
        row = {
            "number": number,
            "customer_id": customer,
            "placed_on": (self.today - timedelta(days=days)).isoformat(),
            "status": status,
            "shipping_cents": 0 if goods >= rate["free_from_cents"] else rate["standard_cents"],
            "placed_at": _time(days, clock),
            "ships_to": f"{name}, {self._street(customer, number)}, {country}",
        }
        insert(self.database, "orders", [row])
        for position, (sku, quantity, cents) in enumerate(priced, 1):
            line = (number, position, sku, quantity, cents)
            self.database.execute("INSERT INTO order_line VALUES (?, ?, ?, ?, ?)", line)

    def _street(self, customer: int, number: int) -> str:
        """Return where a customer has his parcels sent: home, and now and then to a neighbour in his town."""
        city = self.shop["customers"][customer - 1][1]
        street, postcode = self.history["streets"][city]
        near = [place for place, (_, town, _) in enumerate(self.shop["customers"], 1) if town == city]
        door = near[0] if number % 17 == 0 else customer
        return f"{street} {3 + door * 7 % 90}, {postcode} {city}"

    def _ship(
        self,
        number: int,
        status: str,
        days: int,
        chance: random.Random,
        delays: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        if status not in ("shipped", "delivered"):
            return
        shipped = self.today - timedelta(days=days - 2)
        expected = shipped + timedelta(days=chance.randint(2, 4))
        if delays is None:
            delay, carrier = chance.choice((-1, 0, 0, 1)), None
        else:
            carrier = chance.choice(_CARRIERS)
            delay = chance.choice(delays[carrier])
        delivered = min(expected + timedelta(days=delay), self.today)
        carrier = carrier or chance.choice(_CARRIERS)
        arrived = status == "delivered"
        row = {
            "number": number,
            "carrier": carrier,
            "tracking_code": f"{carrier[:2].upper()}{chance.randint(10**9, 10**10 - 1)}",
            "shipped_on": shipped.isoformat(),
            "expected_on": expected.isoformat(),
            "delivered_on": delivered.isoformat() if arrived else None,
            "last_seen": "handed over at the door" if arrived else chance.choice(_WAY),
        }
        insert(self.database, "shipment", [row])

    def fill_returns(self, reasons: Sequence[str], chance: random.Random, before: int | None = None) -> None:
        """Insert what came back of the delivered orders; ``before`` leaves out later numbers."""
        delivered = self.database.execute(
            "SELECT number, sku, unit_cents, delivered_on FROM order_line JOIN shipment USING (number)"
            " WHERE delivered_on IS NOT NULL AND number < ? ORDER BY number, position",
            (before or _FIRST_ORDER + _ORDERS,),
        ).fetchall()
        for row in delivered:
            if chance.random() >= 0.08:
                continue
            opened = date.fromisoformat(row["delivered_on"]) + timedelta(days=chance.randint(1, 20))
            if opened > self.today:
                continue
            state = _return_state((self.today - opened).days, chance)
            case = {
                "number": row["number"],
                "sku": row["sku"],
                "quantity": 1,
                "reason": chance.choice(reasons),
                "state": state,
                "opened_on": opened.isoformat(),
                "refund_cents": row["unit_cents"] if state == "refunded" else 0,
            }
            insert(self.database, "return_case", [case])

    def announce_returns(self, reasons: Sequence[str]) -> None:
        """Insert what customers will send back and what has not arrived yet, the demo's own customer first."""
        announced = self.database.execute(
            "SELECT number, sku FROM order_line JOIN orders USING (number) WHERE status = 'delivered' AND position = 1"
            " AND (number, sku) NOT IN (SELECT number, sku FROM return_case)"
            " ORDER BY customer_id = 1 DESC, number DESC LIMIT ?",
            (_ANNOUNCED,),
        ).fetchall()
        for reason, (number, sku) in zip(reasons, announced, strict=False):
            case = {
                "number": number,
                "sku": sku,
                "quantity": 1,
                "reason": reason,
                "state": "opened",
                "opened_on": self.today.isoformat(),
                "refund_cents": 0,
            }
            insert(self.database, "return_case", [case])

    def fill_payments(self, chance: random.Random) -> None:
        """Insert how every order was paid, and how it failed before that."""
        rows = self.database.execute(
            "SELECT number, status, placed_on, shipping_cents + sum(quantity * unit_cents) AS total"
            " FROM orders JOIN order_line USING (number) GROUP BY number ORDER BY number"
        ).fetchall()
        for order in rows:
            days = (self.today - date.fromisoformat(order["placed_on"])).days
            thrown = chance.choices(("card", "wallet", "invoice", "transfer"), weights=(10, 5, 3, 2))[0]
            method = "card" if order["number"] in _ANNAS else thrown  # her money is here: it can go back
            for state, cents, waited in _payments(method, order, days, chance):
                row = {
                    "number": order["number"],
                    "method": method,
                    "state": state,
                    "amount_cents": cents,
                    "happened_on": (self.today - timedelta(days=max(0, days - waited))).isoformat(),
                }
                insert(self.database, "payment", [row])


def _age(number: int) -> int:
    """Return how many days ago an order was placed: over a year, the more the nearer to today."""
    newer = _FIRST_ORDER + _ORDERS - 1 - number
    return int(0.5 + 365 * (newer / _ORDERS) ** 1.6)


def _time(days: int, clock: random.Random) -> str:
    """Return the time of day; today is young."""
    hour = 0 if days == 0 else clock.choices(range(24), weights=_HOURS)[0]
    return f"{hour:02d}:{clock.randrange(60):02d}"


def _basket(products: Sequence[Mapping[str, Any]], chance: random.Random) -> Sequence[Mapping[str, Any]]:
    liked = [2.0 / (1 + index % 7) for index in range(len(products))]
    chosen = chance.choices(products, weights=liked, k=chance.choice((1, 1, 2, 2, 3, 4)))
    return list({product["sku"]: product for product in chosen}.values())


def _status(days: int, luck: float) -> str:
    """Return what has become of an order by now; with little luck it was cancelled, or its parcel is stuck."""
    if luck < 0.05:
        return "cancelled"
    if 8 < days < 25 and luck < 0.25:
        return "shipped"
    if days <= 1:
        return "paid"
    if days <= 3:
        return "packed"
    return "shipped" if days <= 8 else "delivered"


def _return_state(days: int, chance: random.Random) -> str:
    if days < 6:
        return "opened"
    if days < 12:
        return "received"
    return "declined" if chance.random() < 0.15 else "refunded"


def _payments(
    method: str, order: sqlite3.Row, days: int, chance: random.Random
) -> Iterator[tuple[str, int, int]]:
    """Yield each attempt: its state, its cents, and how many days after the order it happened."""
    number, total = order["number"], order["total"]
    if method in ("card", "wallet") and chance.random() < 0.18:
        for _ in range(chance.choice((1, 1, 2, 3))):
            yield "failed", total, 0
    luck = chance.random()
    if order["status"] == "cancelled":
        yield "captured", total, 0
        if luck < 0.8:
            yield "returned", total, 3
    elif method == "invoice" and (days < 14 or (days < 200 and luck < 0.2)):
        yield "open", total, 0
    elif number in _DISPUTED:
        yield "disputed", total, 20
    elif number in _UNDERPAID:
        yield "captured", total - 490, 1
    else:
        yield "captured", total, chance.randint(5, 13) if method == "invoice" else 0
