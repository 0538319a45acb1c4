"""The demo shop's first contents: every table tells the same story as the others."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from datetime import date, datetime, timedelta

import pytest

from example_app import database, periods, seed
from example_app.assistant import (
    forecast,
    loyalty,
    messages,
    movements,
    packing,
    payments,
    reorders,
    suspicions,
)

TODAY = date(2026, 11, 30)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("shop") / "shop.db"
    database.create(path, TODAY)
    connection = database.open_database(path)
    yield connection
    connection.close()


def rows(held, statement, *values):
    return [dict(row) for row in held.execute(statement, values)]


def test_two_years_of_orders_end_today(held):
    (days,) = rows(held, "SELECT min(placed_on) AS first, max(placed_on) AS last FROM orders")
    assert days["last"] == TODAY.isoformat()
    assert TODAY - timedelta(days=730) <= date.fromisoformat(days["first"]) < TODAY - timedelta(days=600)


def test_nothing_has_happened_after_today(held):
    for table, column in (
        ("orders", "placed_on"),
        ("shipment", "shipped_on"),
        ("shipment", "delivered_on"),
        ("return_case", "opened_on"),
        ("payment", "happened_on"),
        ("message", "received_on"),
        ("message", "answered_on"),
        ("review", "written_on"),
        ("stock_movement", "made_at"),
        ("price_change", "made_at"),
        ("note", "made_at"),
    ):
        (last,) = rows(held, f"SELECT max({column}) AS day FROM {table}")
        assert date.fromisoformat(last["day"][:10]) <= TODAY, (table, column)


def test_every_line_was_sold_at_the_price_of_its_day(held):
    changes = rows(held, "SELECT sku, before_cents, after_cents, made_at FROM price_change ORDER BY made_at")
    now = {row["sku"]: row["price_cents"] for row in rows(held, "SELECT sku, price_cents FROM product")}

    def price(sku: str, day: str) -> int:
        later = [row for row in changes if row["sku"] == sku and row["made_at"][:10] > day]
        return later[0]["before_cents"] if later else now[sku]

    lines = rows(held, "SELECT sku, unit_cents, placed_on FROM order_line JOIN orders USING (number)")
    wrong = [line for line in lines if line["unit_cents"] != price(line["sku"], line["placed_on"])]
    assert wrong == []
    assert any(line["unit_cents"] != now[line["sku"]] for line in lines)


def test_the_price_history_leads_to_the_price_of_today(held):
    for row in rows(held, "SELECT sku, after_cents, max(id) FROM price_change GROUP BY sku"):
        (product,) = rows(held, "SELECT price_cents FROM product WHERE sku = ?", row["sku"])
        assert product["price_cents"] == row["after_cents"]


def test_between_two_movements_of_a_shelf_goods_only_leave_it(held):
    shelves: dict[tuple[str, str], list[dict]] = {}
    for row in rows(held, "SELECT * FROM stock_movement ORDER BY made_at, id"):
        shelves.setdefault((row["sku"], row["city"]), []).append(row)
    for (sku, city), moved in shelves.items():
        (there,) = rows(held, "SELECT quantity FROM stock WHERE sku = ? AND city = ?", sku, city)
        found = [row["before"] for row in moved[1:]] + [there["quantity"]]
        assert all(left <= row["after"] for left, row in zip(found, moved, strict=True)), (sku, city)


def test_every_order_was_paid_for_or_shows_why_not(held):
    unpaid = rows(
        held,
        "SELECT number, group_concat(state) AS states FROM orders LEFT JOIN payment USING (number)"
        " GROUP BY number HAVING count(CASE WHEN state = 'captured' THEN 1 END) = 0",
    )
    assert unpaid
    for row in unpaid:
        assert set(row["states"].split(",")) & {"open", "disputed"}, row


def test_nobody_bought_before_he_was_a_customer(held):
    early = rows(
        held,
        "SELECT number FROM orders JOIN customer ON customer.id = customer_id WHERE placed_on < member_since",
    )
    assert early == []


def test_nobody_wrote_about_an_order_that_was_not_placed_yet(held):
    early = rows(held, "SELECT * FROM message JOIN orders USING (number) WHERE received_on < placed_on")
    assert early == []


def test_every_product_has_a_supplier_and_earns_something(held):
    thin = rows(
        held,
        "SELECT sku FROM product LEFT JOIN supply USING (sku) LEFT JOIN supplier ON supplier.name = supplier"
        " WHERE lead_days IS NULL OR cost_cents * 1.19 >= price_cents",
    )
    assert thin == []


def test_the_first_contents_are_there_within_a_second(monkeypatch):
    monkeypatch.setattr(seed.people, "generate_password_hash", lambda password: "scrypt:")  # slow on purpose
    empty = sqlite3.connect(":memory:")
    empty.row_factory = sqlite3.Row
    empty.executescript(database._SCHEMA.read_text("utf-8"))
    start = time.process_time()
    seed.fill(empty, TODAY)
    assert time.process_time() - start < 1
    empty.close()


@pytest.mark.parametrize("days", [0, 33, 101, 250, 365, 500])
def test_on_any_day_there_is_something_to_show(monkeypatch, days):
    monkeypatch.setattr(seed.people, "generate_password_hash", lambda password: "scrypt:")
    today = TODAY + timedelta(days=days)
    shop = sqlite3.connect(":memory:")
    shop.row_factory = sqlite3.Row
    shop.executescript(database._SCHEMA.read_text("utf-8"))
    seed.fill(shop, today)
    found = {
        "payments": {problem.kind for problem in payments.problems(shop, today)},
        "messages": messages.unanswered(shop, today),
        "queue": packing.queue(shop, today),
        "reorders": reorders.plan(shop, today),
        "silent": loyalty.at_risk(shop, today),
        "odd": suspicions.orders(shop, periods.named("last_30_days", today)),
        "lost": movements.losses(shop, periods.named("last_90_days", today)),
        "growth": forecast.ahead(shop, today, 4).growth,
    }
    shop.close()
    assert all(found.values()), found
    assert found["payments"] == set(payments.KINDS) - {"unpaid"}


@pytest.mark.parametrize("day", [date(2027, 2, 28), date(2028, 2, 29), date(2026, 1, 1)])
def test_the_shop_opens_on_any_day(tmp_path, day):
    database.create(tmp_path / "shop.db", day)
    opened = database.open_database(tmp_path / "shop.db")
    (last,) = opened.execute("SELECT max(placed_on) FROM orders").fetchone()
    opened.close()
    assert datetime.fromisoformat(last).date() == day
