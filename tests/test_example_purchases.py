"""Orders of the demo shop to its suppliers: whole boxes, one supplier, one price, and never the same twice unseen."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from example_app import purchases, stock
from example_app.assistant import reorders
from example_app.journal import By
from example_app.money import euros
from flask_litro_agent.core.outcome import Refused
from tests.shop_desk import ANNA, SAM, TREK, approve, propose, proposed

pytest_plugins = ["tests.shop_fixtures"]

TREK_50 = "PCK-TRK50-BLK"
TENT = "TNT-FJ2-GRN"


def order(quantities, city="Leipzig"):
    lines = [{"sku": sku, "quantity": quantity} for sku, quantity in quantities.items()]
    return {"city": city, "lines": lines}


@pytest.fixture
def two_packs(held):
    """Whole boxes of two products of one supplier."""
    return {sku: 2 * purchases.supply_of(held, sku).box for sku in (TREK, TREK_50)}


def cost(held, quantities):
    return sum(purchases.supply_of(held, sku).cost_cents * pieces for sku, pieces in quantities.items())


def test_an_order_is_placed_once_with_its_lines_at_todays_costs(app, held, olga, two_packs):
    asked = proposed(app, "order_from_supplier", **order(two_packs))
    assert held.execute("SELECT count(*) FROM purchase").fetchone()[0] == 0
    result = approve(olga, asked)
    supply = purchases.supply_of(held, TREK)
    due = (date.today() + timedelta(days=supply.lead_days)).isoformat()
    assert (result["supplier"], result["cost"]) == (supply.supplier, euros(cost(held, two_packs)))
    assert result["expected_on"] == due
    assert olga.decide("approve", asked.id).status_code == 409
    (row,) = held.execute("SELECT * FROM purchase").fetchall()
    assert (row["cost_cents"], row["city"], row["asked_by"]) == (
        cost(held, two_packs),
        "Leipzig",
        "account:3",
    )
    lines = held.execute("SELECT sku, quantity, unit_cents FROM purchase_line").fetchall()
    assert {line["sku"]: line["quantity"] for line in lines} == two_packs
    assert all(line["unit_cents"] == purchases.supply_of(held, line["sku"]).cost_cents for line in lines)


def test_it_shows_the_whole_cost_and_what_there_will_be_of_each_product(app, held, two_packs):
    supply = purchases.supply_of(held, TREK)
    whole, first, _ = proposed(app, "order_from_supplier", **order(two_packs)).preview
    assert whole == {
        "label": f"Order from {supply.supplier} to Leipzig, there in about {supply.lead_days} days",
        "before": "€0.00",
        "after": euros(cost(held, two_packs)),
    }
    lies = sum(level.quantity for level in stock.levels_of(held, TREK))
    assert first == {
        "label": f"Trek 65 Backpack, red at {euros(supply.cost_cents)}, in stock and on the way",
        "before": lies,
        "after": lies + two_packs[TREK],
    }


def test_what_is_on_the_way_counts_until_it_is_due(app, held, olga, two_packs):
    approve(olga, proposed(app, "order_from_supplier", **order(two_packs)))
    today, lead = date.today(), purchases.supply_of(held, TREK).lead_days
    assert purchases.on_the_way(held, TREK, today) == two_packs[TREK]
    assert purchases.on_the_way(held, TREK, today + timedelta(days=lead)) == two_packs[TREK]
    assert purchases.on_the_way(held, TREK, today + timedelta(days=lead + 1)) == 0
    assert purchases.on_the_way(held, TENT, today) == 0


def test_what_is_on_the_way_is_not_planned_once_more(app, held, olga):
    before = {each.sku: each for each in reorders.plan(held, date.today())}
    first = next(iter(before.values()))
    asked = proposed(app, "order_from_supplier", **order({first.sku: first.pieces}))
    approve(olga, asked)
    after = {each.sku: each for each in reorders.plan(held, date.today())}
    assert set(before) - set(after) == {first.sku}


def test_two_orders_of_the_same_do_not_both_go_out_unseen(app, held, olga, two_packs):
    first = proposed(app, "order_from_supplier", **order(two_packs))
    second = proposed(app, "order_from_supplier", **order(two_packs, city="Rotterdam"))
    approve(olga, first)
    assert olga.decide("approve", second.id).status_code == 409
    assert olga.card(second.id).json["reason"] == "as_of_changed"
    assert held.execute("SELECT count(*) FROM purchase").fetchone()[0] == 1


def test_an_order_that_has_gone_out_cannot_be_undone(app, olga, two_packs):
    asked = proposed(app, "order_from_supplier", **order(two_packs))
    approve(olga, asked)
    assert olga.decide("reverse", asked.id).status_code == 409


@pytest.mark.parametrize(
    ("quantities", "said"),
    [
        ({TREK: 3}, "Trek 65 Backpack, red comes in boxes of 4, not 3"),
        ({TREK: 4, TENT: 2}, "Fjordtuch and Sattel & Sohn need an order each"),
        ({"NO-SUCH": 4}, "no product with the article number NO-SUCH"),
    ],
)
def test_an_order_that_cannot_be_is_refused_in_words(app, quantities, said):
    refused = propose(app, "order_from_supplier", **order(quantities))
    assert isinstance(refused, Refused)
    assert said in refused.message


def test_a_product_stands_in_an_order_once(app):
    lines = [{"sku": TREK, "quantity": 4}, {"sku": TREK, "quantity": 8}]
    assert "twice" in propose(app, "order_from_supplier", city="Leipzig", lines=lines).message


def test_goods_are_ordered_to_warehouses(app, two_packs):
    assert propose(app, "order_from_supplier", **order(two_packs, city="Berlin")).code == "invalid_input"


@pytest.mark.parametrize("actor", [ANNA, SAM])
def test_orders_are_for_the_operator(app, two_packs, actor):
    assert propose(app, "order_from_supplier", actor=actor, **order(two_packs)).code == "forbidden"


def test_the_same_order_a_second_time_orders_nothing(held, two_packs):
    pieces = {purchases.supply_of(held, sku): quantity for sku, quantity in two_packs.items()}
    by = By("litro-1", "olga", "otto")
    first = purchases.place(held, "Leipzig", pieces, date.today(), by)
    made = held.total_changes
    assert purchases.place(held, "Leipzig", pieces, date.today(), by) == first
    assert held.total_changes == made
