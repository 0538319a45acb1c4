"""Questions about the shop's promises: shipping, opening hours and returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from example_app import policies
from flask_litro_agent import call

from ..._shared.script import words
from ..._shared.script.brain import Play
from ..._shared.script.question import Question

__all__ = ["opening_hours", "return_policy", "shipping_cost"]


def shipping_cost(asked: Question) -> Play:
    """Say what a parcel costs; to Germany when no country is named."""
    elsewhere = words.elsewhere(asked)
    if elsewhere:
        return f"I know of no parcels to {elsewhere}. We ship to {', '.join(policies.COUNTRIES)}."
    wanted = {"country": words.country(asked), "goods_value": words.goods_value(asked)}
    named = {name: value for name, value in wanted.items() if value is not None}
    (rate,) = yield [call("shipping_cost", **{"country": "Germany", **asked.before, **named})]
    free = "" if rate["standard"] == "€0.00" else f" It is free from {rate['free_from']} on."
    standard = "free" if rate["standard"] == "€0.00" else rate["standard"]
    return (
        f"Standard shipping to {rate['country']} is {standard} and takes {rate['standard_days']} days.{free}\n"
        f"Express is {rate['express']} and takes {_days(rate['express_days'])}."
    )


def _days(text: str) -> str:
    return "1 day" if text == "1" else f"{text} days"


def opening_hours(asked: Question) -> Play:
    """Say when a store is open."""
    city = words.city(asked)
    wanted = {"city": city if city in _STORES else None, "weekday": words.weekday(asked)}
    named = {name: value for name, value in wanted.items() if value}
    (found,) = yield [call("opening_hours", **{**asked.before, **named})]
    return "\n".join(_store(store) for store in found["stores"])


def _store(store: Mapping[str, Any]) -> str:
    lines = [f"{store['city']}, {store['address']}"]
    return "\n".join(lines + [f"• {day}: {hours}" for day, hours in store["hours"].items()])


def return_policy(asked: Question) -> Play:
    """Quote the rule that fits."""
    topics = {
        "warranty": "warranty|guarantee|repairs?|broken?|broke|zip",
        "worn": "worn|used|dirty|wore|boots?|shoes?|footwear",
        "sale": "sale|discount(?:ed)?|reduced",
        "tents": "tents?",
        "sleeping-bags": "sleeping ?bags?",
    }
    topic = next((name for name, pattern in topics.items() if asked.says(pattern)), "general")
    (policy,) = yield [call("return_policy", topic=topic)]
    return f"{policy['title']}: {policy['text']}"


_STORES = ("Berlin", "Hamburg", "Munich")
