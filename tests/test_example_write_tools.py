"""The demo shop's write tools: each becomes a proposal, and its change happens once, when an operator says so."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from example_app import catalogue, collections, database, fulfilment, letters, orders, refunds, stock
from example_app.journal import By
from flask_litro_agent.core.outcome import Refused
from tests.shop_desk import ANNA, OLGA, SAM, TREK, Person, approve, propose, proposed, undo

pytest_plugins = ["tests.shop_fixtures"]


# refunds


def test_a_refund_is_given_once_and_only_when_it_is_approved(app, held, olga):
    asked = proposed(app, "refund_order", actor=SAM, order_number=1020, amount_cents=500, reason="scratch")
    assert refunds.given(held, 1020) == 0
    assert approve(olga, asked)["amount"] == "€5.00"
    assert refunds.given(held, 1020) == 500
    assert olga.decide("approve", asked.id).status_code == 409
    assert refunds.given(held, 1020) == 500


def test_a_refund_shows_what_has_gone_back_before_and_after(app):
    (line,) = proposed(app, "refund_order", order_number=1020, amount_cents=500, reason="scratch").preview
    assert (line["before"], line["after"]) == ("€0.00", "€5.00")
    assert "Anna Berg" in line["label"]


def test_an_operator_who_asked_for_a_refund_cannot_approve_it(app, held, olga, otto):
    asked = proposed(app, "refund_order", actor=OLGA, order_number=1020, amount_cents=500, reason="scratch")
    refused = olga.decide("approve", asked.id)
    assert refused.status_code == 403
    assert "four eyes" in refused.text
    assert refunds.given(held, 1020) == 0
    approve(otto, asked)


def test_support_may_ask_for_a_refund_and_not_decide(app, held):
    asked = proposed(app, "refund_order", actor=SAM, order_number=1020, amount_cents=500, reason="scratch")
    assert Person(app, "support").decide("approve", asked.id).status_code in (400, 403)
    assert refunds.given(held, 1020) == 0


def test_a_second_refund_for_the_same_order_is_void_when_the_first_was_given(app, held, olga):
    first = proposed(app, "refund_order", actor=SAM, order_number=1020, amount_cents=500, reason="scratch")
    second = proposed(app, "refund_order", actor=SAM, order_number=1020, amount_cents=600, reason="scratch")
    approve(olga, first)
    answer = olga.decide("approve", second.id)
    assert answer.status_code == 409
    assert "has changed since" in answer.text
    assert refunds.given(held, 1020) == 500


def test_a_refund_between_the_check_and_the_run_is_seen(held):
    assert refunds.give(held, 1020, 500, "scratch", By("a", "sam", "olga"), given_before=0)
    assert refunds.give(held, 1020, 500, "scratch", By("b", "sam", "olga"), given_before=0) is None
    assert refunds.given(held, 1020) == 500


@pytest.mark.parametrize(("number", "cents"), [(999_999, 100), (1020, 1_000_000)])
def test_a_refund_that_cannot_be_is_refused_in_words(app, number, cents):
    refused = propose(app, "refund_order", order_number=number, amount_cents=cents, reason="scratch")
    assert isinstance(refused, Refused)
    assert "order" in refused.message
    assert "error" not in refused.message


# prices and stock


def price(app, sku=TREK):
    with app.app_context():
        return catalogue.by_sku(database.connection(), sku).price_cents


def test_a_price_change_and_its_undoing_each_wait_for_a_click(app, olga):
    before = price(app)
    asked = proposed(app, "change_price", sku=TREK, price_cents=19_900)
    assert price(app) == before
    approve(olga, asked)
    assert price(app) == 19_900
    back = olga.decide("reverse", asked.id)
    assert back.status_code == 201
    assert price(app) == 19_900
    assert olga.decide("approve", back.json["id"]).status_code == 200
    assert price(app) == before


def test_the_price_history_says_who_asked_and_who_approved(app, held, otto):
    approve(otto, proposed(app, "change_price", sku=TREK, price_cents=19_900))
    (row,) = held.execute("SELECT * FROM price_change WHERE sku = ?", (TREK,)).fetchall()
    assert (row["asked_by"], row["approved_by"]) == ("account:3", "account:4")
    assert (row["before_cents"], row["after_cents"]) == (21_900, 19_900)


def test_a_price_that_moved_meanwhile_voids_the_proposal(app, held, olga):
    asked = proposed(app, "change_price", sku=TREK, price_cents=19_900)
    with held:
        held.execute("UPDATE product SET price_cents = 20000 WHERE sku = ?", (TREK,))
    assert olga.decide("approve", asked.id).status_code == 409
    assert olga.card(asked.id).json["reason"] == "as_of_changed"
    assert price(app) == 20_000


def test_stock_is_set_to_what_was_counted_and_back(app, held, olga):
    (before,) = stock.levels_of(held, TREK, "Leipzig")
    asked = proposed(app, "correct_stock", sku=TREK, city="Leipzig", quantity=3, reason="counted")
    assert asked.preview == [
        {"label": "Trek 65 Backpack, red in Leipzig", "before": before.quantity, "after": 3}
    ]
    assert approve(olga, asked)["after"] == 3
    assert stock.levels_of(held, TREK, "Leipzig")[0].quantity == 3
    back = olga.decide("reverse", asked.id).json
    assert olga.decide("approve", back["id"]).status_code == 200
    assert stock.levels_of(held, TREK, "Leipzig")[0].quantity == before.quantity


def test_support_cannot_ask_for_prices_or_stock(app):
    for tool, more in (
        ("change_price", {"price_cents": 100}),
        ("correct_stock", {"city": "Leipzig", "quantity": 1, "reason": "x"}),
    ):
        assert propose(app, tool, actor=SAM, sku=TREK, **more).code == "forbidden"


# collections


def test_a_collection_is_made_published_and_hidden_again(app, held, olga):
    asked = proposed(app, "save_collection", name="Rain", skus=["JKT-SQL-BLU"], published=True)
    assert collections.by_name(held, "Rain") is None
    approve(olga, asked)
    assert collections.by_name(held, "Rain").published
    assert "<h2>Rain</h2>" in olga.client.get("/").text
    back = olga.decide("reverse", asked.id).json
    assert olga.decide("approve", back["id"]).status_code == 200
    assert not collections.by_name(held, "Rain").published
    assert "<h2>Rain</h2>" not in olga.client.get("/").text


def test_undoing_a_changed_collection_brings_back_what_it_was(app, held, olga):
    approve(olga, proposed(app, "save_collection", name="Rain", skus=["JKT-SQL-BLU"], published=True))
    asked = proposed(app, "save_collection", name="Rain", skus=["JKT-SQL-YEL"], published=False)
    approve(olga, asked)
    back = olga.decide("reverse", asked.id).json
    assert olga.decide("approve", back["id"]).status_code == 200
    assert collections.by_name(held, "Rain").skus == ("JKT-SQL-BLU",)


# orders


def test_an_order_is_held_and_let_go(app, held, olga, new_order):
    asked = proposed(app, "hold_order", actor=SAM, order_number=new_order, hold=True)
    approve(olga, asked)
    assert fulfilment.is_held(held, new_order)
    gate = app.extensions["litro_agent"].gate
    seen = gate.call(
        "assistant", "order_details", {"order_number": new_order}, actor=SAM, origin="test"
    ).value
    assert (seen["on_hold"], seen["refunded"]) == (True, "€0.00")
    back = olga.decide("reverse", asked.id).json
    assert olga.decide("approve", back["id"]).status_code == 200
    assert not fulfilment.is_held(held, new_order)


def test_an_order_goes_to_another_address(app, held, olga, new_order):
    asked = proposed(app, "change_address", actor=SAM, order_number=new_order, address="Am Markt 1, Jena")
    assert asked.preview[0]["before"] == "Anna Berg, Torstraße 10, 10119 Berlin, Germany"
    before = asked.preview[0]["before"]
    approve(olga, asked)
    assert fulfilment.address_of(held, new_order) == "Am Markt 1, Jena"
    undo(olga, asked)
    assert fulfilment.address_of(held, new_order) == before


def test_an_order_that_has_left_cannot_be_changed(app):
    assert "delivered" in propose(app, "hold_order", order_number=1020, hold=True).message
    assert (
        "delivered" in propose(app, "change_address", order_number=1020, address="Am Markt 1, Jena").message
    )


def test_an_order_that_leaves_while_the_proposal_waits_is_not_held(app, held, olga, new_order):
    asked = proposed(app, "hold_order", order_number=new_order, hold=True)
    with held:
        held.execute("UPDATE orders SET status = 'shipped' WHERE number = ?", (new_order,))
    assert olga.decide("approve", asked.id).status_code == 409
    assert not fulfilment.is_held(held, new_order)


@pytest.mark.parametrize(
    ("tool", "more"),
    [("hold_my_order", {"hold": True}), ("change_my_address", {"address": "Am Markt 1, Jena"})],
)
def test_a_customer_asks_for_his_own_order_only(app, held, olga, new_order, tool, more):
    own = proposed(app, tool, actor=ANNA, agent="concierge", order_number=new_order, **more)
    approve(olga, own)
    stranger = next(o.number for o in orders.find(held, statuses=["paid", "packed"])[0] if o.customer_id != 1)
    other = propose(app, tool, actor=ANNA, agent="concierge", order_number=stranger, **more)
    assert other.message == f"there is no order with the number {stranger}"
    staff = propose(app, tool, actor=OLGA, agent="concierge", order_number=new_order, **more)
    assert isinstance(staff, Refused)


# words


def test_a_note_and_a_draft_are_kept_for_their_customer(app, held, olga):
    approve(olga, proposed(app, "add_customer_note", actor=SAM, customer_id=2, text="Prefers e-mail"))
    approve(olga, proposed(app, "draft_email", actor=SAM, customer_id=2, subject="Hello", text="Dear Jonas"))
    assert letters.notes_on(held, 2) == ["Prefers e-mail"]
    assert letters.drafts_to(held, 2) == [("Hello", "Dear Jonas")]


@pytest.mark.parametrize("tool", ["add_customer_note", "draft_email"])
def test_nothing_is_written_about_a_customer_who_is_not_there(app, tool):
    more = {"text": "x"} | ({"subject": "x"} if tool == "draft_email" else {})
    assert "no customer" in propose(app, tool, customer_id=9999, **more).message


# the kit as a whole


@pytest.mark.parametrize(
    "write",
    [
        lambda held, by: refunds.give(held, 1020, 500, "scratch", by, given_before=0)["id"],
        lambda held, by: stock.correct(held, TREK, "Leipzig", 3, "counted", by)["id"],
        lambda held, by: letters.note(held, 2, "x", by),
        lambda held, by: letters.draft(held, 2, "x", "y", by),
        lambda held, by: collections.save(held, "Rain", [TREK], True, by),
    ],
)
def test_the_same_key_a_second_time_changes_nothing(held, write):
    by = By("litro-1", "sam", "olga")
    first = write(held, by)
    changes = held.total_changes
    assert write(held, by) == first
    assert held.total_changes == changes


def test_every_write_tool_can_be_asked_whether_it_happened(app, olga):
    tools = [
        tool
        for agent in ("assistant", "concierge")
        for tool in app.extensions["litro_agent"].gate.tools(agent).values()
        if tool.facts.mode != "read"
    ]
    assert len(tools) == 21
    asked = proposed(app, "change_price", sku=TREK, price_cents=19_900)
    with app.app_context():
        assert not any(tool.reconcile(asked.idempotency_key) for tool in tools)
    approve(olga, asked)
    with app.app_context():
        assert [tool.name for tool in tools if tool.reconcile(asked.idempotency_key)] == ["change_price"]


def test_lowering_the_ceiling_takes_the_tools_away_while_the_shop_runs(app):
    def modes():
        return {tool.facts.mode for tool in app.extensions["litro_agent"].gate.tools("assistant").values()}

    assert modes() == {"read", "propose", "execute"}
    for level, left in (("propose", {"read", "propose"}), ("read", {"read"})):
        assert flask_litro(app, "ceiling", "set", "site", level).exit_code == 0
        assert modes() == left
    assert propose(app, "change_price", sku=TREK, price_cents=100).code == "unknown_tool"


NAMED = [
    ("change_price", {"sku": TREK, "price_cents": 100}, {"/sku": "Trek 65 Backpack, red"}),
    (
        "refund_order",
        {"order_number": 1020, "amount_cents": 100, "reason": "x"},
        {"/order_number": "Anna Berg, €109.80, delivered"},
    ),
    (
        "goodwill_credit",
        {"customer_id": 2, "amount_cents": 100, "reason": "x"},
        {"/customer_id": "Jonas Vogel"},
    ),
    (
        "save_collection",
        {"name": "Two", "skus": [TREK, "JKT-SQL-BLU"], "published": False},
        {"/skus/0": "Trek 65 Backpack, red", "/skus/1": "Squall Rain Jacket, blue"},
    ),
    (
        "change_prices",
        {"prices": [{"sku": TREK, "price_cents": 100}]},
        {"/prices/0/sku": "Trek 65 Backpack, red"},
    ),
    (
        "order_from_supplier",
        {"city": "Leipzig", "lines": [{"sku": TREK, "quantity": 4}]},
        {"/lines/0/sku": "Trek 65 Backpack, red"},
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "labels"), NAMED, ids=[row[0] for row in NAMED])
def test_a_card_names_what_its_numbers_stand_for(app, tool, arguments, labels):
    assert proposed(app, tool, **arguments).labels == labels


def test_every_tool_that_is_given_a_number_says_what_it_stands_for(app):
    numbers = {"sku", "skus", "prices", "lines", "order_number", "customer_id", "review_id", "credit"}
    tools = [
        tool
        for agent in ("assistant", "concierge")
        for tool in app.extensions["litro_agent"].gate.tools(agent).values()
        if tool.facts.mode != "read" and numbers & set(tool.params.fields)
    ]
    assert len(tools) == 19
    assert [tool.name for tool in tools if tool.labels is None] == []


def test_a_proposal_waits_long_enough_for_somebody_to_see_it(app):
    ttls = {
        tool.name: tool.ttl
        for agent in ("assistant", "concierge")
        for tool in app.extensions["litro_agent"].gate.tools(agent).values()
        if tool.facts.mode != "read"
    }
    assert [name for name, ttl in ttls.items() if ttl < 900] == []
    about_goods_and_orders = (
        "correct_stock",
        "hold_order",
        "change_address",
        "hold_my_order",
        "change_my_address",
    )
    assert {ttls[name] for name in about_goods_and_orders} == {1800}


# from the chat to the audit


def flask_litro(app, *words):
    return app.test_cli_runner().invoke(args=["litro", *words])


def ask(person, text, session="s1"):
    answer = person.client.post(
        f"/__litro/agent/assistant/{session}", json={"text": text}, headers={"X-Litro-Agent": "1"}
    )
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines() if line]


def said(events):
    texts = [event["payload"] for event in events if event["kind"] == "message"]
    return "\n".join(text["text"] for text in texts if text["role"] == "assistant")


def test_a_refund_from_the_question_to_the_answer(app, held, olga):
    """Support asks, the operator sees it on the command line and approves by a plain form, the chat knows."""
    sam = Person(app, "support")
    events = ask(sam, "Refund 5 euros for order 1020 because it was scratched")
    (card,) = [event["payload"] for event in events if event["kind"] == "proposal"]
    assert "waits for an operator's approval" in said(events)
    listed = flask_litro(app, "proposals", "--json")
    assert card["proposal_id"] in listed.stdout

    seen = olga.card(card["proposal_id"]).json
    form = {"csrf_token": seen["csrf_token"], "digest": seen["digest"]}
    answer = olga.client.post(f"/__litro/proposals/{card['proposal_id']}/approve", data=form)
    assert answer.status_code == 303
    assert refunds.given(held, 1020) == 500
    assert "was approved and is done" in said(ask(sam, "Was it approved?"))
    assert flask_litro(app, "audit", "verify").exit_code == 0


def card_of(events):
    (card,) = [event["payload"] for event in events if event["kind"] == "proposal"]
    return card["proposal_id"]


def let_expire(app, proposal_id):
    """Make a proposal older than it may become."""
    ledger = sqlite3.connect(Path(app.instance_path) / "litro" / "ledger.db")
    with contextlib.closing(ledger), ledger:
        ledger.execute(
            "UPDATE litro_proposal SET created_at = created_at - ttl_ms - 1000 WHERE id = ?", (proposal_id,)
        )


def test_three_wishes_of_one_operator_end_in_three_ways_by_another(app, held, olga, otto):
    """The chat knows each end, what was done is taken back by its reverse, and all of it is in the ledger."""
    refund, tag, shelf = (
        card_of(ask(olga, wish, session="wishes"))
        for wish in (
            "Refund 5 euros for order 1020 because it was scratched",
            "Set the price of the Trek 65 to 199 euros",
            "Publish a collection “Light nights” of sleeping bags",
        )
    )
    assert olga.decide("approve", refund).status_code == 403
    assert otto.decide("dismiss", refund, note="ask for a photo first").status_code == 200
    assert otto.decide("approve", tag).status_code == 200
    let_expire(app, shelf)
    assert otto.decide("approve", shelf).status_code == 409

    told = said(ask(olga, "What happened to it?", session="wishes")).splitlines()
    assert "was dismissed: nothing was changed (“ask for a photo first”)" in told[-3]
    assert "€199.00 for PCK-TRK65-RED was approved and is done" in told[-2]
    assert "“Light nights” found nobody who decided in time" in told[-1]
    assert (refunds.given(held, 1020), price(app), collections.every(held)) == (0, 19_900, [])

    back = olga.decide("reverse", tag).json
    assert otto.decide("approve", back["id"]).status_code == 200
    assert price(app) == 21_900
    *_, last = said(ask(olga, "any news?", session="wishes")).splitlines()
    assert last == '• change_price(price_cents: 21900, sku: "PCK-TRK65-RED") was approved and is done.'
    states = json.loads(flask_litro(app, "proposals", "--json").stdout)
    assert len(states) == 4
    assert flask_litro(app, "audit", "verify").exit_code == 0
