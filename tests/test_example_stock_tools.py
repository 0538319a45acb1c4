"""The demo shop's tools that move goods: between its places, and back from a customer."""

from __future__ import annotations

import pytest

from example_app import returns, stock, transfers
from example_app.journal import By
from example_app.transfers import Transfer
from flask_litro_agent.core.outcome import Refused
from tests.shop_desk import ANNA, SAM, TREK, approve, propose, proposed, undo

pytest_plugins = ["tests.shop_fixtures"]

THERE = {"sku": TREK, "quantity": 2, "from_city": "Leipzig", "to_city": "Berlin"}


def lies(held, city, sku=TREK):
    (level,) = stock.levels_of(held, sku, city)
    return level.quantity


@pytest.fixture
def announced(held):
    """A return that Anna has announced and that has not arrived."""
    row = held.execute(
        "SELECT number FROM return_case JOIN orders USING (number) WHERE state = 'opened' AND customer_id = 1"
    ).fetchone()
    (case,) = returns.of_order(held, row["number"])
    return case


def arrival(case, **more):
    return {
        "order_number": case.number,
        "sku": case.sku,
        "city": "Leipzig",
        "to_shelf": True,
    } | more


# transfers


def test_a_transfer_moves_pieces_and_its_reverse_brings_them_back(app, held, olga):
    here, there = lies(held, "Leipzig"), lies(held, "Berlin")
    asked = proposed(app, "transfer_stock", **THERE)
    assert (lies(held, "Leipzig"), lies(held, "Berlin")) == (here, there)
    result = approve(olga, asked)
    assert (lies(held, "Leipzig"), lies(held, "Berlin")) == (here - 2, there + 2)
    assert result["from"] == {"city": "Leipzig", "quantity": here - 2}
    assert result["to"] == {"city": "Berlin", "quantity": there + 2}
    undo(olga, asked)
    assert (lies(held, "Leipzig"), lies(held, "Berlin")) == (here, there)


def test_a_transfer_shows_both_shelves_before_and_after(app, held):
    here, there = lies(held, "Leipzig"), lies(held, "Berlin")
    assert proposed(app, "transfer_stock", **THERE).preview == [
        {"label": "Trek 65 Backpack, red in Leipzig", "before": here, "after": here - 2},
        {"label": "Trek 65 Backpack, red in Berlin", "before": there, "after": there + 2},
    ]


def test_both_ends_of_a_transfer_stand_in_the_stock_history(app, held, otto):
    asked = proposed(app, "transfer_stock", **THERE)
    approve(otto, asked)
    rows = held.execute(
        "SELECT * FROM stock_movement WHERE key LIKE ? ORDER BY id", (f"{asked.idempotency_key}%",)
    ).fetchall()
    assert [(row["city"], row["after"] - row["before"], row["reason"]) for row in rows] == [
        ("Leipzig", -2, "to Berlin"),
        ("Berlin", 2, "from Leipzig"),
    ]
    assert {(row["kind"], row["asked_by"], row["approved_by"]) for row in rows} == {
        ("transfer", "account:3", "account:4")
    }


def test_a_shelf_that_changed_meanwhile_voids_the_transfer(app, held, olga):
    asked = proposed(app, "transfer_stock", **THERE)
    with held:
        held.execute("UPDATE stock SET quantity = quantity + 1 WHERE sku = ? AND city = 'Berlin'", (TREK,))
    assert olga.decide("approve", asked.id).status_code == 409
    assert olga.card(asked.id).json["reason"] == "as_of_changed"
    assert held.execute("SELECT count(*) FROM stock_transfer").fetchone()[0] == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"quantity": 9_000}, "lie in Leipzig, not 9000"),
        ({"to_city": "Leipzig"}, "would not leave Leipzig"),
        ({"sku": "NO-SUCH"}, "no product with the article number NO-SUCH"),
    ],
)
def test_a_transfer_that_cannot_be_is_refused_in_words(app, more, said):
    refused = propose(app, "transfer_stock", **{**THERE, **more})
    assert isinstance(refused, Refused)
    assert said in refused.message


def test_goods_that_left_between_the_check_and_the_run_are_not_moved(held):
    with held:
        held.execute("UPDATE stock SET quantity = 1 WHERE sku = ? AND city = 'Leipzig'", (TREK,))
    transfer = Transfer(sku=TREK, quantity=2, source="Leipzig", target="Berlin")
    assert not transfers.carry_out(held, transfer, By("litro-1", "olga", "otto"))
    assert lies(held, "Leipzig") == 1


def test_the_same_transfer_a_second_time_moves_nothing(held):
    transfer, by = Transfer(sku=TREK, quantity=2, source="Leipzig", target="Berlin"), By("k", "olga", "otto")
    assert transfers.carry_out(held, transfer, by)
    here = lies(held, "Leipzig")
    assert transfers.carry_out(held, transfer, by)
    assert lies(held, "Leipzig") == here


def test_transfers_are_for_the_operator(app):
    assert propose(app, "transfer_stock", actor=SAM, **THERE).code == "forbidden"


# returns


def test_a_return_is_booked_in_and_lies_on_the_shelf(app, held, olga, announced):
    before = lies(held, "Leipzig", announced.sku)
    asked = proposed(app, "receive_return", actor=SAM, **arrival(announced))
    assert asked.preview == [
        {
            "label": f"1 × {announced.product} of order {announced.number} ({announced.reason})",
            "before": "opened",
            "after": "received",
        },
        {"label": "Stock in Leipzig", "before": before, "after": before + 1},
    ]
    approve(olga, asked)
    (case,) = returns.of_order(held, announced.number)
    assert case.state == "received"
    assert lies(held, "Leipzig", announced.sku) == before + 1
    row = held.execute("SELECT * FROM stock_movement ORDER BY id DESC LIMIT 1").fetchone()
    assert (row["kind"], row["asked_by"], row["approved_by"]) == ("return", "account:2", "account:3")
    assert row["reason"] == f"return of order {announced.number}"


def test_what_cannot_be_sold_again_does_not_go_on_the_shelf(app, held, olga, announced):
    before = lies(held, "Leipzig", announced.sku)
    asked = proposed(app, "receive_return", **arrival(announced, to_shelf=False))
    assert len(asked.preview) == 1
    approve(olga, asked)
    assert returns.of_order(held, announced.number)[0].state == "received"
    assert lies(held, "Leipzig", announced.sku) == before


def test_a_return_is_booked_in_once(app, held, olga, announced):
    first = proposed(app, "receive_return", **arrival(announced))
    second = proposed(app, "receive_return", **arrival(announced, to_shelf=False))
    approve(olga, first)
    assert olga.decide("approve", second.id).status_code == 409
    said = propose(app, "receive_return", **arrival(announced)).message
    assert said == f"the return of {announced.product} for order {announced.number} is received already"


def test_a_return_cannot_be_undone(app, olga, announced):
    asked = proposed(app, "receive_return", **arrival(announced))
    approve(olga, asked)
    assert olga.decide("reverse", asked.id).status_code == 409


def test_what_nobody_announced_is_refused_in_words(app, announced):
    said = propose(app, "receive_return", **arrival(announced, sku="ACC-BRG-BLK")).message
    assert said == f"no return of Bearing Compass, black is announced for order {announced.number}"
    assert "no order" in propose(app, "receive_return", **arrival(announced, order_number=999_999)).message


def test_an_order_shows_what_comes_back_of_it(app, announced):
    gate = app.extensions["litro_agent"].gate
    arguments = {"order_number": announced.number}
    seen = gate.call("assistant", "order_details", arguments, actor=SAM, origin="test").value
    assert [(case["sku"], case["state"]) for case in seen["returns"]] == [(announced.sku, "opened")]


def test_customers_book_nothing_in(app, announced):
    assert propose(app, "receive_return", actor=ANNA, **arrival(announced)).code == "forbidden"


def test_the_same_arrival_a_second_time_changes_nothing(held, announced):
    by = By("litro-1", "sam", "olga")
    assert returns.receive(held, announced, "Leipzig", to_shelf=True, by=by)
    made = held.total_changes
    assert returns.receive(held, announced, "Leipzig", to_shelf=True, by=by)
    assert held.total_changes == made


def test_another_arrival_of_the_same_case_is_seen(held, announced):
    assert returns.receive(held, announced, "Leipzig", to_shelf=True, by=By("a", "sam", "olga"))
    before = lies(held, "Leipzig", announced.sku)
    assert not returns.receive(held, announced, "Leipzig", to_shelf=True, by=By("b", "sam", "olga"))
    assert lies(held, "Leipzig", announced.sku) == before
