"""The demo shop's rows for its read tools' tests: read without a join, and reckoned with in plain Python."""

from __future__ import annotations

from datetime import date
from typing import Any

from flask import Flask

from example_app import database, periods
from example_app.identity import PERMISSIONS
from flask_litro_agent import Actor
from flask_litro_agent.core.outcome import Ran

ANNA = Actor("account:1", "Anna Berg", PERMISSIONS["customer"], {"role": "customer", "customer_id": 1})
SAM = Actor("account:2", "Sam Ritter", PERMISSIONS["support"], {"role": "support", "customer_id": None})
OLGA = Actor("account:3", "Olga Stein", PERMISSIONS["operator"], {"role": "operator", "customer_id": None})
TABLES = (
    "orders",
    "order_line",
    "product",
    "supply",
    "supplier",
    "stock",
    "place",
    "customer",
    "vat_rate",
    "shipment",
    "return_case",
    "refund",
    "payment",
    "message",
    "review",
    "stock_movement",
)


class Shop:
    """The rows of a shop, read once and without a join; ``ask`` calls a tool."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self.held = database.open_database(app.config["SHOP_DATABASE"])
        self.read()

    def read(self) -> None:
        self.rows = {
            table: [dict(row) for row in self.held.execute(f"SELECT * FROM {table}")] for table in TABLES
        }
        self.products = {row["sku"]: row for row in self.rows["product"]}
        self.supply = {row["sku"]: row for row in self.rows["supply"]}
        self.customers = {row["id"]: row for row in self.rows["customer"]}
        self.orders = {row["number"]: row for row in self.rows["orders"]}
        self.rates = {row["country"]: row["rate"] for row in self.rows["vat_rate"]}

    def write(self, statement: str, *values: Any) -> None:
        with self.held:
            self.held.execute(statement, values)
        self.read()

    def call(self, tool: str, *, actor: Actor = OLGA, **arguments: Any) -> Any:
        gate = self.app.extensions["litro_agent"].gate
        return gate.call("assistant", tool, arguments, actor=actor, origin="test")

    def ask(self, tool: str, *, actor: Actor = OLGA, **arguments: Any) -> Any:
        outcome = self.call(tool, actor=actor, **arguments)
        assert isinstance(outcome, Ran), outcome
        return outcome.value

    def label(self, sku: str) -> str:
        return f"{self.products[sku]['name']}, {self.products[sku]['colour']}"

    def rate(self, order: dict[str, Any]) -> int:
        return self.rates[self.customers[order["customer_id"]]["country"]]

    def sold(self, since: date | None = None, until: date | None = None) -> list[dict[str, Any]]:
        """The lines of orders that were not cancelled, each with its order's row."""
        lines = [{**self.orders[line["number"]], **line} for line in self.rows["order_line"]]
        return [
            line
            for line in lines
            if line["status"] != "cancelled"
            and (since is None or line["placed_on"] >= since.isoformat())
            and (until is None or line["placed_on"] <= until.isoformat())
        ]

    def total(self, number: int) -> int:
        goods = [line for line in self.rows["order_line"] if line["number"] == number]
        return self.orders[number]["shipping_cents"] + sum(map(value, goods))


def value(line: dict[str, Any]) -> int:
    return line["quantity"] * line["unit_cents"]


def net(cents: int, rate: int) -> int:
    return round(cents * 10000 / (10000 + rate))


def cents(price: str) -> int:
    return int(price.replace("€", "").replace(",", "").replace(".", ""))


def share(part: float, whole: float) -> float:
    return round(100 * part / whole, 1)


def days_since(day: str) -> int:
    return (date.today() - date.fromisoformat(day)).days


def period(name: str) -> tuple[date, date]:
    found = periods.named(name, date.today())
    return found.since, found.until
