"""Questions that would order goods: a product that is named, or what a supplier's plan says."""

from __future__ import annotations

import re

from flask_litro_agent import call

from ..._shared.script import proposals, referents, words
from ..._shared.script.brain import Play
from ..._shared.script.products import counted, not_sold
from ..._shared.script.question import Question

__all__ = ["order_from_supplier"]

_COUNT = r"\b(?:re-?order|order|buy|purchase|get) (\d{1,4})\b"
_ORDERING = r"re-?order|buy|purchase|new|suppliers?|warehouse|pieces?|more"
_FIRST_WAREHOUSE = "Leipzig"


def order_from_supplier(asked: Question) -> Play:
    """Propose an order: so many of a product, or everything that a supplier should send."""
    supplier = re.search(r"\bfrom (?!the supplier)([A-ZÄÖÜ][\w &-]+?)(?= (?:to|for)\b|[.,!?]|$)", asked.text)
    count = re.search(_COUNT, asked.words)
    if count:
        return (yield from _some(asked, int(count[1])))
    if supplier:
        return (yield from _planned(asked, supplier[1].strip()))
    return "What shall be ordered? “Order 12 Trek 65”, or “order what we need from Kleinglut”."


def _some(asked: Question, quantity: int) -> Play:
    rest = re.sub(rf"{_COUNT}|\bfrom .*$|\b(?:to|for) \w+$", " ", asked.words)
    name = referents.product(Question(text=rest, past=asked.past), beside=_ORDERING)
    if not name:
        return "Which product shall be ordered?"
    (found,) = yield [call("product_details", product=name)]
    if not found["found"]:
        return not_sold(found)
    wanted = {"city": _city(asked), "lines": [{"sku": found["sku"], "quantity": quantity}]}
    (answer,) = yield [call("order_from_supplier", **wanted)]
    return proposals.waits("order_from_supplier", wanted, answer, f"{found['name']}, {found['colour']}")


def _planned(asked: Question, supplier: str) -> Play:
    (plan,) = yield [call("reorder_plan", supplier=supplier, limit=50)]
    if not plan["found"]:
        return f"No supplier is called “{supplier}”; there is: {', '.join(plan['suppliers'])}."
    lines = [{"sku": line["sku"], "quantity": line["order"]} for line in plan["products"]]
    if not lines:
        return f"Nothing of {supplier} is running out."
    wanted = {"city": _city(asked), "lines": lines}
    (answer,) = yield [call("order_from_supplier", **wanted)]
    about = f"{counted(len(lines), 'product')} for {plan['cost']}, as the plan says"
    return proposals.waits("order_from_supplier", wanted, answer, about)


def _city(asked: Question) -> str:
    city = words.city(asked)
    return city if city in ("Leipzig", "Rotterdam") else _FIRST_WAREHOUSE
