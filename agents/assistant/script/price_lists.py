"""Questions that would change many prices at once: of a category, a colour, all we sell, or a few by name."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from example_app.catalogue import CATEGORIES
from example_app.money import euros
from flask_litro_agent import call
from flask_litro_agent.contracts import ToolCallEvent

from ..._shared.script import proposals, words
from ..._shared.script.brain import Play
from ..._shared.script.products import not_sold
from ..._shared.script.question import Question
from .values import cents_of, goal, without_price

__all__ = ["change_prices"]

_EVERYTHING = (
    r"all (?:our |the )?(?:prices|products|articles|goods)|everything|every product|whole (?:shop|range)"
)
_SHOWN = 6
Products = Sequence[Mapping[str, Any]]


def change_prices(asked: Question) -> Play:
    """Propose a new price for each of the products that are meant."""
    parts = _named(asked)
    if parts:
        return (yield from _by_name(parts))
    found = yield from _meant(asked)
    if not found:
        return "The prices of which products? Name a category, a colour, or say “all prices”."
    new = {product["sku"]: goal(asked, cents_of(product["price"])) for product in found}
    if None in new.values():
        return "What shall they cost? “Lower the prices of all tents by 10 %”, or “set them to 25 euros”."
    return (yield from _propose(found, new))


def _by_name(parts: Sequence[Question]) -> Play:
    answers = yield [call("product_details", product=words.subject(without_price(part))) for part in parts]
    missing = next((answer for answer in answers if not answer["found"]), None)
    if missing:
        return not_sold(missing)
    new = {
        product["sku"]: goal(part, cents_of(product["price"]))
        for product, part in zip(answers, parts, strict=True)
    }
    return (yield from _propose(answers, new))


def _propose(found: Products, new: Mapping[str, int | None]) -> Play:
    moved = [product for product in found if new[product["sku"]] != cents_of(product["price"])]
    if not moved:
        return "They cost that already."
    rows = [{"sku": product["sku"], "price_cents": new[product["sku"]]} for product in moved]
    (answer,) = yield [call("change_prices", prices=rows)]
    steps = [
        f"{product['name']}, {product['colour']}: {product['price']} → {euros(new[product['sku']] or 0)}"
        for product in moved
    ]
    rest = f"; and {len(steps) - _SHOWN} more" if len(steps) > _SHOWN else ""
    return proposals.waits("change_prices", {"prices": rows}, answer, "; ".join(steps[:_SHOWN]) + rest)


def _meant(asked: Question) -> Generator[Sequence[ToolCallEvent], Sequence[Any], Products]:
    """Look for the products whose kind or colour is named: "headlamps" before all lights.

    A search returns twenty at most, which is more than any category has.
    """
    tint = {"colour": colour} if (colour := words.colour(asked)) else {}
    category, kind = words.category(asked), re.search(words.GOODS, asked.words)
    if category and kind:
        (exact,) = yield [call("find_products", query=kind[0], category=category, **tint, limit=20)]
        if exact["products"]:
            return list(exact["products"])
    kinds = [{"category": name} for name in ([category] if category else CATEGORIES)]
    if not category and not asked.says(_EVERYTHING):
        kinds = [{}] if tint else []
    answers = (yield [call("find_products", **one, **tint, limit=20) for one in kinds]) if kinds else []
    return [product for answer in answers for product in answer["products"]]


def _named(asked: Question) -> list[Question]:
    """Return the parts of a list in which each names its product and its price; nothing when it is no such list."""
    said = re.sub(r"^.*?\bprices?\b(?: (?:of|for))?", "", asked.words)
    parts = [Question(text=part) for part in re.split(r",\s|\band\b", said) if part.strip()]
    whole = len(parts) > 1 and all(
        goal(part, 0) is not None and words.subject(without_price(part)) for part in parts
    )
    return parts if whole else []
