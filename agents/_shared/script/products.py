"""Skills that both agents have, over the shelves."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from flask_litro_agent import call

from . import referents, words
from .brain import Play, Skill
from .question import Question

__all__ = ["DETAILS", "FIND", "IN_STOCK", "NAMED", "bullet", "counted", "not_sold", "sorting", "weight"]

_FEW = 3  # of what is dearer than somebody wanted to pay


def find_products(asked: Question) -> Play:
    """Look for products; without the words of the wish when nothing has them."""
    wish = {**_carried(asked), **_wish(asked)}
    (found,) = yield [call("find_products", **wish)]
    if not found["products"] and "query" in wish and len(wish) > 1:
        words_sought = wish.pop("query")
        (found,) = yield [call("find_products", **wish)]
        if found["products"]:
            return f"Nothing here says “{words_sought}”, but this comes close:\n{_list(found)}"
    if not found["products"]:
        return (yield from _dearer(wish))
    return f"{_best(asked, found) or _heading(found)}\n{_list(found)}"


def _dearer(wish: Mapping[str, Any]) -> Play:
    """Show the cheapest in stock of what is wished for, whatever it costs, where a price left nothing."""
    nothing = "Nothing on our shelves fits that. Try another price, colour or category."
    if "max_price" not in wish:
        return nothing
    without = {name: value for name, value in wish.items() if name != "max_price"}
    (found,) = yield [call("find_products", **{**without, "in_stock": True, "sort": "price", "limit": _FEW})]
    if not found["products"]:
        return nothing
    return f"Nothing of that costs €{wish['max_price']} or less. The cheapest in stock:\n{_list(found)}"


def product_details(asked: Question) -> Play:
    """Describe the product that is named or pointed at."""
    name = referents.product(asked, beside=_DETAIL_WORDS)
    if name and words.is_a_kind(name):
        return (yield from find_products(asked))
    if not name:
        return "Which product do you mean? Tell me its name, for example “Fjell 2”."
    (found,) = yield [call("product_details", product=name)]
    if not found["found"]:
        return (yield from _mentioned(found))
    facts = [
        f"{found['name']}, {found['colour']}: {found['price']}.",
        found["description"],
        f"• Size: {found['capacity']}",
        f"• Weight: {weight(found['weight_g'])}",
        f"• Waterproof: {'yes' if found['waterproof'] else 'no'}",
        f"• Rating: {found['rating']} of 5" if found["rating"] else "• Not rated yet",
        f"• In stock: {found['in_stock']}",
    ]
    if found["other_colours"]:
        facts.append(f"• Also in {', '.join(found['other_colours'])}")
    return "\n".join(facts)


def _mentioned(answer: Mapping[str, Any]) -> Play:
    """Answer about an unknown product with those whose descriptions speak of it."""
    if answer["did_you_mean"]:
        return not_sold(answer)
    (found,) = yield [call("find_products", query=answer["asked"])]
    if not found["products"]:
        return not_sold(answer)
    return f"Nothing is called “{answer['asked']}”, but this speaks of it:\n{_list(found)}"


def bullet(product: Mapping[str, Any]) -> str:
    """Return a product as a line of a list."""
    stock = "" if product["in_stock"] else ", sold out"
    about = f"{product['price']}, {product['capacity']}, {weight(product['weight_g'])}"
    return f"• {product['name']}, {product['colour']} – {about}{stock}"


def not_sold(answer: Mapping[str, Any]) -> str:
    """Return the answer about a product that the shop does not know."""
    near: Sequence[str] = answer["did_you_mean"]
    hint = (
        f" Did you mean {' or '.join(near[:3])}?"
        if near
        else " Ask me for a category, and I'll list what we have."
    )
    return f"We have nothing called “{answer['asked']}”.{hint}"


def weight(grams: int) -> str:
    """Return a weight as on a label: grams below a kilo."""
    return f"{grams} g" if grams < 1000 else f"{grams / 1000:.2f} kg"


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def _heading(found: Mapping[str, Any]) -> str:
    total, shown = found["total"], len(found["products"])
    return f"I found {counted(total, 'product')}" + (f"; here are {shown}:" if shown < total else ":")


def _best(asked: Question, found: Mapping[str, Any]) -> str | None:
    superlative = re.search(r"\b(?:cheapest|lightest|dearest|most expensive)\b", asked.words)
    first = found["products"][0]
    return f"The {superlative[0]} is the {first['name']}. In that order:" if superlative else None


def _list(found: Mapping[str, Any]) -> str:
    return "\n".join(bullet(product) for product in found["products"])


def _carried(asked: Question) -> dict[str, Any]:
    """Return what an earlier search already said, unless this question names another category."""
    if words.category(asked) or "product" in asked.before:
        return {}
    return {name: value for name, value in asked.before.items() if name != "limit"}


def _wish(asked: Question) -> dict[str, Any]:
    category = words.category(asked)
    found = {
        "query": words.subject(asked, beside=_WISH_WORDS),
        "category": category,
        "colour": words.colour(asked),
        "min_price": words.min_price(asked),
        "max_price": words.max_price(asked) or words.goods_value(asked),
        "max_weight_g": words.max_weight(asked),
        "persons": words.persons(asked) if category in (None, "tents") else None,
        "comfort_c": words.comfort(asked) if category == "sleeping-bags" else None,
        "waterproof": True if asked.says("water ?proof|rain ?proof") else None,
        "in_stock": True if asked.says("in stock|available") else None,
        "sort": sorting(asked),
    }
    return {name: value for name, value in found.items() if value not in (None, "")}


def sorting(asked: Question) -> str | None:
    orders = {
        "weight": "lightest|light|lightweight|ultralight",
        "-price": "most expensive|dearest",
        "price": "cheapest|cheap|lowest price",
        "rating": "best|best rated|top|recommend|popular",
    }
    return next((name for name, pattern in orders.items() if asked.says(pattern)), None)


_WISH_WORDS = (
    r"\d+(?:[.,]\d+)?\s*(?:kg|kilos?|g|grams?|°c?|degrees|celsius|euros?|eur|€)?|minus|c|kg|kilos?|grams?|"
    r"(?:one|two|three|four|five)(?: |-)?(?:persons?|people|man)?|persons?|people|family|solo|alone|own|nights?|"
    r"winter|summer|autumn|spring|fall|snow|frost|water ?proof|rain ?proof|ultralight|lightweight|sizes?|"
    r"popular|maximum|max|budget|"
    r"more|most|least|starting|within|hiking|walking|trip|outdoor|black|blue|brown|green|gr[ea]y|orange|red|sand|"
    r"silver|yellow|sleeping[ -]?(?:bags?|mats?|pads?)|mats?|pads?|mattress(?:es)?|tents?|shelters?|"
    r"back ?packs?|ruck ?sacks?|jackets?|coats?|anoraks?|footwear|accessories|cooking(?: gear)?|cookware|lights?|"
    r"torch(?:es)?|lamps?|father|mother|wife|husband|girlfriend|boyfriend|friend|kilo|temperatures?|cold|season|"
    r"than|eur|nights|days|weeks?|camping|hikes?"
)
_SEEKING = (
    "show|find|search|something|anything|list|recommend|suggest|looking for|look for|need|want|sell|carry|buy|gift|"
    "present|do you have|have you got|any|which|what|is there|are there|cheapest|lightest|best"
)
_DETAIL_WORDS = (
    r"made|full|colours?|colors?|how|big|heavy|litres?|liters?|waterproof|volume|size|sizes|come|kind|"
    r"sold out|interested"
)

FIND = Skill(
    tool="find_products",
    asks=(
        rf"(?:{_SEEKING})\b.*(?:{words.GOODS}|waterproof|for kids)",
        rf"(?:{words.GOODS})\b.*(?:under|below|less than|up to|for|between|cheaper|lighter|over)",
        rf"(?:{_SEEKING})\b.*(?:under|below|less than|up to|for) (?:€ ?)?\d+",
        rf"^(?:\w+ )?(?:{words.GOODS})$",
    ),
    play=find_products,
    example="Show me tents for two under 350 euros",
    opening="Let me look along the shelves.",
)

#: What lies on the shelves of a kind and a price; asked before where one article lies.
IN_STOCK = Skill(
    tool="find_products",
    asks=(
        rf"(?:{words.GOODS})\b.*(?:under|below|less than|up to|between|cheaper) .*(?:in stock|available)",
        rf"(?:in stock|available)\b.*(?:{words.GOODS})\b.*(?:under|below|less than|up to|between|cheaper) ",
    ),
    play=find_products,
    example="",
    opening="Let me look along the shelves.",
)

DETAILS = Skill(
    tool="product_details",
    asks=(
        r"tell me (?:more )?about",
        r"(?:more )?details|describe|info(?:rmation)?|specs?|specifications",
        r"how (?:heavy|big)|what does .* (?:weigh|cost)|how much (?:is|are|does|do)|(?:weight|price) of",
        r"(?:what|which) colou?rs|is .* waterproof",
    ),
    play=product_details,
    example="Tell me about the Fjell 2",
    opening="I'll fetch it from the shelf.",
)

#: The last guess: whoever wants "a Trek 65" names a product.
NAMED = Skill(
    tool="product_details",
    asks=(
        r"do you (?:have|sell|carry)|have you got|i want|i need|i would like|i'd like|show me|(?:the|that) .* one",
    ),
    play=product_details,
    example="Do you have the Ridge 28 in green?",
    opening="I'll fetch it from the shelf.",
    is_a_guess=True,
)
