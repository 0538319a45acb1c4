"""The demo shop's tools about customers, what they say, and what staff have done."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter, defaultdict
from datetime import date
from typing import Any

import pytest

from example_app.money import euros
from tests.shop_rows import Shop, days_since, net, period, share, value

pytest_plugins = ["tests.shop_fixtures"]

# customers


def visits(shop: Shop) -> dict[int, list[date]]:
    found: dict[int, set[date]] = defaultdict(set)
    for line in shop.sold():
        found[line["customer_id"]].add(date.fromisoformat(line["placed_on"]))
    return {customer: sorted(days) for customer, days in found.items()}


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_customer_at_risk_is_silent_for_longer_than_his_usual_pause(shop, times):
    found = shop.ask("customers_at_risk", times=times, limit=50)
    wanted = set()
    for customer, days in visits(shop).items():
        if len(days) >= 3:
            pause = statistics.mean((after - before).days for before, after in itertools.pairwise(days))
            if (date.today() - days[-1]).days > times * pause:
                wanted.add(customer)
    assert {row["customer_id"] for row in found["customers"]} == wanted
    assert found["total"] == len(wanted)
    for row in found["customers"]:
        assert row["silent_days"] == days_since(row["last_order_on"])
        lines = [line for line in shop.sold() if line["customer_id"] == row["customer_id"]]
        assert row["spent"] == euros(sum(map(value, lines)))
        assert row["orders"] == len({line["number"] for line in lines})


def test_a_customer_is_worth_what_he_paid_less_what_went_back(shop):
    found = shop.ask("top_customers", limit=50)
    worth, kept = Counter(), Counter()
    for order in shop.orders.values():
        if order["status"] != "cancelled":
            worth[order["customer_id"]] += shop.total(order["number"])
    for line in shop.sold():
        cost = line["quantity"] * shop.supply[line["sku"]]["cost_cents"]
        kept[line["customer_id"]] += net(value(line), shop.rate(line)) - cost
    for case in shop.rows["return_case"]:
        order = shop.orders[case["number"]]
        worth[order["customer_id"]] -= case["refund_cents"]
        kept[order["customer_id"]] -= case["refund_cents"]
    assert [row["value"] for row in found["customers"]] == [
        euros(cents) for _, cents in worth.most_common(50)
    ]
    for row in found["customers"]:
        assert row["value"] == euros(worth[row["customer_id"]])
        assert row["margin"] == euros(kept[row["customer_id"]])
    assert found["value"] == euros(worth.total())
    assert found["share_percent"] == 100.0


def test_the_best_customers_of_a_country_live_there(shop):
    found = shop.ask("top_customers", country="Austria")
    assert {row["country"] for row in found["customers"]} == {"Austria"}
    assert found["total"] == 2


@pytest.mark.parametrize("days", [30, 90, 365])
def test_who_ordered_again_is_counted_in_the_quarter_of_his_first_order(shop, days):
    found = shop.ask("repeat_purchases", days=days)
    firsts: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for order in sorted(shop.orders.values(), key=lambda order: (order["placed_on"], order["number"])):
        if order["status"] != "cancelled":
            firsts[order["customer_id"]].append(order)
    customers, back = Counter(), Counter()
    for first, *later in firsts.values():
        day = date.fromisoformat(first["placed_on"])
        quarter = f"{day.year} Q{(day.month + 2) // 3}"
        customers[quarter] += 1
        if later and (date.fromisoformat(later[0]["placed_on"]) - day).days <= days:
            back[quarter] += 1
    assert {row["quarter"]: row["customers"] for row in found["quarters"]} == dict(customers)
    assert {row["quarter"]: row["came_back"] for row in found["quarters"]} == {
        quarter: back[quarter] for quarter in customers
    }
    assert found["rate_percent"] == share(back.total(), customers.total())


def test_a_quarter_whose_days_are_not_over_is_open(own_shop):
    own_shop.write(
        "INSERT INTO customer VALUES (99, 'New Here', 'new@example.com', 'Kiel', 'Germany', ?)",
        date.today().isoformat(),
    )
    own_shop.write(
        "INSERT INTO orders VALUES (2000, 99, ?, 'paid', 490, '09:00', 'New Here, Kiel, Germany')",
        date.today().isoformat(),
    )
    own_shop.write("INSERT INTO order_line VALUES (2000, 1, 'COK-SPK-SLV', 1, 4490)")
    newest = own_shop.ask("repeat_purchases")["quarters"][-1]
    assert (newest["customers"], newest["came_back"], newest["still_open"]) == (1, 0, True)


# what people say


def test_messages_wait_from_the_day_they_came(shop):
    found = shop.ask("unanswered_messages", limit=50)
    waiting = [row for row in shop.rows["message"] if row["answered_on"] is None]
    assert found["total"] == len(waiting) == len(found["messages"])
    assert [row["days"] for row in found["messages"]] == sorted(
        (days_since(row["received_on"]) for row in waiting), reverse=True
    )
    assert found["overdue"] == sum(days_since(row["received_on"]) > 2 for row in waiting)
    since = period("last_90_days")[0].isoformat()
    took = [
        (date.fromisoformat(row["answered_on"]) - date.fromisoformat(row["received_on"])).days
        for row in shop.rows["message"]
        if row["answered_on"] and row["received_on"] >= since
    ]
    assert found["median_answer_days"] == statistics.median(took)


@pytest.mark.parametrize("category", [None, "tents", "footwear"])
def test_the_worst_reviews_are_quoted_first(shop, category):
    arguments = {"category": category} if category else {}
    found = shop.ask("reviews_digest", limit=50, **arguments)
    since = period("last_90_days")[0].isoformat()
    mine = [row for row in shop.rows["review"] if category in (None, shop.products[row["sku"]]["category"])]
    new = [row["stars"] for row in mine if row["written_on"] >= since]
    old = [row["stars"] for row in mine if row["written_on"] < since]
    assert found["reviews"] == len(new)
    assert found["mean"] == round(statistics.mean(new), 2)
    assert found["mean_before"] == round(statistics.mean(old), 2)
    assert found["by_stars"] == {str(stars): new.count(stars) for stars in range(1, 6)}
    assert [row["stars"] for row in found["quotes"]] == sorted(stars for stars in new if stars <= 3)


def test_a_product_has_fallen_when_its_new_mean_is_below_its_old_one(shop):
    found = shop.ask("reviews_digest", limit=50)
    since = period("last_90_days")[0].isoformat()
    wanted = set()
    for sku in shop.products:
        new = [
            row["stars"] for row in shop.rows["review"] if row["sku"] == sku and row["written_on"] >= since
        ]
        old = [row["stars"] for row in shop.rows["review"] if row["sku"] == sku and row["written_on"] < since]
        if new and old and statistics.mean(new) < statistics.mean(old):
            wanted.add(shop.label(sku))
    assert {row["product"] for row in found["fallen"]} == wanted
    assert found["total_fallen"] == len(wanted) > 0


# what staff have done


def test_the_journal_has_every_change_of_the_period(shop):
    since, until = period("this_year")
    found = shop.ask("staff_changes", period="this_year", limit=50)
    counts = {
        table.replace("_", " "): shop.held.execute(
            f"SELECT count(*) FROM {table} WHERE substr(made_at, 1, 10) BETWEEN ? AND ?",
            (since.isoformat(), until.isoformat()),
        ).fetchone()[0]
        for table in ("price_change", "stock_movement", "note", "refund", "collection_version", "order_hold")
    }
    assert {row["kind"]: row["changes"] for row in found["kinds"]} == {
        kind: count for kind, count in counts.items() if count
    }
    assert found["total"] == sum(counts.values())
    times = [row["at"] for row in found["changes"]]
    assert times == sorted(times, reverse=True)


def test_a_name_finds_what_somebody_asked_for_or_approved(shop):
    found = shop.ask("staff_changes", period="last_12_months", by="sam", limit=50)
    assert found["total"] > 0
    assert all("Sam Ritter" in (row["asked_by"], row["approved_by"]) for row in found["changes"])
    assert shop.ask("staff_changes", by="nobody")["total"] == 0


def test_a_new_table_of_changes_is_in_the_journal_at_once(own_shop):
    own_shop.write(
        "CREATE TABLE voucher (id INTEGER PRIMARY KEY, amount_cents INTEGER, text TEXT, key TEXT, asked_by TEXT,"
        " approved_by TEXT, made_at TEXT)"
    )
    now = f"{date.today()}T10:00:00+00:00"
    own_shop.write(
        "INSERT INTO voucher VALUES (1, 1250, ?, 'k', 'account:2', 'account:3', ?)", "x" * 500, now
    )
    newest = own_shop.ask("staff_changes", period="today")["changes"][0]
    assert (newest["kind"], newest["about"]["amount_cents"]) == ("voucher", "€12.50")
    assert len(newest["about"]["text"]) <= 120
