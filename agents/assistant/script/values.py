"""Questions that would change what is worth money: refunds, cancellations, prices and stock."""

from __future__ import annotations

import re

from flask_litro_agent import call

from ..._shared.script import proposals, referents, words
from ..._shared.script.brain import Play
from ..._shared.script.products import not_sold
from ..._shared.script.question import Question

__all__ = [
    "cancel_order",
    "cents_of",
    "change_price",
    "correct_stock",
    "goal",
    "refund_order",
    "without_price",
]

_MONEY = r"(?:€|\beur)\s*\d+(?:[.,]\d{1,2})?|\d+(?:[.,]\d{1,2})?\s*(?:€|eur\b|euros?\b)"
_GOAL = r"\b(?:to|at|for)\s*(?:€|eur)?\s*(\d+(?:[.,]\d{1,2})?)(?!\d)(?:\s*(?:€|eur\b|euros?\b))?\s*$"
_STEP = r"\bby\s*(?:€|eur)?\s*(\d+(?:[.,]\d{1,2})?)\s*(%|percent)?"
_COUNT = r"\b(?:to|is|are|be|counted|only)\s+(\d{1,5})\b(?! ?(?:€|eur))"
_PRICING = (
    r"set|change|lower|raise|reduce|increase|drop|cut|put|make|update|propose|mark|down|discount|new|cost|"
    r"should|be|percent|%"
)
_COUNTING = r"correct|correction|set|adjust|fix|update|change|inventory|counted|count|quantity|levels?|should|be|wrong"


def refund_order(asked: Question) -> Play:
    """Propose a refund: of the amount that is named, or of all that the order cost."""
    rest = Question(text=re.sub(_MONEY, " ", asked.words))
    number = words.order_number(rest) or referents.shown_order(asked.past)
    if number is None:
        return "A refund for which order? Tell me its number."
    (order,) = yield [call("order_details", order_number=number)]
    if not order["found"]:
        return f"There is no order with the number {number}."
    amount = proposals.cents(asked) or cents_of(order["total"])
    wanted = {"order_number": number, "amount_cents": amount, "reason": proposals.reason(asked)}
    (answer,) = yield [call("refund_order", **wanted)]
    about = f"{order['customer']}, who paid {order['total']}"
    return proposals.waits("refund_order", wanted, answer, about)


def cancel_order(asked: Question) -> Play:
    """Propose to call an order off."""
    number = words.order_number(asked) or referents.shown_order(asked.past)
    if number is None:
        return "Which order shall be cancelled? Tell me its number."
    (order,) = yield [call("order_details", order_number=number)]
    if not order["found"]:
        return f"There is no order with the number {number}."
    wanted = {"order_number": number, "reason": proposals.reason(asked)}
    (answer,) = yield [call("cancel_order", **wanted)]
    return proposals.waits("cancel_order", wanted, answer, f"{order['customer']}, {order['total']}")


def change_price(asked: Question) -> Play:
    """Propose a price: one that is named, or the present one made lower or higher."""
    name = referents.product(without_price(asked), beside=_PRICING)
    if not name:
        return "The price of which product?"
    (found,) = yield [call("product_details", product=name)]
    if not found["found"]:
        return not_sold(found)
    now = cents_of(found["price"])
    wanted = {"sku": found["sku"], "price_cents": goal(asked, now)}
    if wanted["price_cents"] is None:
        return f"{found['name']}, {found['colour']} costs {found['price']}. What shall it cost?"
    (answer,) = yield [call("change_price", **wanted)]
    about = f"{found['name']}, {found['colour']}, now {found['price']}"
    return proposals.waits("change_price", wanted, answer, about)


def correct_stock(asked: Question) -> Play:
    """Propose what was counted as the stock of a product in one place."""
    count, city = re.search(_COUNT, asked.words), words.city(asked)
    rest = re.sub(_COUNT, " ", asked.words)
    name = referents.product(Question(text=rest, past=asked.past), beside=_COUNTING)
    if not name:
        return "The stock of which product?"
    if not city:
        return "In which warehouse or store was it counted?"
    if not count:
        return "How many were counted?"
    (found,) = yield [call("product_details", product=name)]
    if not found["found"]:
        return not_sold(found)
    wanted = {
        "sku": found["sku"],
        "city": city,
        "quantity": int(count[1]),
        "reason": proposals.reason(asked),
    }
    (answer,) = yield [call("correct_stock", **wanted)]
    return proposals.waits("correct_stock", wanted, answer, f"{found['name']}, {found['colour']}")


def goal(asked: Question, now: int) -> int | None:
    """Return the price in cents that is named for what costs so much ``now``: itself, or the step to it."""
    step = re.search(_STEP, asked.words)
    if step:
        amount = float(step[1].replace(",", "."))
        by = round(now * amount / 100) if step[2] else round(100 * amount)
        return now + by if asked.says("raise|increase|higher|more|up") else now - by
    named = re.search(_GOAL, asked.words)
    return round(100 * float(named[1].replace(",", "."))) if named else proposals.cents(asked)


def without_price(asked: Question) -> Question:
    """Return the question without the price that it names."""
    rest = re.sub(f"{_STEP}|{_GOAL}|{_MONEY}", " ", asked.words)
    return Question(text=rest, past=asked.past)


def cents_of(price: str) -> int:
    """Return the cents of a price as a tool writes it."""
    return int(re.sub(r"\D", "", price))
