"""The demo shop's tools about sales: every figure again by plain Python over the rows, and the edges."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import date, timedelta

import pytest

from example_app.money import euros
from tests.shop_rows import cents, net, period, share, value

pytest_plugins = ["tests.shop_fixtures"]

# when


@pytest.mark.parametrize("name", ["last_90_days", "last_12_months"])
def test_every_order_is_in_one_weekday_and_one_hour(shop, name):
    found = shop.ask("busy_hours", period=name)
    lines = shop.sold(*period(name))
    numbers = {line["number"] for line in lines}
    assert found["orders"] == len(numbers)
    assert sum(hour["orders"] for hour in found["hours"]) == len(numbers)
    for day in found["weekdays"]:
        mine = [line for line in lines if f"{date.fromisoformat(line['placed_on']):%A}" == day["weekday"]]
        assert day["orders"] == len({line["number"] for line in mine})
        assert day["turnover"] == euros(sum(map(value, mine)))
    for hour in found["hours"]:
        mine = [line for line in lines if line["placed_at"][:2] == hour["hour"][:2]]
        assert hour["orders"] == len({line["number"] for line in mine})


def test_the_busiest_weekday_has_most_orders_for_its_number_of_days(shop):
    found = shop.ask("busy_hours", period="this_month")
    best = max(day["orders_a_day"] for day in found["weekdays"])
    named = next(day for day in found["weekdays"] if day["weekday"] == found["busiest_weekday"])
    assert named["orders_a_day"] == best


def test_a_category_has_its_own_hours(shop):
    found = shop.ask("busy_hours", period="last_12_months", category="tents")
    lines = [line for line in shop.sold(*period("last_12_months")) if line["sku"].startswith("TNT")]
    assert found["orders"] == len({line["number"] for line in lines})


# what stays


def test_a_margin_is_the_price_without_vat_less_the_purchase_price(shop):
    found = shop.ask("product_margins", period="last_12_months", limit=50)
    lines = shop.sold(*period("last_12_months"))
    assert {row["sku"] for row in found["products"]} == {line["sku"] for line in lines}
    for row in found["products"]:
        mine = [line for line in lines if line["sku"] == row["sku"]]
        taken = sum(net(value(line), shop.rate(line)) for line in mine)
        cost = sum(line["quantity"] for line in mine) * shop.supply[row["sku"]]["cost_cents"]
        assert (row["net_turnover"], row["purchase_cost"]) == (euros(taken), euros(cost))
        assert row["earned"] == euros(taken - cost)
        assert row["margin_percent"] == share(taken - cost, taken)


@pytest.mark.parametrize(("sort", "backwards"), [("lowest", False), ("highest", True)])
def test_margins_come_in_the_order_asked_for(shop, sort, backwards):
    found = shop.ask("product_margins", period="last_12_months", sort=sort, limit=50)
    percents = [row["margin_percent"] for row in found["products"]]
    assert percents == sorted(percents, reverse=backwards)


def test_months_add_up_to_all_orders_with_their_shipping_and_vat(shop):
    found = shop.ask("monthly_revenue", months=3)
    assert found["months"][0]["month"] == f"{date.today():%Y-%m}"
    for row in found["months"]:
        orders = [
            order
            for order in shop.orders.values()
            if order["status"] != "cancelled" and order["placed_on"][:7] == row["month"]
        ]
        gross = sum(shop.total(order["number"]) for order in orders)
        without = sum(net(shop.total(order["number"]), shop.rate(order)) for order in orders)
        back = sum(
            case["refund_cents"] for case in shop.rows["return_case"] if case["opened_on"][:7] == row["month"]
        )
        assert (row["orders"], row["gross"]) == (len(orders), euros(gross))
        assert (row["net"], row["vat"]) == (euros(without), euros(gross - without))
        assert row["refunds"] == euros(back)
    assert found["gross"] == euros(sum(cents(row["gross"]) for row in found["months"]))
    assert found["vat"] == euros(sum(cents(row["vat"]) for row in found["vat_by_country"]))


def test_a_month_is_set_against_the_one_before_and_the_year_before(shop):
    rows = shop.ask("monthly_revenue", months=24)["months"]
    for place, row in enumerate(rows):
        for name, back in (
            ("change_to_month_before_percent", 1),
            ("change_to_year_before_percent", 12),
        ):
            before = cents(rows[place + back]["gross"]) if place + back < len(rows) else None
            if before:
                assert row[name] == round(100 * (cents(row["gross"]) - before) / before, 1)


def test_a_refund_that_was_approved_counts_in_its_month(own_shop):
    before = cents(own_shop.ask("monthly_revenue", months=1)["refunds"])
    own_shop.write(
        "INSERT INTO refund (number, amount_cents, reason, key, asked_by, approved_by, made_at)"
        " VALUES (1020, 1234, 'x', 'k', 'account:2', 'account:3', ?)",
        f"{date.today()}T10:00:00+00:00",
    )
    assert cents(own_shop.ask("monthly_revenue", months=1)["refunds"]) == before + 1234


# what comes


def test_the_forecast_is_last_year_grown_as_the_shop_has_grown(shop):
    found = shop.ask("sales_forecast", weeks=6)
    today = date.today()
    recent = sum(map(value, shop.sold(today - timedelta(days=55), today)))
    twin = sum(map(value, shop.sold(today - timedelta(days=55 + 364), today - timedelta(days=364))))
    growth = recent / twin
    assert found["growth_percent"] == round(100 * (growth - 1), 1)
    used = min(2.0, max(0.5, growth))
    assert len(found["weeks"]) == 6
    for place, week in enumerate(found["weeks"]):
        since = today + timedelta(days=1 + 7 * place)
        last = sum(
            map(
                value, shop.sold(since - timedelta(days=364), since + timedelta(days=6) - timedelta(days=364))
            )
        )
        assert (week["since"], week["last_year"]) == (since.isoformat(), euros(last))
        assert week["expected"] == euros(round(last * used))


def test_without_a_year_before_there_is_no_forecast(own_shop):
    own_shop.write("DELETE FROM order_line WHERE number < 1001")
    found = own_shop.ask("sales_forecast")
    assert (found["possible"], found["weeks"]) == (False, [])


def test_pairs_are_counted_by_orders(shop):
    found = shop.ask("bought_together", period="last_12_months", limit=50)
    baskets: dict[int, set[str]] = defaultdict(set)
    for line in shop.sold(*period("last_12_months")):
        baskets[line["number"]].add(shop.label(line["sku"]))
    both = Counter(
        frozenset((one, other))
        for basket in baskets.values()
        for one in basket
        for other in basket
        if one < other
    )
    each = Counter(product for basket in baskets.values() for product in basket)
    assert found["total"] == sum(count >= 2 for count in both.values())
    assert [row["orders"] for row in found["pairs"]] == sorted(
        (row["orders"] for row in found["pairs"]), reverse=True
    )
    for row in found["pairs"]:
        together = both[frozenset((row["first"], row["second"]))]
        assert row["orders"] == together
        assert row["share_percent"] == share(together, each[row["first"]])
        assert row["lift"] == round(together * len(baskets) / (each[row["first"]] * each[row["second"]]), 2)


def test_the_pairs_of_one_product_all_start_with_it(shop):
    found = shop.ask("bought_together", product="Fjell 2", period="last_12_months", least=1, limit=50)
    assert {row["first"] for row in found["pairs"]} == {found["product"]}
    assert found["product"] not in {row["second"] for row in found["pairs"]}
