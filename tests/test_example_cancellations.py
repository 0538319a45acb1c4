"""Calling an order off in the demo shop: its state, its money, and who may say so."""

from __future__ import annotations

from datetime import date

import pytest

from example_app import cancellations, orders, refunds
from example_app.assistant import payments
from example_app.journal import By
from example_app.money import euros
from flask_litro_agent.core.outcome import Refused
from tests.shop_desk import ANNA, OLGA, SAM, approve, propose, proposed

pytest_plugins = ["tests.shop_fixtures"]

WHY = "ordered twice"


def status(held, number):
    return orders.by_number(held, number).status


def test_a_cancelled_order_gives_back_all_that_was_paid(app, held, olga, new_order):
    kept = refunds.kept(held, new_order)
    assert kept == orders.by_number(held, new_order).total_cents
    asked = proposed(app, "cancel_order", actor=SAM, order_number=new_order, reason=WHY)
    assert status(held, new_order) == "paid"
    assert approve(olga, asked) == {
        "order_number": new_order,
        "status": "cancelled",
        "refunded": euros(kept),
    }
    assert (status(held, new_order), refunds.kept(held, new_order)) == ("cancelled", 0)
    (row,) = held.execute("SELECT * FROM order_cancellation").fetchall()
    assert (row["refunded_cents"], row["reason"]) == (kept, WHY)
    assert (row["asked_by"], row["approved_by"]) == ("account:2", "account:3")


def test_it_shows_the_state_and_the_money_before_and_after(app, held, new_order):
    total = euros(orders.by_number(held, new_order).total_cents)
    assert proposed(app, "cancel_order", order_number=new_order, reason=WHY).preview == [
        {"label": f"Order {new_order} of Anna Berg, {total}", "before": "paid", "after": "cancelled"},
        {"label": "What we keep of the money", "before": total, "after": "€0.00"},
    ]


def test_its_money_is_no_payment_problem(app, held, olga, new_order):
    whole = refunds.kept(held, new_order)
    part = {"order_number": new_order, "amount_cents": 500, "reason": "late"}
    approve(olga, proposed(app, "refund_order", actor=SAM, **part))
    approve(olga, proposed(app, "cancel_order", actor=SAM, order_number=new_order, reason=WHY))
    assert new_order not in [each.number for each in payments.problems(held, date.today())]
    with held:  # and it would be one if the money had stayed
        held.execute("DELETE FROM payment WHERE number = ? AND state = 'returned'", (new_order,))
    (problem,) = [each for each in payments.problems(held, date.today()) if each.number == new_order]
    assert (problem.kind, problem.amount_cents) == ("not given back", whole - 500)


def test_what_was_refunded_before_does_not_go_back_again(app, held, olga, new_order):
    kept = refunds.kept(held, new_order)
    approve(
        olga,
        proposed(app, "refund_order", actor=SAM, order_number=new_order, amount_cents=500, reason="late"),
    )
    asked = proposed(app, "cancel_order", actor=SAM, order_number=new_order, reason=WHY)
    assert approve(olga, asked)["refunded"] == euros(kept - 500)
    assert refunds.kept(held, new_order) == 0


def test_an_order_that_nobody_has_paid_yet_gives_nothing_back(app, held, olga):
    (number,) = held.execute(
        "SELECT number FROM orders JOIN payment USING (number) WHERE state = 'open' AND status = 'paid'"
    ).fetchone()
    asked = proposed(app, "cancel_order", actor=SAM, order_number=number, reason=WHY)
    assert approve(olga, asked)["refunded"] == "€0.00"
    states = held.execute("SELECT state FROM payment WHERE number = ?", (number,)).fetchall()
    assert [row["state"] for row in states] == ["open"]


def test_a_cancelled_order_is_not_refunded_once_more(app, olga, new_order):
    approve(olga, proposed(app, "cancel_order", actor=SAM, order_number=new_order, reason=WHY))
    refused = propose(app, "refund_order", order_number=new_order, amount_cents=1, reason="once more")
    assert "would be more than what we keep of the money" in refused.message
    assert "is cancelled" in propose(app, "hold_order", order_number=new_order, hold=True).message


def test_a_refund_and_a_cancellation_that_wait_together_do_not_both_happen(app, held, olga, new_order):
    kept = refunds.kept(held, new_order)
    whole = {"order_number": new_order, "amount_cents": kept, "reason": WHY}
    refund = proposed(app, "refund_order", actor=SAM, **whole)
    cancellation = proposed(app, "cancel_order", actor=SAM, order_number=new_order, reason=WHY)
    approve(olga, cancellation)
    assert olga.decide("approve", refund.id).status_code == 409
    assert (refunds.given(held, new_order), refunds.kept(held, new_order)) == (0, 0)


def test_it_needs_four_eyes_as_every_money_that_goes_back(app, held, olga, otto, new_order):
    asked = proposed(app, "cancel_order", actor=OLGA, order_number=new_order, reason=WHY)
    refused = olga.decide("approve", asked.id)
    assert (refused.status_code, "four eyes" in refused.text) == (403, True)
    assert status(held, new_order) == "paid"
    approve(otto, asked)


def test_an_order_that_leaves_meanwhile_is_not_cancelled(app, held, olga, new_order):
    asked = proposed(app, "cancel_order", actor=SAM, order_number=new_order, reason=WHY)
    with held:
        held.execute("UPDATE orders SET status = 'shipped' WHERE number = ?", (new_order,))
    assert olga.decide("approve", asked.id).status_code == 409
    assert status(held, new_order) == "shipped"


@pytest.mark.parametrize(("number", "said"), [(1020, "is delivered"), (999_999, "no order")])
def test_what_cannot_be_cancelled_is_refused_in_words(app, number, said):
    refused = propose(app, "cancel_order", order_number=number, reason=WHY)
    assert isinstance(refused, Refused)
    assert said in refused.message


def test_customers_cancel_nothing_here(app, new_order):
    assert propose(app, "cancel_order", actor=ANNA, order_number=new_order, reason=WHY).code == "forbidden"


def test_a_cancellation_cannot_be_undone(app, olga, new_order):
    asked = proposed(app, "cancel_order", actor=SAM, order_number=new_order, reason=WHY)
    approve(olga, asked)
    assert olga.decide("reverse", asked.id).status_code == 409


def test_money_that_moved_between_the_check_and_the_run_is_seen(held, new_order):
    by = By("litro-1", "sam", "olga")
    assert cancellations.cancel(held, new_order, WHY, by, kept_before=1) is None
    assert status(held, new_order) == "paid"


def test_the_same_cancellation_a_second_time_gives_nothing_back(held, new_order):
    by, kept = By("litro-1", "sam", "olga"), refunds.kept(held, new_order)
    first = cancellations.cancel(held, new_order, WHY, by, kept_before=kept)
    made = held.total_changes
    assert cancellations.cancel(held, new_order, WHY, by, kept_before=kept) == first
    assert held.total_changes == made
    assert refunds.kept(held, new_order) == 0
