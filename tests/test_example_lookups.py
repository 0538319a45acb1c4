"""The demo's script about an operator's weekly questions: each reaches its tool, and the answer has its figures."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from example_app import create_app, database, periods, suggestions
from example_app.assistant import carriers, loyalty, margins, months, packing, payments, reorders
from example_app.identity import PERMISSIONS
from example_app.money import euros
from flask_litro_agent import Actor
from flask_litro_agent.testing import AgentClient
from tests.shop_desk import Person

SAM = Actor("account:2", "Sam Ritter", PERMISSIONS["support"], {"role": "support", "customer_id": None})
OLGA = Actor("account:3", "Olga Stein", PERMISSIONS["operator"], {"role": "operator", "customer_id": None})
SCRIPT = Path(__file__).parent.parent / "agents" / "assistant" / "script"
LOOKUPS = tomllib.loads((SCRIPT / "lookups.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Flask:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("LLM_URL", "LLM_MODEL", "ANTHROPIC_API_KEY"):
            patch.delenv(name, raising=False)
        return create_app({"SHOP_DATA": tmp_path_factory.mktemp("site"), "TESTING": True})


@pytest.fixture(autouse=True)
def speed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMO_SPEED", "0")


@pytest.fixture
def assistant(app: Flask) -> AgentClient:
    return AgentClient(app, "assistant", actor=OLGA)


@pytest.fixture
def held(app: Flask):
    connection = database.open_database(app.config["SHOP_DATABASE"])
    yield connection
    connection.close()


QUESTIONS: list[tuple[str, str, dict[str, Any]]] = [
    ("Give me the morning briefing", "daily_briefing", {}),
    ("What should I look at first?", "daily_briefing", {}),
    ("How did yesterday go?", "daily_briefing", {}),
    ("When do people order?", "busy_hours", {}),
    ("What is our busiest hour this year?", "busy_hours", {"period": "this_year"}),
    ("sales by weekday for tents", "busy_hours", {"category": "tents"}),
    ("Which products have the lowest margin?", "product_margins", {}),
    ("margins of jackets last month", "product_margins", {"category": "jackets", "period": "last_month"}),
    ("On which 5 products do we earn the most money?", "product_margins", {"sort": "earned"}),
    ("best 3 margins", "product_margins", {"sort": "highest", "limit": 3}),
    ("How much VAT is in the last 3 months?", "monthly_revenue", {"months": 3}),
    ("revenue month by month", "monthly_revenue", {}),
    ("turnover per month for the last twelve months", "monthly_revenue", {"months": 12}),
    ("What can we expect in the next 4 weeks?", "sales_forecast", {"weeks": 4}),
    ("sales forecast please", "sales_forecast", {}),
    ("How much will we sell in the coming two weeks?", "sales_forecast", {"weeks": 2}),
    ("What is bought together with the Fjell 2?", "bought_together", {"product": "fjell 2"}),
    ("Which products sell together?", "bought_together", {"product": None}),
    ("what do people also buy with the Lumen 400", "bought_together", {"product": "lumen 400"}),
    ("Which products has nobody bought for 120 days?", "dead_stock", {"days": 120}),
    ("dead stock in Munich", "dead_stock", {"city": "Munich"}),
    ("slow movers among the jackets", "dead_stock", {"category": "jackets"}),
    ("What should we order from the suppliers?", "reorder_plan", {}),
    ("Make me a purchase plan", "reorder_plan", {}),
    ("What do we have to order from Kleinglut?", "reorder_plan", {"supplier": "Kleinglut"}),
    ("Where do we lose goods?", "stock_losses", {}),
    ("shrinkage in Leipzig this year", "stock_losses", {"city": "Leipzig", "period": "this_year"}),
    ("Which goods went missing last month?", "stock_losses", {"period": "last_month"}),
    ("What happened to the stock of the Trek 65?", "stock_history", {"product": "trek 65"}),
    ("stock history of the Lumen 400 in Berlin", "stock_history", {"product": "lumen 400", "city": "Berlin"}),
    ("When was the Squall last counted?", "stock_history", {"product": "squall"}),
    ("Which customers are at risk?", "customers_at_risk", {}),
    ("Are we losing regulars?", "customers_at_risk", {}),
    ("Which regular customers have gone silent?", "customers_at_risk", {}),
    ("Who are our best customers?", "top_customers", {}),
    ("top 5 customers from Austria", "top_customers", {"limit": 5, "country": "Austria"}),
    ("Who spends the most?", "top_customers", {}),
    ("How many new customers buy again?", "repeat_purchases", {}),
    ("What is our repeat purchase rate within 60 days?", "repeat_purchases", {"days": 60}),
    ("retention by cohort", "repeat_purchases", {}),
    ("Which products are returned most often?", "return_rates", {}),
    ("return rate of footwear this year", "return_rates", {"category": "footwear", "period": "this_year"}),
    ("Which products come back the most?", "return_rates", {}),
    ("Which carrier is the most punctual?", "carrier_performance", {}),
    ("How fast does DHL deliver?", "carrier_performance", {}),
    ("delivery times in the last 30 days", "carrier_performance", {"period": "last_30_days"}),
    ("What has to be packed?", "packing_queue", {}),
    ("Which orders are waiting to be packed?", "packing_queue", {}),
    ("show me the packing list", "packing_queue", {}),
    ("Are there payment problems?", "payment_problems", {}),
    ("Which invoices are overdue?", "payment_problems", {"kind": "overdue invoice"}),
    ("any chargebacks?", "payment_problems", {"kind": "disputed"}),
    ("Which messages are unanswered?", "unanswered_messages", {}),
    ("Who is waiting for an answer?", "unanswered_messages", {}),
    ("show the inbox", "unanswered_messages", {}),
    ("What are the worst reviews lately?", "reviews_digest", {}),
    ("What do customers complain about?", "reviews_digest", {}),
    (
        "bad reviews of tents last month",
        "reviews_digest",
        {"category": "tents", "period": "last_month"},
    ),
    ("Are there suspicious orders?", "fraud_signals", {}),
    ("any signs of fraud this week?", "fraud_signals", {"period": "this_week"}),
    ("Which orders look strange?", "fraud_signals", {}),
    ("Who changed what this month?", "staff_changes", {"period": "this_month"}),
    ("What has Otto Lang approved?", "staff_changes", {"by": "Otto Lang"}),
    ("price changes this year", "staff_changes", {"period": "this_year"}),
]


@pytest.mark.parametrize(("question", "tool", "arguments"), QUESTIONS, ids=[row[0] for row in QUESTIONS])
def test_a_question_reaches_its_tool_and_is_answered_from_the_result(assistant, question, tool, arguments):
    turn = assistant.send(question)
    (made,) = turn.calls
    assert made.name == tool
    assert {name: made.input.get(name) for name in arguments} == arguments
    assert turn.reason == "finished"
    (result,) = turn.results
    assert "error" not in result
    shown = [text for text in _texts(result) if text in turn.text]
    assert len(shown) >= 1, turn.text


def _texts(value: Any) -> list[str]:
    match value:
        case dict():
            return [text for inner in value.values() for text in _texts(inner)]
        case list():
            return [text for inner in value for text in _texts(inner)]
        case str() if len(value) >= 3:
            return [value]
        case _:
            return []


def test_every_lookup_is_asked_in_two_ways_at_least_and_has_its_answer():
    for tool in LOOKUPS:
        assert sum(row[1] == tool for row in QUESTIONS) >= 2, tool
        assert (SCRIPT / "answers" / f"{tool}.txt").is_file(), tool


# the figures in the answer are those of the shop


def test_the_margin_in_the_answer_is_that_of_the_shop(assistant, held):
    found = margins.by_product(held, periods.named("last_month", date.today()))
    answer = assistant.send("What is our margin last month?").text
    assert euros(margins.whole(found).earned_cents) in answer
    assert f"{found[0].product}: {found[0].percent} %" in answer


def test_the_vat_in_the_answer_is_that_of_the_shop(assistant, held):
    found = months.last(held, date.today(), 2)
    answer = assistant.send("How much VAT is in the last 2 months?").text
    assert euros(sum(month.vat_cents for month in found)) in answer


def test_the_order_for_the_suppliers_is_that_of_the_shop(assistant, held):
    found = reorders.plan(held, date.today())
    answer = assistant.send("What should we order from the suppliers?").text
    assert len(found) >= 3
    for each in found:
        assert f"{each.product}: {each.pieces} from {each.supplier} ({euros(each.order_cents)})" in answer


def test_every_order_to_pack_is_in_the_answer(assistant, held):
    found = packing.queue(held, date.today())
    answer = assistant.send("What has to be packed?").text
    assert re.findall(r"^• (\d+) of", answer, re.MULTILINE) == [str(each.number) for each in found]


def test_the_most_punctual_carrier_is_named(assistant, held):
    best = carriers.performance(held, date.today(), periods.named("last_90_days", date.today()))[0]
    assert f"The most punctual is {best.name}." in assistant.send("Which carrier is the most punctual?").text


def test_the_best_customer_comes_first(assistant, held):
    best = loyalty.worth(held)[0]
    answer = assistant.send("Who are our best customers?").text
    assert f"1. {best.name}, {best.city}: {euros(best.value_cents)}" in answer


def test_the_money_at_stake_is_said(assistant, held):
    found = payments.problems(held, date.today())
    answer = assistant.send("Are there payment problems?").text
    assert euros(sum(each.amount_cents for each in found)) in answer


# what is not there, and what goes on


def test_a_product_that_is_not_sold_is_said_to_be_not_sold(assistant):
    turn = assistant.send("stock history of the bicycle")
    assert "nothing called “bicycle”" in turn.text


def test_a_history_of_nothing_asks_of_what(assistant):
    turn = assistant.send("stock history")
    assert turn.calls == []
    assert "which product" in turn.text


def test_an_unknown_supplier_is_answered_with_those_that_there_are(assistant):
    turn = assistant.send("What do we have to order from Globetrotter?")
    assert "Kleinglut" in turn.text
    assert "Globetrotter" in turn.text


def test_another_period_goes_on_from_the_question_before(assistant):
    assistant.send("margins of jackets last month")
    (made,) = assistant.send("and this year?").calls
    assert (made.name, dict(made.input)) == (
        "product_margins",
        {"category": "jackets", "period": "this_year"},
    )


def test_an_empty_shop_is_answered_honestly(tmp_path):
    app = create_app({"SHOP_DATA": tmp_path, "TESTING": True})
    tables = (
        "message",
        "payment",
        "return_case",
        "shipment",
        "order_line",
        "orders",
        "review",
        "stock_movement",
    )
    with app.app_context(), database.connection() as connection:
        for table in (*tables, "price_change", "note"):
            connection.execute(f"DELETE FROM {table}")
        connection.execute("UPDATE stock SET quantity = 0")
    client = AgentClient(app, "assistant", actor=OLGA)
    for tool, spec in LOOKUPS.items():
        turn = client.send(spec["example"])
        assert [made.name for made in turn.calls] == [tool]
        assert turn.reason == "finished", tool
        assert "error" not in turn.results[0], (tool, turn.results)
        assert "•" not in turn.text or tool in ("daily_briefing", "stock_history"), (tool, turn.text)


# what an account may see


@pytest.mark.parametrize("tool", LOOKUPS)
def test_support_is_answered_or_told_who_may_ask(app, tool):
    turn = AgentClient(app, "assistant", actor=SAM).send(LOOKUPS[tool]["example"])
    needed = app.extensions["litro_agent"].agents["assistant"].tools[tool].facts.permission
    if SAM.may(needed):
        assert "error" not in turn.results[0]
    else:
        assert turn.results[0]["error"]["code"] == "forbidden"
        assert "operator" in turn.text


@pytest.mark.parametrize("actor", [SAM, OLGA], ids=["support", "operator"])
def test_what_the_chat_page_offers_is_answered(app, actor):
    with app.app_context():
        offered = suggestions.for_actor("assistant", actor)
    assert len(offered) == 6
    for question in offered:
        turn = AgentClient(app, "assistant", actor=actor).send(question)
        assert turn.calls[-1].name == suggestions.ASSISTANT[question]
        assert not any("error" in result for result in turn.results), question


@pytest.mark.parametrize("username", ["support", "operator"])
def test_the_chat_page_shows_what_this_account_may_ask(app, username):
    page = Person(app, username).client.get("/chat/assistant").text
    actor = {"support": SAM, "operator": OLGA}[username]
    with app.app_context():
        offered = suggestions.for_actor("assistant", actor)
    shown = re.findall(r"data-ask>([^<]+)<", page)
    assert shown == list(offered)
    assert ("How were sales last month?" in shown) == (username == "operator")
