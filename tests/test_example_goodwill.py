"""Credit as goodwill in the demo shop: given with four eyes, taken back by its reverse."""

from __future__ import annotations

import pytest

from example_app import goodwill
from example_app.journal import By
from flask_litro_agent.core.outcome import Refused
from tests.shop_desk import ANNA, OLGA, SAM, approve, propose, proposed

pytest_plugins = ["tests.shop_fixtures"]

JONAS = {"customer_id": 2, "amount_cents": 1500, "reason": "the parcel was late"}


def seen(app, customer_id=2):
    gate = app.extensions["litro_agent"].gate
    arguments = {"customer_id": customer_id}
    return gate.call("assistant", "customer_details", arguments, actor=SAM, origin="test").value


def test_credit_is_given_once_and_its_reverse_takes_it_back(app, held, olga):
    asked = proposed(app, "goodwill_credit", actor=SAM, **JONAS)
    assert goodwill.balance(held, 2) == 0
    result = approve(olga, asked)
    assert goodwill.balance(held, 2) == 1500
    assert olga.decide("approve", asked.id).status_code == 409
    assert goodwill.balance(held, 2) == 1500
    (credit,) = goodwill.of_customer(held, 2)
    assert (result["credit"], result["amount"]) == (credit.id, "€15.00")


def test_its_reverse_withdraws_exactly_that_credit(app, held, olga, otto):
    asked = proposed(app, "goodwill_credit", actor=SAM, **JONAS)
    approve(olga, asked)
    approve(olga, proposed(app, "goodwill_credit", actor=SAM, **{**JONAS, "amount_cents": 700}))
    back = olga.decide("reverse", asked.id).json
    assert olga.decide("approve", back["id"]).status_code == 403  # four eyes: she asked for it
    answer = otto.decide("approve", back["id"])
    assert answer.json["result"] == {
        "customer": "Jonas Vogel",
        "credit": asked_credit(held),
        "withdrawn": "€15.00",
    }
    assert [credit.amount_cents for credit in goodwill.of_customer(held, 2)] == [700]


def asked_credit(held):
    return held.execute("SELECT id FROM credit WHERE amount_cents = 1500").fetchone()["id"]


def test_credit_shows_what_the_customer_has_before_and_after(app, olga):
    approve(olga, proposed(app, "goodwill_credit", actor=SAM, **JONAS))
    second = proposed(app, "goodwill_credit", actor=SAM, **{**JONAS, "amount_cents": 700})
    assert second.preview == [{"label": "Credit of Jonas Vogel", "before": "€15.00", "after": "€22.00"}]
    number = seen(app)["credits"][0]["credit"]
    (line,) = proposed(app, "withdraw_credit", actor=SAM, credit=number, reason="twice").preview
    assert (line["before"], line["after"]) == ("€15.00", "€0.00")


def test_whoever_asked_for_credit_cannot_approve_it(app, held, olga, otto):
    asked = proposed(app, "goodwill_credit", actor=OLGA, **JONAS)
    refused = olga.decide("approve", asked.id)
    assert (refused.status_code, "four eyes" in refused.text) == (403, True)
    assert goodwill.balance(held, 2) == 0
    approve(otto, asked)


def test_the_row_says_who_asked_and_who_approved(app, held, olga):
    approve(olga, proposed(app, "goodwill_credit", actor=SAM, **JONAS))
    (row,) = held.execute("SELECT * FROM credit").fetchall()
    assert (row["asked_by"], row["approved_by"], row["reason"]) == (
        "account:2",
        "account:3",
        "the parcel was late",
    )


def test_a_second_credit_is_void_when_the_first_was_given_meanwhile(app, held, olga):
    first = proposed(app, "goodwill_credit", actor=SAM, **JONAS)
    second = proposed(app, "goodwill_credit", actor=SAM, **{**JONAS, "amount_cents": 1400})
    approve(olga, first)
    assert olga.decide("approve", second.id).status_code == 409
    assert goodwill.balance(held, 2) == 1500


def test_a_credit_is_withdrawn_once(app, olga):
    asked = proposed(app, "goodwill_credit", actor=SAM, **JONAS)
    number = approve(olga, asked)["credit"]
    approve(olga, proposed(app, "withdraw_credit", actor=SAM, credit=number, reason="given twice"))
    refused = propose(app, "withdraw_credit", credit=number, reason="given twice")
    assert isinstance(refused, Refused)
    assert refused.message == f"credit {number} is withdrawn already"
    assert olga.decide("reverse", asked.id).status_code == 409


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("goodwill_credit", {**JONAS, "customer_id": 9_999}, "no customer with the number 9999"),
        ("withdraw_credit", {"credit": 9_999, "reason": "x"}, "no credit with the number 9999"),
    ],
)
def test_what_is_not_there_is_refused_in_words(app, tool, arguments, said):
    assert said in propose(app, tool, **arguments).message


def test_goodwill_ends_at_a_hundred_euros(app):
    proposed(app, "goodwill_credit", **{**JONAS, "amount_cents": 10_000})
    refused = propose(app, "goodwill_credit", **{**JONAS, "amount_cents": 10_001})
    assert refused.code == "invalid_input"


def test_the_assistant_sees_a_customers_credit(app, held, olga):
    assert (seen(app)["credit"], seen(app)["credits"]) == ("€0.00", [])
    approve(olga, proposed(app, "goodwill_credit", actor=SAM, **JONAS))
    assert seen(app)["credit"] == "€15.00"
    (credit,) = seen(app)["credits"]
    assert (credit["amount"], credit["reason"]) == ("€15.00", "the parcel was late")


def test_customers_give_themselves_nothing(app):
    assert propose(app, "goodwill_credit", actor=ANNA, **{**JONAS, "customer_id": 1}).code == "forbidden"
    assert propose(app, "withdraw_credit", actor=ANNA, credit=1, reason="x").code == "forbidden"


def test_the_same_key_a_second_time_gives_and_takes_nothing(held):
    by = By("litro-1", "sam", "olga")
    given = goodwill.give(held, 2, 1500, "late", by)
    assert goodwill.give(held, 2, 1500, "late", by) == given
    assert goodwill.balance(held, 2) == 1500
    assert goodwill.withdraw(held, given["id"], "undone", by)
    assert goodwill.withdraw(held, given["id"], "undone", by)
    assert not goodwill.withdraw(held, given["id"], "undone", By("litro-2", "sam", "olga"))
    assert goodwill.balance(held, 2) == 0
