"""The demo shop's tools about orders: packing, parcels, payments, suspicions, and the morning's overview."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from datetime import date, timedelta
from typing import Any

import pytest

from example_app.money import euros
from tests.shop_rows import Shop, cents, days_since, period, share, value

pytest_plugins = ["tests.shop_fixtures"]

# parcels, packing, payments


@pytest.mark.parametrize("name", ["last_90_days", "last_12_months"])
def test_a_carrier_is_measured_by_its_parcels(shop, name):
    since, until = period(name)
    found = shop.ask("carrier_performance", period=name)
    parcels = [
        row for row in shop.rows["shipment"] if since.isoformat() <= row["shipped_on"] <= until.isoformat()
    ]
    assert found["parcels"] == len(parcels)
    today = date.today().isoformat()
    for row in found["carriers"]:
        mine = [parcel for parcel in parcels if parcel["carrier"] == row["carrier"]]
        days = [
            (date.fromisoformat(parcel["delivered_on"]) - date.fromisoformat(parcel["shipped_on"])).days
            for parcel in mine
            if parcel["delivered_on"]
        ]
        late = [parcel for parcel in mine if (parcel["delivered_on"] or today) > parcel["expected_on"]]
        assert (row["parcels"], row["delivered"]) == (len(mine), len(days))
        assert row["median_days"] == statistics.median(days)
        assert row["slowest_days"] == max(days)
        assert (row["late"], row["late_percent"]) == (len(late), share(len(late), len(mine)))
    rates = [row["late_percent"] for row in found["carriers"]]
    assert rates == sorted(rates)


def test_the_packing_queue_has_every_order_that_has_not_left(shop):
    found = shop.ask("packing_queue")
    waiting = [order for order in shop.orders.values() if order["status"] in ("paid", "packed")]
    oldest = sorted(waiting, key=lambda order: (order["placed_on"], order["placed_at"], order["number"]))
    assert [row["number"] for row in found["orders"]] == [order["number"] for order in oldest]
    assert found["value"] == euros(sum(shop.total(order["number"]) for order in waiting))
    assert found["oldest_days"] == days_since(oldest[0]["placed_on"])
    assert found["to_pack"] + found["to_hand_over"] == found["total"] == len(waiting)


def test_an_order_says_what_stands_in_its_way(own_shop):
    own_shop.write(
        "UPDATE stock SET quantity = 0 WHERE sku = (SELECT sku FROM order_line WHERE number = 1118)"
    )
    own_shop.write("DELETE FROM payment WHERE number = 1118")
    own_shop.write(
        "INSERT INTO order_hold (number, held, key, asked_by, approved_by, made_at)"
        " VALUES (1118, 1, 'k', 'account:2', 'account:3', '2026-01-01T10:00:00+00:00')"
    )
    found = own_shop.ask("packing_queue")
    (row,) = [row for row in found["orders"] if row["number"] == 1118]
    assert row["obstacles"][:2] == ["on hold", "no payment"]
    assert row["obstacles"][2].startswith("not enough of ")
    assert found["stuck"] >= 1


def test_a_hold_that_was_let_go_is_no_obstacle(own_shop):
    for place, held in enumerate((1, 0)):
        own_shop.write(
            "INSERT INTO order_hold (number, held, key, asked_by, approved_by, made_at)"
            " VALUES (1118, ?, ?, 'account:2', 'account:3', '2026-01-01T10:00:00+00:00')",
            held,
            f"k{place}",
        )
    (row,) = [row for row in own_shop.ask("packing_queue")["orders"] if row["number"] == 1118]
    assert row["obstacles"] == []


def test_a_payment_problem_is_an_order_whose_money_does_not_fit_it(shop):
    found = shop.ask("payment_problems", limit=50)
    wanted = {}
    for number, order in shop.orders.items():
        sums = Counter()
        for payment in shop.rows["payment"]:
            if payment["number"] == number:
                sums[payment["state"]] += payment["amount_cents"]
        kind = problem(shop, order, sums)
        if kind:
            wanted[number] = kind
    assert {row["number"]: row["problem"] for row in found["problems"]} == wanted
    assert {"disputed", "overdue invoice", "paid too little", "not given back"} == set(wanted.values())
    assert sum(row["orders"] for row in found["kinds"]) == found["total"] == len(wanted)
    assert found["amount"] == euros(sum(cents(row["amount"]) for row in found["problems"]))


def problem(shop: Shop, order: dict[str, Any], sums: Counter[str]) -> str | None:
    if order["status"] == "cancelled":
        return "not given back" if sums["captured"] > sums["returned"] else None
    if sums["disputed"]:
        return "disputed"
    if sums["open"]:
        return "overdue invoice" if days_since(order["placed_on"]) > 14 else None
    if not sums["captured"]:
        return "unpaid"
    return "paid too little" if sums["captured"] < shop.total(order["number"]) else None


def test_an_order_without_any_payment_is_unpaid(own_shop):
    own_shop.write("DELETE FROM payment WHERE number = 1118")
    found = own_shop.ask("payment_problems", kind="unpaid")
    assert [(row["number"], row["amount"], row["method"]) for row in found["problems"]] == [
        (1118, euros(own_shop.total(1118)), "none")
    ]


# what somebody should look at


def door(order: dict[str, Any]) -> str:
    return order["ships_to"].partition(", ")[2]


def signs(shop: Shop, order: dict[str, Any]) -> set[str]:
    """The signs of an order, in plain Python."""
    history = sorted(
        (row for row in shop.orders.values() if row["customer_id"] == order["customer_id"]),
        key=lambda row: (row["placed_on"], row["number"]),
    )
    place = next(at for at, row in enumerate(history) if row["number"] == order["number"])
    total = shop.total(order["number"])
    earlier = [shop.total(row["number"]) for row in history[:place]]
    eve = (date.fromisoformat(order["placed_on"]) - timedelta(days=1)).isoformat()
    doors = Counter((row["customer_id"], door(row)) for row in shop.orders.values())
    states = defaultdict(list)
    for payment in shop.rows["payment"]:
        states[payment["number"]].append(payment["state"])
    checks = {
        "high first order": not earlier and total >= 50_000,
        "far above the usual value": bool(earlier) and total >= max(50_000, 3 * statistics.mean(earlier)),
        "many orders at once": sum(eve <= row["placed_on"] <= order["placed_on"] for row in history) >= 3,
        "failed payments": states[order["number"]].count("failed") >= 2,
        "earlier dispute": any(
            "disputed" in states[row["number"]] for row in history if row["number"] < order["number"]
        ),
        "address of another customer": any(
            count > doors[order["customer_id"], door(order)]
            for (customer, where), count in doors.items()
            if customer != order["customer_id"] and where == door(order)
        ),
    }
    return {sign for sign, shows in checks.items() if shows}


def test_suspicious_orders_are_those_that_show_a_sign(shop):
    since, until = period("last_12_months")
    found = shop.ask("fraud_signals", period="last_12_months", limit=50)
    wanted = {
        number: shown
        for number, order in shop.orders.items()
        if since.isoformat() <= order["placed_on"] <= until.isoformat() and (shown := signs(shop, order))
    }
    assert {row["number"]: set(row["signs"]) for row in found["orders"]} == wanted
    assert found["total"] == len(wanted) > 0
    weights = [row["weight"] for row in found["orders"]]
    assert weights == sorted(weights, reverse=True)


def test_many_orders_by_a_new_customer_weigh_the_most(own_shop):
    today = date.today().isoformat()
    own_shop.write(
        "INSERT INTO customer VALUES (99, 'New Here', 'new@example.com', 'Kiel', 'Germany', ?)", today
    )
    for number in (2000, 2001, 2002):
        own_shop.write(
            "INSERT INTO orders VALUES (?, 99, ?, 'paid', 0, '09:00', 'New Here, Am Kai 1, Kiel')",
            number,
            today,
        )
        own_shop.write("INSERT INTO order_line VALUES (?, 1, 'TNT-TRN1-GRY', 2, 44900)", number)
    first, *_ = found = own_shop.ask("fraud_signals", period="today", least=2)["orders"]
    assert {row["number"] for row in found} >= {2000, 2001, 2002}
    assert first["number"] == 2000
    assert set(first["signs"]) == {"high first order", "many orders at once"}


def test_a_change_of_address_is_a_sign(own_shop):
    own_shop.write(
        "INSERT INTO address_change (number, address, key, asked_by, approved_by, made_at)"
        " VALUES (1118, 'Am Markt 1, Jena', 'k', 'account:2', 'account:3', '2026-01-01T10:00:00+00:00')"
    )
    found = own_shop.ask("fraud_signals", period="last_7_days")["orders"]
    assert next(row["signs"] for row in found if row["number"] == 1118)[-1] == "address changed"


# the morning


def test_the_briefing_counts_what_the_tools_count(shop):
    found = shop.ask("daily_briefing")
    counts = {task["task"]: task["count"] for task in found["to_do"]}
    assert counts["orders to send"] == shop.ask("packing_queue")["total"]
    assert counts["late parcels"] == shop.ask("late_shipments")["total"]
    assert counts["payment problems"] == shop.ask("payment_problems")["total"]
    assert counts["unanswered messages"] == shop.ask("unanswered_messages")["total"]
    assert counts["shelves at their reorder level"] == shop.ask("low_stock")["total"]


def test_yesterday_is_set_against_the_same_day_of_eight_weeks(shop):
    found = shop.ask("daily_briefing")
    day = date.today() - timedelta(days=1)
    lines = shop.sold(day, day)
    twins = [
        sum(map(value, shop.sold(day - timedelta(weeks=n), day - timedelta(weeks=n)))) for n in range(1, 9)
    ]
    assert (found["day"], found["orders"]) == (day.isoformat(), len({line["number"] for line in lines}))
    assert found["turnover"] == euros(sum(map(value, lines)))
    assert found["usual_turnover"] == euros(round(sum(twins) / 8))


def test_what_is_done_is_not_on_the_list(own_shop):
    own_shop.write("UPDATE message SET answered_on = received_on")
    found = own_shop.ask("daily_briefing")
    assert "unanswered messages" in found["nothing_to_do"]
    assert "unanswered messages" not in {task["task"] for task in found["to_do"]}
