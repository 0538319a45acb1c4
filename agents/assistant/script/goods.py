"""Questions that would move goods: from one place of ours to another, and back from a customer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from flask_litro_agent import call

from ..._shared.script import proposals, referents, words
from ..._shared.script.brain import Play
from ..._shared.script.products import not_sold
from ..._shared.script.question import Question

__all__ = ["receive_return", "transfer_stock"]

_COUNT = r"\b(?:transfer|move|bring|shift|send) (\d{1,4})\b"
_MOVING = r"transfer|move|bring|shift|send|pieces?"
_WORN = "damaged|broken|worn|dirty|used|unsellable|not (?:as new|sellable|for sale|for the shelf)|scrap"
_RETURNS_GO_TO = "Leipzig"  # where the workshop is, when no place is named


def transfer_stock(asked: Question) -> Play:
    """Propose to bring pieces of a product from a city to a city."""
    source, target = (_city(asked, word) for word in ("from", "to"))
    count = re.search(_COUNT, asked.words)
    rest = re.sub(rf"{_COUNT}|\b(?:from|to)\b", " ", asked.words)
    name = referents.product(Question(text=rest, past=asked.past), beside=_MOVING)
    if not name or not count:
        return "How many of which product? “Transfer 3 Trek 65 from Leipzig to Berlin”."
    if not source or not target:
        return "From where to where? Name two of our warehouses or stores."
    (found,) = yield [call("product_details", product=name)]
    if not found["found"]:
        return not_sold(found)
    wanted = {"sku": found["sku"], "quantity": int(count[1]), "from_city": source, "to_city": target}
    (answer,) = yield [call("transfer_stock", **wanted)]
    return proposals.waits("transfer_stock", wanted, answer, f"{found['name']}, {found['colour']}")


def receive_return(asked: Question) -> Play:
    """Propose to book in what is announced for an order."""
    number = words.order_number(asked) or referents.shown_order(asked.past)
    if number is None:
        return "The return of which order? Tell me its number."
    (order,) = yield [call("order_details", order_number=number)]
    if not order["found"]:
        return f"There is no order with the number {number}."
    case = _meant(asked, [case for case in order["returns"] if case["state"] == "opened"])
    if case is None:
        return f"No return is announced for order {number}."
    wanted = {
        "order_number": number,
        "sku": case["sku"],
        "city": words.city(asked) or _RETURNS_GO_TO,
        "to_shelf": not asked.says(_WORN),
    }
    (answer,) = yield [call("receive_return", **wanted)]
    about = f"{case['quantity']} × {case['product']} in {wanted['city']}, {case['reason']}"
    return proposals.waits("receive_return", wanted, answer, about)


def _city(asked: Question, word: str) -> str | None:
    """Return the place of ours that stands after a word."""
    after = re.search(rf"\b{word} (?:the )?(\w+)", asked.words)
    return words.city(Question(text=after[1])) if after else None


def _meant(asked: Question, opened: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the case whose product the question names, or else the first."""
    said = set(asked.words.split())
    named = [case for case in opened if said & set(case["product"].casefold().split(",")[0].split()[:-1])]
    return next(iter(named or opened), None)
