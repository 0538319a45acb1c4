"""The shop's components: the same card on its pages and in its conversations, and a basket that works from both."""

from __future__ import annotations

import json
import re

import pytest

from flask_litro_agent.installation import EXTENSION
from tests.shop_desk import Person

pytest_plugins = ["tests.shop_fixtures"]

TENTS = "Which tents under 350 are in stock?"
HEADERS = {"X-Litro-Agent": "1"}


def ask(client, text, agent="concierge", session="s1"):
    answer = client.post(f"/__litro/agent/{agent}/{session}", json={"text": text}, headers=HEADERS)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.split("\n") if line]


def component(events):
    (payload,) = (event["payload"] for event in events if event["kind"] == "ui")
    return payload


def cards(html):
    return re.findall(r"<product-card .*?</product-card>", html, re.DOTALL)


def token(page):
    return re.search(r'name="csrf-token" content="([^"]+)"', page)[1]


def test_the_tents_in_stock_are_three_product_cards(app):
    shown = component(ask(app.test_client(), TENTS))
    assert [re.search(r'sku="([^"]+)"', card)[1] for card in cards(shown["html"])] == [
        "TNT-BC4-SND",
        "TNT-FJ2-GRN",
        "TNT-FJ2-ORG",
    ]
    assert shown["hydrate"]["modules"] == ["product-card.js"]
    assert shown["text"].startswith("Basecamp 4 Tent, sand (TNT-BC4-SND): €289.00")


def test_where_every_tent_costs_more_the_three_cheapest_in_stock_are_product_cards(app):
    events = ask(app.test_client(), "which tents under 200 are in stock?")
    assert re.findall(r'sku="([^"]+)"', component(events)["html"]) == [
        "TNT-BC4-SND",
        "TNT-FJ2-GRN",
        "TNT-FJ2-ORG",
    ]
    said = "".join(event["payload"]["text"] for event in events if event["kind"] == "text-delta")
    assert "Nothing of that costs €200 or less. The cheapest in stock:\n• Basecamp 4 Tent" in said


def test_the_card_of_the_conversation_is_the_card_of_the_page(app):
    client = app.test_client()
    page = cards(client.get("/?category=tents").text)
    conversation = cards(component(ask(client, TENTS))["html"])
    assert len(conversation) == 3
    assert set(conversation) <= set(page)


def test_after_a_reload_the_conversation_has_its_cards(app):
    client = app.test_client()
    streamed = component(ask(client, TENTS))
    replayed = [
        json.loads(line) for line in client.get("/__litro/agent/concierge/s1").text.split("\n") if line
    ]
    assert component(replayed) == streamed


@pytest.mark.parametrize(
    ("agent", "person", "question", "name"),
    [
        ("concierge", None, "Tell me about the Fjell 2", "product-card"),
        ("concierge", None, "Compare the Trek 50 and the Trek 65", "product-list"),
        ("concierge", None, "What do two people need for autumn under 1200 euros?", "shop-basket"),
        ("concierge", "customer", "Where is my parcel?", "order-summary"),
        ("assistant", "operator", "Show order 1111", "order-summary"),
        ("assistant", "operator", "Revenue by month", "sales-chart"),
        ("assistant", "operator", "Sales report of the last 30 days", "sales-chart"),
    ],
)
def test_an_answer_has_its_component(app, agent, person, question, name):
    client = Person(app, person).client if person else app.test_client()
    shown = component(ask(client, question, agent))
    assert shown["html"].startswith(f"<{name} ") or shown["html"].startswith(f"<{name}>")
    assert shown["text"]


def test_a_kit_is_packed_step_by_step_and_ends_in_a_basket_to_take(app):
    events = ask(app.test_client(), "What do two people need for autumn under 1200 euros?")
    kinds = [event["kind"] for event in events if event["kind"] in ("tool-progress", "ui")]
    assert kinds[0] == "tool-progress"
    assert kinds[-1] == "ui"
    assert (
        'href="/basket?add=' in component([event for event in events if event["kind"] == "ui"][-1:])["html"]
    )


def test_a_form_puts_an_article_into_the_basket(app):
    client = app.test_client()
    asked = client.get("/basket?add=TNT-FJ2-GRN").text
    assert "Put Fjell 2 Tent, green into your basket?" in asked
    answer = client.post(
        "/basket", data={"add": "TNT-FJ2-GRN", "csrf_token": token(asked)}, follow_redirects=True
    )
    assert "It is in your basket." in answer.text
    assert '1 × <a href="/products/TNT-FJ2-GRN">' in answer.text


def test_a_module_is_told_the_count(app):
    client = app.test_client()
    given = {"X-CSRFToken": token(client.get("/").text), "Accept": "application/json"}
    for count in (1, 2):
        answer = client.post("/basket", data={"add": "TNT-FJ2-GRN"}, headers=given)
        assert answer.json == {"count": count}
    assert "(<span data-basket-count>2</span>)" in client.get("/").text


def test_nothing_enters_the_basket_without_the_token(app):
    client = app.test_client()
    assert client.post("/basket", data={"add": "TNT-FJ2-GRN"}).status_code == 400
    assert "Nothing in it yet." in client.get("/basket").text


def test_a_look_at_the_basket_changes_nothing(app):
    client = app.test_client()
    client.get("/basket?add=TNT-FJ2-GRN")
    assert "Nothing in it yet." in client.get("/basket").text


@pytest.mark.parametrize("sku", ["", "no-such", "<script>", "'; DROP TABLE product; --"])
def test_what_is_not_sold_is_left_out(app, sku):
    client = app.test_client()
    page = client.get("/basket", query_string={"add": sku})
    assert page.status_code == 200
    client.post("/basket", data={"add": sku, "csrf_token": token(page.text)})
    assert "Nothing in it yet." in client.get("/basket").text


def test_a_basket_has_an_end_and_can_be_emptied(app):
    client = app.test_client()
    form = {"add": ["TNT-FJ2-GRN"] * 30, "csrf_token": token(client.get("/basket").text)}
    client.post("/basket", data=form)
    assert "20 × " in client.get("/basket").text
    client.post("/basket/empty", data={"csrf_token": form["csrf_token"]})
    assert "Nothing in it yet." in client.get("/basket").text


def test_the_sales_are_for_operators(app):
    assert app.test_client().get("/sales").status_code == 302
    assert Person(app, "customer").client.get("/sales").status_code == 403
    assert "<sales-chart " in Person(app, "operator").client.get("/sales").text


def test_every_component_has_a_schema_and_every_file_is_on_the_list(app):
    installed = app.extensions[EXTENSION]
    listed = app.test_client().get("/__litro/components.json").json["components"]
    assert sorted(listed) == installed.components.names
    assert len(listed) == 6
    for entry in listed.values():
        for file in [entry["style"], *(module["src"] for module in entry["modules"])]:
            assert app.test_client().get(file).status_code == 200
