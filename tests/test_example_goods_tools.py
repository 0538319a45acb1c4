"""The demo shop's tools about goods: what lies, what to order, what is lost, and what comes back."""

from __future__ import annotations

import math
from collections import Counter
from datetime import date, timedelta

import pytest

from example_app import stock
from example_app.money import euros
from tests.shop_rows import period, share

pytest_plugins = ["tests.shop_fixtures"]

# goods


@pytest.mark.parametrize("days", [30, 90, 365])
def test_dead_stock_was_not_sold_and_ties_up_its_purchase_price(shop, days):
    found = shop.ask("dead_stock", days=days, limit=50)
    limit = (date.today() - timedelta(days=days)).isoformat()
    last = {}
    for line in shop.sold():
        last[line["sku"]] = max(last.get(line["sku"], ""), line["placed_on"])
    pieces = Counter()
    for level in shop.rows["stock"]:
        pieces[level["sku"]] += level["quantity"]
    dead = [sku for sku in shop.products if pieces[sku] and last.get(sku, "") < limit]
    assert {row["sku"] for row in found["products"]} == set(dead)
    assert found["tied_up"] == euros(sum(pieces[sku] * shop.supply[sku]["cost_cents"] for sku in dead))
    for row in found["products"]:
        assert (row["pieces"], row["last_sold_on"]) == (pieces[row["sku"]], last.get(row["sku"]))


def test_what_was_never_sold_is_dead_too(own_shop):
    own_shop.write("DELETE FROM order_line WHERE sku = 'COK-SPK-SLV'")
    row = next(row for row in own_shop.ask("dead_stock")["products"] if row["sku"] == "COK-SPK-SLV")
    assert (row["last_sold_on"], row["days_unsold"]) == (None, None)


def test_dead_stock_of_one_place_counts_only_what_lies_there(shop):
    whole = {row["sku"]: row["pieces"] for row in shop.ask("dead_stock", limit=50)["products"]}
    parts = Counter()
    for city in stock.CITIES:
        for row in shop.ask("dead_stock", city=city, limit=50)["products"]:
            parts[row["sku"]] += row["pieces"]
    assert parts == whole


@pytest.mark.parametrize("cover", [7, 30, 120])
def test_an_order_lasts_until_it_comes_and_as_long_as_asked_for(shop, cover):
    found = shop.ask("reorder_plan", cover_days=cover, limit=50)
    lead = {row["name"]: row["lead_days"] for row in shop.rows["supplier"]}
    wanted = {}
    recent = shop.sold(date.today() - timedelta(days=89))
    for sku, row in shop.supply.items():
        sold = sum(line["quantity"] for line in recent if line["sku"] == sku)
        here = [level for level in shop.rows["stock"] if level["sku"] == sku]
        needed = sold / 90 * (lead[row["supplier"]] + cover) + sum(level["reorder_level"] for level in here)
        missing = math.ceil(round(needed - sum(level["quantity"] for level in here), 6))
        if sold and missing > 0:
            wanted[sku] = math.ceil(missing / row["box"]) * row["box"]
    assert {row["sku"]: row["order"] for row in found["products"]} == wanted
    assert found["cost"] == euros(sum(shop.supply[sku]["cost_cents"] * n for sku, n in wanted.items()))
    assert sum(row["pieces"] for row in found["suppliers"]) == sum(wanted.values())


def test_a_supplier_has_only_his_own_goods_and_an_unknown_one_none(shop):
    found = shop.ask("reorder_plan", supplier="nordwand")
    assert {row["supplier"] for row in found["products"]} == {"Nordwand Textil"}
    missing = shop.ask("reorder_plan", supplier="Globetrotter")
    assert missing["found"] is False
    assert len(missing["suppliers"]) == len(shop.rows["supplier"])


def test_what_nobody_buys_is_not_ordered(own_shop):
    own_shop.write("UPDATE stock SET quantity = 0 WHERE sku = 'COK-SPK-SLV'")
    own_shop.write("DELETE FROM order_line WHERE sku = 'COK-SPK-SLV'")
    assert "COK-SPK-SLV" not in {row["sku"] for row in own_shop.ask("reorder_plan", limit=50)["products"]}


def test_a_stock_history_explains_the_stock_of_today(shop):
    for sku in ("PCK-TRK65-RED", "COK-CLR-BLU", "LGT-L400-ORG"):
        for city in stock.CITIES:
            found = shop.ask("stock_history", product=sku, city=city, limit=50)
            moved = [row for row in shop.rows["stock_movement"] if (row["sku"], row["city"]) == (sku, city)]
            assert found["total"] == len(moved)
            there = found["in_stock"]
            for row in found["movements"]:
                assert row["after"] - row["sold_until_next"] == there
                there = row["before"]


def test_a_stock_history_counts_each_kind(shop):
    found = shop.ask("stock_history", product="PCK-TRK65-RED", limit=50)
    kinds = Counter()
    for row in shop.rows["stock_movement"]:
        if row["sku"] == "PCK-TRK65-RED":
            kinds[row["kind"]] += row["after"] - row["before"]
    assert found["change_by_kind"] == dict(kinds)
    assert {row["asked_by"] for row in found["movements"]} <= {"Olga Stein", "Otto Lang", "Sam Ritter"}


def test_an_unknown_product_has_no_history(shop):
    assert shop.ask("stock_history", product="bicycle")["found"] is False
    assert shop.ask("bought_together", product="bicycle")["found"] is False


def test_losses_are_what_counts_and_damages_took(shop):
    since, until = period("last_12_months")
    found = shop.ask("stock_losses", period="last_12_months", limit=50)
    lost = Counter()
    for row in shop.rows["stock_movement"]:
        if since.isoformat() <= row["made_at"][:10] <= until.isoformat() and row["kind"] in (
            "count",
            "damage",
        ):
            lost[row["sku"], row["city"]] += row["before"] - row["after"]
    wanted = {place: pieces for place, pieces in lost.items() if pieces > 0}
    assert found["total"] == len(wanted)
    assert found["pieces"] == sum(wanted.values()) == sum(row["pieces"] for row in found["places"])
    assert found["value"] == euros(
        sum(pieces * shop.supply[sku]["cost_cents"] for (sku, _), pieces in wanted.items())
    )
    for row in found["losses"]:
        assert row["pieces"] == wanted[row["sku"], row["city"]]


def test_a_delivery_is_no_loss_and_no_find(own_shop):
    before = own_shop.ask("stock_losses")
    own_shop.write(
        "INSERT INTO stock_movement (sku, city, before, after, kind, reason, key, asked_by, approved_by, made_at)"
        " VALUES ('PCK-TRK65-RED', 'Leipzig', 5, 1, 'transfer', 'to Berlin', 'k', 'account:3', 'account:4', ?)",
        f"{date.today()}T10:00:00+00:00",
    )
    assert own_shop.ask("stock_losses") == before


# what comes back


def test_a_return_rate_is_of_the_pieces_of_the_same_orders(shop):
    found = shop.ask("return_rates", period="last_12_months", least_sold=1, limit=50)
    lines = shop.sold(*period("last_12_months"))
    numbers = {line["number"] for line in lines}
    sold, returned, money = Counter(), Counter(), Counter()
    for line in lines:
        sold[line["sku"]] += line["quantity"]
    for case in shop.rows["return_case"]:
        if case["number"] in numbers:
            returned[case["sku"]] += case["quantity"]
            money[case["sku"]] += case["refund_cents"]
    assert {row["sku"]: row["returned"] for row in found["products"]} == dict(returned)
    for row in found["products"]:
        assert row["rate_percent"] == share(returned[row["sku"]], sold[row["sku"]])
        assert row["refunds"] == euros(money[row["sku"]])
        reasons = Counter(
            case["reason"]
            for case in shop.rows["return_case"]
            if case["sku"] == row["sku"] and case["number"] in numbers
        )
        assert reasons[row["main_reason"]] == max(reasons.values())
    assert found["whole"]["sold"] == sold.total()
    assert found["whole"]["rate_percent"] == share(returned.total(), sold.total())


def test_a_product_that_hardly_sold_is_left_out_of_the_rates(shop):
    found = shop.ask("return_rates", period="last_12_months", least_sold=10, limit=50)
    assert all(row["sold"] >= 10 for row in found["products"])
