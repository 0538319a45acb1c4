"""The demo's script: every question goes to the right tool, and every answer is made of what the tool returned."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Any

import pytest
from flask import Flask

from example_app import catalogue, create_app, database, orders, periods, reports
from example_app.identity import PERMISSIONS
from example_app.money import euros
from flask_litro_agent import Actor
from flask_litro_agent.contracts import (
    ChatRequest,
    Message,
    Stop,
    Text,
    TextDelta,
    ToolCall,
    ToolCallEvent,
    ToolResult,
    ToolSpec,
)
from flask_litro_agent.testing import AgentClient

ANNA = Actor("account:1", "Anna Berg", PERMISSIONS["customer"], {"role": "customer", "customer_id": 1})
SAM = Actor("account:2", "Sam Ritter", PERMISSIONS["support"], {"role": "support", "customer_id": None})
OLGA = Actor("account:3", "Olga Stein", PERMISSIONS["operator"], {"role": "operator", "customer_id": None})
AGENTS = ("concierge", "assistant")


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
def concierge(app: Flask) -> AgentClient:
    return AgentClient(app, "concierge")


@pytest.fixture
def assistant(app: Flask) -> AgentClient:
    return AgentClient(app, "assistant", actor=OLGA)


@pytest.fixture
def held(app: Flask):
    with app.app_context():
        yield database.connection()


def called(turn) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, dict(call.input)) for call in turn.calls]


def suggestions(app: Flask, agent: str) -> tuple[str, ...]:
    return tuple(app.extensions["litro_agent"].agents[agent].agent.suggestions)


# every suggestion


@pytest.mark.parametrize("agent", AGENTS)
def test_every_suggestion_calls_tools_and_answers_from_their_results(app, agent):
    actor = ANNA if agent == "concierge" else OLGA
    for question in suggestions(app, agent):
        turn = AgentClient(app, agent, actor=actor).send(question)
        assert turn.reason == "finished", question
        assert turn.calls, question
        assert not any(isinstance(result, dict) and "error" in result for result in turn.results), question
        shown = [text for text in _texts(turn.results) if text in turn.text]
        assert len(shown) >= 3, (question, turn.text)


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


CONCIERGE = [
    (
        "Show me tents for two under 350 euros",
        "find_products",
        {"category": "tents", "persons": 2, "max_price": 350},
    ),
    ("Do you have a waterproof jacket in blue?", "find_products", {"category": "jackets", "colour": "blue"}),
    ("I'm looking for boots below 200€", "find_products", {"category": "footwear", "max_price": 200}),
    ("a backpack between 100 and 200 euros", "find_products", {"min_price": 100, "max_price": 200}),
    ("what's the lightest tent you have", "find_products", {"category": "tents", "sort": "weight"}),
    ("Show me sleeping bags for winter", "find_products", {"category": "sleeping-bags", "comfort_c": -15}),
    ("I need a sleeping bag for -5 degrees", "find_products", {"comfort_c": -5}),
    ("something under 30 euros please", "find_products", {"max_price": 30}),
    ("tents lighter than 2.5 kg", "find_products", {"category": "tents", "max_weight_g": 2500}),
    ("Tell me about the Fjell 2", "product_details", {"product": "fjell 2"}),
    ("How heavy is the Polar -15 sleeping bag?", "product_details", {"product": "polar -15 sleeping bag"}),
    ("what does the Spark stove cost?", "product_details", {"product": "spark stove"}),
    ("Do you have the Trek 65 in red?", "product_details", {"product": "trek 65 red"}),
    ("Compare the Trek 50 and the Trek 65", "compare_products", {"products": ["trek 50", "trek 65"]}),
    ("What is the difference between Squall and Gale?", "compare_products", {"products": ["squall", "gale"]}),
    ("Fjell 2 vs Tarn Ultralight 1", "compare_products", {"products": ["fjell 2", "tarn ultralight 1"]}),
    ("Which is lighter, the Ember or the Squall?", "compare_products", {"products": ["ember", "squall"]}),
    (
        "Is the Squall rain jacket in stock in Berlin?",
        "stock_for",
        {"product": "squall rain jacket", "city": "Berlin"},
    ),
    ("How many Lumen 400 do you have?", "stock_for", {"product": "lumen 400"}),
    ("Can I pick up a Trek 65 in Munich today?", "stock_for", {"product": "trek 65", "city": "Munich"}),
    ("What do people say about the Lumen 400?", "product_reviews", {"product": "lumen 400"}),
    ("reviews of the summit boot", "product_reviews", {"product": "summit boot"}),
    ("What does shipping to Austria cost?", "shipping_cost", {"country": "Austria"}),
    ("How long does delivery to France take?", "shipping_cost", {"country": "France"}),
    (
        "Is shipping free for an order of 120 euros?",
        "shipping_cost",
        {"country": "Germany", "goods_value": 120},
    ),
    ("When are you open on Saturday in Berlin?", "opening_hours", {"city": "Berlin", "weekday": "Saturday"}),
    ("What are your opening hours?", "opening_hours", {}),
    ("Can I return boots that I have worn?", "return_policy", {"topic": "worn"}),
    ("What is your return policy?", "return_policy", {"topic": "general"}),
    ("my tent pole broke, is there a warranty?", "return_policy", {"topic": "warranty"}),
    (
        "What do two people need for autumn under 1200 euros?",
        "plan_kit",
        {"persons": 2, "season": "autumn", "budget": 1200},
    ),
    ("packing list for winter", "plan_kit", {"season": "winter"}),
    ("What do you sell?", "list_categories", {}),
    ("what categories are there", "list_categories", {}),
]


@pytest.mark.parametrize(("question", "tool", "arguments"), CONCIERGE)
def test_the_concierge_understands(concierge, question, tool, arguments):
    turn = concierge.send(question)
    name, given = called(turn)[0]
    assert name == tool
    assert {key: given.get(key) for key in arguments} == arguments
    assert turn.reason == "finished"
    assert "error" not in str(turn.results)


MINE = [
    ("Show my orders", ["my_orders"]),
    ("what did I order?", ["my_orders"]),
    ("Where is my last order?", ["my_orders", "track_order"]),
    ("When will my parcel arrive?", ["my_orders", "track_order"]),
    ("track order 1111", ["track_order"]),
    ("Where is order 1111?", ["track_order"]),
]


@pytest.mark.parametrize(("question", "tools"), MINE)
def test_the_concierge_knows_a_customers_own_orders(app, question, tools):
    turn = AgentClient(app, "concierge", actor=ANNA).send(question)
    assert [name for name, _ in called(turn)] == tools
    assert re.search(r"\b1[01]\d\d\b", turn.text)


ASSISTANT = [
    ("How were sales last month?", "sales_report", {"period": "last_month"}),
    ("what was our turnover this week", "sales_report", {"period": "this_week"}),
    ("revenue of tents this year", "sales_report", {"period": "this_year", "category": "tents"}),
    ("How much did we sell yesterday?", "sales_report", {"period": "yesterday"}),
    ("What sold best this year?", "best_sellers", {"period": "this_year"}),
    ("top 3 products last month", "best_sellers", {"period": "last_month", "limit": 3}),
    (
        "best selling jackets in the last 90 days",
        "best_sellers",
        {"category": "jackets", "period": "last_90_days"},
    ),
    ("What is running low in Leipzig?", "low_stock", {"city": "Leipzig"}),
    ("what should we reorder?", "low_stock", {}),
    ("Which parcels are late?", "late_shipments", {}),
    ("any delayed shipments?", "late_shipments", {}),
    ("What is in order 1111, and where is it?", "order_details", {"order_number": 1111}),
    ("show me order #1100", "order_details", {"order_number": 1100}),
    ("Which orders are waiting to be shipped?", "find_orders", {"status": ["paid", "packed"]}),
    ("orders from Berlin last month", "find_orders", {"city": "Berlin", "period": "last_month"}),
    ("orders of Anna Berg", "find_orders", {"customer": "Anna Berg"}),
    ("show orders over 500 euros", "find_orders", {"min_total": 500}),
    ("What has Anna Berg bought?", "find_customers", {"name": "Anna Berg"}),
    ("what did Thijs de Wit order?", "find_customers", {"name": "Thijs de Wit"}),
    ("Find customers from Munich", "find_customers", {"city": "Munich"}),
    ("email of Clara Hofer", "find_customers", {"name": "clara hofer"}),
    ("How many Fjell 2 are in each warehouse?", "stock_levels", {"product": "fjell 2"}),
    ("stock of the Lumen 400", "stock_levels", {"product": "lumen 400"}),
    ("Why do goods come back?", "returns_overview", {}),
    ("How many returns last month?", "returns_overview", {"period": "last_month"}),
    ("Show me jackets under 150 euros", "find_products", {"category": "jackets", "max_price": 150}),
]


@pytest.mark.parametrize(("question", "tool", "arguments"), ASSISTANT)
def test_the_assistant_understands(assistant, question, tool, arguments):
    turn = assistant.send(question)
    name, given = called(turn)[0]
    assert name == tool
    assert {key: given.get(key) for key in arguments} == arguments
    assert turn.reason == "finished"
    assert "error" not in str(turn.results)


# answers are the shop's own figures


def test_the_answer_names_exactly_the_products_that_fit(concierge, held):
    text = concierge.send("Show me tents for two under 350 euros").text
    fitting = catalogue.find(held, catalogue.Wish(category="tents", max_cents=35000, persons=2))
    lines = re.findall(r"^• (.+?) – (€[\d.,]+),", text, re.MULTILINE)
    assert lines == [(product.label, euros(product.price_cents)) for product in fitting]


def test_what_is_dearer_than_asked_is_shown_by_the_rest_of_the_wish(concierge, held):
    turn = concierge.send("Show me the lightest tents for three people under 100 euros")
    wish = catalogue.Wish(category="tents", persons=3, available=True)
    expected = [product.label for product in catalogue.find(held, wish)][:3]
    assert re.findall(r"^• (.+?) – ", turn.text, re.MULTILINE) == expected
    assert "€100 or less" in turn.text


def test_nothing_dearer_is_shown_where_nothing_fits_at_any_price(concierge):
    turn = concierge.send("Show me blue tents under 100 euros")
    assert "Nothing on our shelves fits that" in turn.text
    assert "•" not in turn.text


def test_a_follow_up_to_what_is_dearer_finds_everything_that_fits(concierge):
    _, turn = conversation(concierge, "Show me jackets under 20 euros", "and footwear?")
    assert called(turn) == [("find_products", {"category": "footwear"})]
    _, turn = conversation(concierge, "Show me tents under 100 euros", "and in green?")
    assert called(turn)[0][1].keys() == {"category", "colour", "in_stock", "sort"}


def test_the_sales_in_the_answer_are_those_of_the_database(assistant, held):
    sales = reports.sales(held, periods.named("last_month", date.today()))
    assert euros(sales.goods_cents) in assistant.send("How were sales last month?").text


def test_a_changed_price_changes_the_answer(tmp_path):
    app = create_app({"SHOP_DATA": tmp_path, "TESTING": True})
    with app.app_context():
        database.connection().execute("UPDATE product SET price_cents = 12345 WHERE family = 'Gale'")
        database.connection().commit()
    assert "€123.45" in AgentClient(app, "concierge").send("Tell me about the Gale").text


def test_two_periods_are_two_calls_in_one_round(assistant):
    turn = assistant.send("Compare sales this month with last month")
    assert called(turn) == [
        ("sales_report", {"period": "this_month"}),
        ("sales_report", {"period": "last_month"}),
    ]
    assert all(result["turnover"] in turn.text for result in turn.results)


def test_a_customer_is_found_before_he_is_opened(assistant):
    turn = assistant.send("What has Anna Berg bought?")
    assert called(turn) == [
        ("find_customers", {"name": "Anna Berg"}),
        ("customer_details", {"customer_id": 1}),
    ]
    assert turn.results[1]["spent"] in turn.text


@pytest.mark.parametrize(
    ("agent", "question", "steps"),
    [
        ("concierge", "packing list for winter", 6),
        ("assistant", "How were sales last month?", len(catalogue.CATEGORIES)),
        ("assistant", "what should we reorder?", 5),
    ],
)
def test_a_long_tool_shows_its_progress(app, agent, question, steps):
    turn = AgentClient(app, agent, actor=OLGA).send(question)
    shown = [event.payload["value"] for event in turn.events if event.kind == "tool-progress"]
    assert [value["done"] for value in shown] == list(range(1, steps + 1))
    assert {value["of"] for value in shown} == {steps}


# what an account may see


@pytest.mark.parametrize("question", ["Show my orders", "Where is my last order?", "Where is order 1111?"])
def test_a_visitor_is_asked_to_sign_in(concierge, question):
    turn = concierge.send(question)
    assert turn.results[0]["error"]["code"] == "forbidden"
    assert "sign in" in turn.text


def test_a_customer_never_sees_the_order_of_another(app, held):
    order = orders.by_number(held, 1112)
    assert order is not None
    assert order.customer_id != 1
    turn = AgentClient(app, "concierge", actor=ANNA).send("Where is order 1112?")
    assert turn.results == [{"found": False, "order_number": 1112}]
    assert order.customer not in turn.text


@pytest.mark.parametrize(
    "question", ["How were sales last month?", "What is running low?", "What sold best?"]
)
def test_support_is_told_that_reports_are_for_the_operator(app, question):
    turn = AgentClient(app, "assistant", actor=SAM).send(question)
    assert turn.results[0]["error"]["code"] == "forbidden"
    assert "operator" in turn.text


def test_every_permission_of_a_tool_is_held_by_somebody(app):
    tools = [tool for agent in AGENTS for tool in app.extensions["litro_agent"].agents[agent].tools.values()]
    assert len({tool.name for tool in tools}) >= 20
    for tool in tools:
        facts = tool.facts
        assert facts.permission is None or any(actor.may(facts.permission) for actor in (ANNA, SAM, OLGA))
        assert facts.mode == "read" or OLGA.may(facts.permission), "nobody could approve it"


# taking up what was said


def conversation(client: AgentClient, *questions: str):
    return [client.send(question) for question in questions]


def test_it_means_the_product_that_was_shown(concierge):
    *_, stock, elsewhere, reviews = conversation(
        concierge,
        "Tell me about the Fjell 2",
        "and in orange?",
        "is it in stock in Berlin?",
        "and in Munich?",
        "what do people say about it?",
    )
    assert called(stock) == [("stock_for", {"product": "Fjell 2 Tent, orange", "city": "Berlin"})]
    assert called(elsewhere) == [("stock_for", {"product": "Fjell 2 Tent, orange", "city": "Munich"})]
    assert called(reviews) == [("product_reviews", {"product": "Fjell 2 Tent, orange"})]


def test_a_follow_up_narrows_the_search_before_it(concierge):
    *_, last = conversation(concierge, "Do you have backpacks?", "only under 150 euros", "and in green?")
    assert called(last) == [("find_products", {"category": "backpacks", "max_price": 150, "colour": "green"})]


def test_the_second_one_is_the_second_of_the_list(concierge):
    listed, second, both = conversation(
        concierge, "Do you have backpacks?", "tell me about the second one", "compare the first two"
    )
    products = [f"{product['name']}, {product['colour']}" for product in listed.results[0]["products"]]
    assert called(second) == [("product_details", {"product": products[1]})]
    assert called(both) == [("compare_products", {"products": products[:2]})]


def test_another_country_and_value_keep_the_rest_of_the_question(concierge):
    *_, last = conversation(
        concierge, "What does shipping to Austria cost?", "and to France?", "and for an order of 250 euros?"
    )
    assert called(last) == [("shipping_cost", {"country": "France", "goods_value": 250})]


def test_another_month_keeps_the_report(assistant):
    *_, month, tents = conversation(
        assistant, "How were sales last month?", "and this month?", "and for tents?"
    )
    assert called(month) == [("sales_report", {"period": "this_month"})]
    assert called(tents) == [("sales_report", {"period": "this_month", "category": "tents"})]


def test_that_order_is_the_one_that_was_shown(assistant):
    listed, opened = conversation(
        assistant, "Which orders are waiting to be shipped?", "what is in that order?"
    )
    number = listed.results[0]["orders"][0]["number"]
    assert called(opened) == [("order_details", {"order_number": number})]


@pytest.mark.parametrize("question", ["Thanks!", "ok, thank you", "hello", "asdf qwer"])
def test_small_talk_does_not_repeat_the_last_call(concierge, question):
    *_, last = conversation(concierge, "Do you have backpacks?", question)
    assert last.calls == []
    assert last.text


def test_a_bare_city_goes_on_from_the_question_before(concierge):
    *_, last = conversation(concierge, "Is the Trek 65 in stock in Berlin?", "Munich?")
    assert called(last) == [("stock_for", {"product": "trek 65", "city": "Munich"})]


def test_a_whole_new_question_is_not_taken_for_a_follow_up(concierge):
    *_, last = conversation(concierge, "Do you have backpacks?", "and what does shipping to France cost?")
    assert called(last) == [("shipping_cost", {"country": "France"})]


# what it cannot do


@pytest.mark.parametrize("question", ["Cancel my order", "I want to pay now", "change my order please"])
def test_the_concierge_says_that_it_only_looks(concierge, question):
    turn = concierge.send(question)
    assert turn.calls == []
    assert "only look things up" in turn.text


@pytest.mark.parametrize(
    "question", ["delete order 1111", "pay the supplier", "delete the customer Anna Berg"]
)
def test_the_assistant_says_that_it_only_looks(assistant, question):
    turn = assistant.send(question)
    assert turn.calls == []
    assert "only look things up" in turn.text


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    "question", ["asdf qwer", "?", "😀", "hello", "help", "<b>hi</b> {{ 7 * 7 }}", "x" * 20_000]
)
def test_what_it_does_not_understand_it_answers_with_examples(app, agent, question):
    turn = AgentClient(app, agent, actor=OLGA).send(question)
    assert turn.reason == "finished"
    assert turn.calls == []
    assert turn.text.count("•") >= 4


@pytest.mark.parametrize("agent", AGENTS)
def test_every_example_that_it_names_is_understood(app, agent):
    actor = ANNA if agent == "concierge" else OLGA
    examples = re.findall(r"^• (.+)$", AgentClient(app, agent, actor=actor).send("help").text, re.MULTILINE)
    assert len(examples) >= 12
    for example in examples:
        assert AgentClient(app, agent, actor=actor).send(example).calls, example


def test_an_unknown_product_is_answered_with_what_may_have_been_meant(concierge):
    turn = concierge.send("Tell me about the Fjell 7")
    assert turn.results[0]["found"] in (True, False)
    assert "Fjell" in turn.text


def test_what_is_not_sold_is_said_to_be_not_sold(concierge):
    assert "nothing called “bicycles”" in concierge.send("do you sell bicycles?").text


# without a shop: the script against requests


def ask(app: Flask, agent: str, messages: tuple[Message, ...], tools: tuple[str, ...]):
    provider = app.extensions["litro_agent"].providers[agent]
    listed = tuple(ToolSpec(name, "", {}) for name in tools)
    events = list(provider.stream(ChatRequest("", messages, listed), Stop()))
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    return [event for event in events if isinstance(event, ToolCallEvent)], text


def test_a_tool_that_is_not_listed_is_never_called(app):
    messages = (Message("user", (Text("Where is my last order?"),)),)
    calls, text = ask(app, "concierge", messages, ("find_products", "product_details"))
    assert calls == []
    assert "You can ask me" in text
    assert "orders" not in text


def failed(code: str, message: str) -> tuple[Message, ...]:
    return (
        Message("user", (Text("What do you sell?"),)),
        Message("assistant", (ToolCall("c1", "list_categories"),)),
        Message(
            "tool", (ToolResult("c1", "list_categories", {"code": code, "message": message}, error=True),)
        ),
    )


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("invalid_input", "did not understand my question"),
        ("failed", "That did not work"),
        ("timeout", "That did not work"),
        ("unheard_of", "That did not work"),
    ],
)
def test_a_tools_error_is_explained_and_not_repeated(app, code, words):
    calls, text = ask(app, "concierge", failed(code, "because"), ("list_categories",))
    assert calls == []
    assert words in text
    assert "because" in text


def test_a_result_that_is_missing_is_no_crash(app):
    messages = failed("failed", "x")[:2]
    calls, text = ask(app, "concierge", messages, ("list_categories",))
    assert calls == []
    assert "ask me again" in text


def test_a_request_without_a_question_is_no_crash(app):
    calls, text = ask(app, "concierge", (), ("list_categories",))
    assert calls == []
    assert "You can ask me" in text


def test_the_answer_comes_word_by_word(app, monkeypatch):
    monkeypatch.setenv("DEMO_SPEED", "0.001")
    turn = AgentClient(app, "concierge").send("What do you sell?")
    assert sum(event.kind == "text-delta" for event in turn.events) > 20


@pytest.mark.parametrize(("given", "seconds"), [("0.5", 0.5), ("-3", 0.0), ("99", 1.0), ("fast", 0.02)])
def test_the_speed_of_the_demo_is_a_small_number_of_seconds(app, monkeypatch, given, seconds):
    monkeypatch.setenv("DEMO_SPEED", given)
    script = app.extensions["litro_agent"].providers["concierge"].function
    assert script._pace == seconds


def test_the_script_keeps_nothing_between_two_sessions(app):
    first, second = AgentClient(app, "concierge"), AgentClient(app, "concierge")
    first.send("Do you have backpacks?")
    assert second.send("tell me about the second one").calls == []


def test_tomorrow_is_a_day_of_the_week(concierge):
    turn = concierge.send("Are you open tomorrow in Munich?")
    tomorrow = (date.today() + timedelta(days=1)).strftime("%A")
    assert called(turn) == [("opening_hours", {"city": "Munich", "weekday": tomorrow})]


OUT_OF_THE_BLUE = [
    ("orders from Berlin", "best sellers this year", "best_sellers"),
    ("find customers from Munich", "revenue per category this week", "sales_report"),
    ("Which orders are waiting to be shipped?", "tents under 300", "find_products"),
    ("How many Fjell 2 are in each warehouse?", "orders from yesterday", "find_orders"),
]


@pytest.mark.parametrize(("before", "question", "tool"), OUT_OF_THE_BLUE)
def test_a_short_question_of_its_own_does_not_go_on_from_the_one_before(assistant, before, question, tool):
    assistant.send(before)
    assert called(assistant.send(question))[0][0] == tool


def test_a_country_without_parcels_is_not_taken_for_germany(concierge):
    turn = concierge.send("Do you ship to Japan?")
    assert turn.calls == []
    assert "Japan" in turn.text
    assert "Austria" in turn.text


def test_two_of_a_kind_are_found_before_they_are_compared(concierge):
    turn = concierge.send("Compare the two cheapest backpacks")
    (_, search), (tool, given) = called(turn)
    assert (search["category"], search["sort"]) == ("backpacks", "price")
    assert tool == "compare_products"
    assert len(given["products"]) == 2


def test_the_best_of_a_kind_is_found_before_its_reviews(concierge):
    turn = concierge.send("Which backpack has the best reviews?")
    assert [name for name, _ in called(turn)] == ["find_products", "product_reviews"]


def test_a_kit_above_the_budget_is_packed_again_for_the_purse(concierge):
    turn = concierge.send("What do I need for camping with two kids, budget 500 euros?")
    assert [given.get("prefer") for _, given in called(turn)] == [None, "cheap"]
    assert turn.results[0]["persons"] == 3


def test_a_kind_of_goods_is_counted_product_by_product_in_one_round(assistant):
    turn = assistant.send("How many tents do we have in Munich?")
    assert [name for name, _ in called(turn)] == ["find_products"] + ["stock_levels"] * turn.results[0][
        "total"
    ]
    pieces = sum(
        place["quantity"]
        for levels in turn.results[1:]
        for place in levels["places"]
        if place["city"] == "Munich"
    )
    assert turn.text.splitlines()[-1 - turn.results[0]["total"]] == f"{pieces} pieces in Munich:"


@pytest.mark.parametrize("question", ["open orders of Anna", "Anna's open orders"])
def test_a_first_name_is_a_name(assistant, question):
    assert called(assistant.send(question))[0][1] == {"status": ["paid", "packed"], "customer": "Anna"}


def test_it_is_the_order_that_was_shown(app):
    client = AgentClient(app, "concierge", actor=ANNA)
    client.send("Show my orders")
    assert called(client.send("is it delivered yet?"))[-1][0] == "track_order"


@pytest.mark.parametrize("agent", AGENTS)
def test_who_is_not_understood_is_shown_a_few_examples(app, agent):
    turn = AgentClient(app, agent, actor=OLGA).send("colourless green ideas")
    assert 4 <= turn.text.count("•") <= 7
    assert "help" in turn.text
