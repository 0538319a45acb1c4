"""The demo shop's kit of read tools: how many there are, their limits, and who may ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from example_app import catalogue, stock
from flask_litro_agent.core.outcome import Refused
from tests.shop_rows import ANNA, OLGA, SAM, Shop

pytest_plugins = ["tests.shop_fixtures"]

LISTS: dict[str, Callable[[dict[str, Any]], list[Any]]] = {
    "product_margins": lambda found: found["products"],
    "bought_together": lambda found: found["pairs"],
    "dead_stock": lambda found: found["products"],
    "reorder_plan": lambda found: found["products"],
    "stock_losses": lambda found: found["losses"],
    "customers_at_risk": lambda found: found["customers"],
    "top_customers": lambda found: found["customers"],
    "return_rates": lambda found: found["products"],
    "packing_queue": lambda found: found["orders"],
    "payment_problems": lambda found: found["problems"],
    "unanswered_messages": lambda found: found["messages"],
    "fraud_signals": lambda found: found["orders"],
    "staff_changes": lambda found: found["changes"],
}


@pytest.mark.parametrize("tool", LISTS)
def test_a_limit_shortens_the_list_and_not_the_total(shop, tool):
    whole, short = shop.ask(tool, limit=50), shop.ask(tool, limit=1)
    assert len(LISTS[tool](short)) == 1
    assert short["total"] == whole["total"] >= 1
    assert LISTS[tool](short) == LISTS[tool](whole)[:1]


@pytest.mark.parametrize("tool", LISTS)
@pytest.mark.parametrize("limit", [0, 51])
def test_a_limit_has_limits(shop, tool, limit):
    assert isinstance(shop.call(tool, limit=limit), Refused)


def kit(shop: Shop):
    return shop.app.extensions["litro_agent"].agents["assistant"].tools


def test_the_assistant_has_about_thirty_tools_that_read(shop):
    reads = [tool for tool in kit(shop).values() if tool.facts.mode == "read"]
    assert 30 <= len(reads) <= 36


OPERATORS_ONLY = {
    "best_sellers",
    "bought_together",
    "busy_hours",
    "daily_briefing",
    "dead_stock",
    "low_stock",
    "monthly_revenue",
    "product_margins",
    "reorder_plan",
    "repeat_purchases",
    "sales_forecast",
    "sales_report",
    "staff_changes",
    "stock_history",
    "stock_losses",
    "top_customers",
}


def test_support_reads_all_but_the_shops_figures_and_a_customer_reads_nothing_but_the_shelves(shop):
    reads = {tool.name: tool.facts.permission for tool in kit(shop).values() if tool.facts.mode == "read"}
    allowed = shop.app.extensions["litro_agent"].gate.allows
    may = {
        actor.name: {name for name in reads if allowed("assistant", name, actor=actor)}
        for actor in (ANNA, SAM, OLGA)
    }
    assert may["Olga Stein"] == set(reads)
    assert set(reads) - may["Sam Ritter"] == OPERATORS_ONLY
    # reading the shelves is the concierge's work as well; the assistant's own door is closed to customers
    assert may["Anna Berg"] == {"find_products", "product_details", "stock_levels"}


def test_a_forbidden_tool_answers_forbidden(shop):
    outcome = shop.call("product_margins", actor=SAM)
    assert isinstance(outcome, Refused)
    assert outcome.code == "forbidden"


def test_every_category_and_place_may_be_asked_for(shop):
    for category in catalogue.CATEGORIES:
        for tool in ("product_margins", "dead_stock", "return_rates", "busy_hours", "reviews_digest"):
            shop.ask(tool, category=category)
    for city in stock.CITIES:
        shop.ask("stock_losses", city=city)
