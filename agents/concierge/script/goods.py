"""Questions about goods: set side by side, in stock, reviewed, and packed into a kit."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from flask_litro_agent import call
from flask_litro_agent.contracts import ToolCallEvent

from ..._shared.script import referents, words
from ..._shared.script.brain import Play
from ..._shared.script.products import bullet, counted, not_sold, sorting, weight
from ..._shared.script.question import Question

__all__ = ["compare_products", "list_categories", "plan_kit", "product_reviews", "stock_for"]


def compare_products(asked: Question) -> Play:
    """Set products side by side."""
    names = referents.products(asked, beside=_COMPARE_WORDS)
    if words.category(asked) and not _are_products(names):
        names = yield from _first_of(asked, count=3 if asked.says("three") else 2)
    if len(names) < 2:
        return "Which two products shall I compare? Tell me their names."
    (found,) = yield [call("compare_products", products=names)]
    lines = [bullet(product) + _more(product) for product in found["products"]]
    lines += [not_sold(unknown) for unknown in found["unknown"]]
    if "cheapest" in found:
        lines.append(_verdict(found["cheapest"], found["lightest"]))
    return "\n".join(lines)


def _are_products(names: Sequence[str]) -> bool:
    """Whether two things were named, and none of them is only a kind of goods."""
    return len(names) > 1 and not any(words.is_a_kind(name) for name in names)


def _first_of(asked: Question, *, count: int) -> Generator[Sequence[ToolCallEvent], Sequence[Any], list[str]]:
    """Look for the cheapest, lightest or best of a category; return each as name and colour."""
    wish = {"category": words.category(asked), "sort": sorting(asked) or "rating", "limit": count}
    (found,) = yield [call("find_products", **wish)]
    return [f"{product['name']}, {product['colour']}" for product in found["products"]]


def _verdict(cheapest: str, lightest: str) -> str:
    if cheapest == lightest:
        return f"{cheapest} is both the cheapest and the lightest."
    return f"The cheapest is {cheapest}, the lightest is {lightest}."


def _more(product: Mapping[str, Any]) -> str:
    dry = "waterproof" if product["waterproof"] else "not waterproof"
    return f", {dry}, {product['rating']} of 5 stars, {product['in_stock']} in stock"


def stock_for(asked: Question) -> Play:
    """Say where a product lies."""
    name = asked.before.get("product") if asked.before and not _names_product(asked) else None
    name = name or referents.product(asked, beside=_STOCK_WORDS)
    if not name:
        return "Which product shall I look for?"
    city = words.city(asked)
    (found,) = yield [call("stock_for", product=name, **({"city": city} if city else {}))]
    if not found["found"]:
        return not_sold(found)
    lying = [place for place in found["places"] if place["quantity"]]
    if not lying:
        return f"{found['product']} is sold out{f' in {city}' if city else ' everywhere'}, I'm sorry."
    lines = [f"• {place['city']} ({place['kind']}): {place['quantity']}" for place in lying]
    yes = "Yes. " if asked.says("^(?:is|are|do|can|have)") else ""
    return "\n".join([f"{yes}{found['product']}: {found['total']} in stock.", *lines])


def _names_product(asked: Question) -> bool:
    return bool(words.subject(asked, beside=_STOCK_WORDS))


def product_reviews(asked: Question) -> Play:
    """Quote what buyers wrote."""
    name = referents.product(
        asked, beside=r"customers?|buyers?|think|thinks|stars?|bought|liked?|good|highest"
    )
    if words.category(asked) and asked.says("best|top|highest|most"):
        name = next(iter((yield from _first_of(asked, count=1))), None)
    if not name:
        return "Reviews of which product?"
    (found,) = yield [call("product_reviews", product=name)]
    if not found["found"]:
        return not_sold(found)
    lines = [
        f"• {'★' * review['stars']} {review['text']} ({review['author']})" for review in found["reviews"]
    ]
    return "\n".join([f"{found['product']} has {found['rating']} of 5 stars. The newest reviews:", *lines])


def list_categories(asked: Question) -> Play:
    """Say what the shop sells."""
    (found,) = yield [call("list_categories")]
    lines = [
        f"• {row['name'].replace('-', ' ')}: {counted(row['products'], 'product')}, {row['from']} to {row['to']}"
        for row in found["categories"]
    ]
    return "\n".join(["Our shelves:", *lines])


def plan_kit(asked: Question) -> Play:
    """Pack for a trip."""
    wanted = {
        "persons": words.persons(asked),
        "season": words.season(asked),
        "budget": words.max_price(asked) or words.goods_value(asked),
        "prefer": "cheap" if asked.says("cheap|cheapest|little money") else None,
    }
    named = {**asked.before, **{name: value for name, value in wanted.items() if value is not None}}
    (kit,) = yield [call("plan_kit", **named)]
    if _is_over(kit) and named.get("prefer") != "cheap":
        (kit,) = yield [call("plan_kit", **{**named, "prefer": "cheap"})]
    lines = [
        f"• {item['count']} × {item['name']}, {item['colour']} – {item['price']}" for item in kit["items"]
    ]
    lines.append(f"That is {kit['total']} and {weight(kit['weight_g'])} in all.")
    if _is_over(kit):
        lines.append(f"It is {kit['over_budget']} above your budget.")
    who = counted(kit["persons"], "person", "people")
    return "\n".join([f"For {who} in {kit['season']} I would pack:", *lines])


def _is_over(kit: Mapping[str, Any]) -> bool:
    return kit["over_budget"] not in (None, "€0.00")


_COMPARE_WORDS = (
    r"cheapest|lightest|best|lighter|warmer|heavier|bigger|these|those|two|three|side|by|against|choose|warm|rather|"
    r"should|prefer"
)
_STOCK_WORDS = (
    r"in stock|sold out|today|pick up|pick|collect|have you got|do you have|soon|get|store|stores|place|places|"
    r"online|shelf|shop|near|nearest"
)
