"""What the concierge's script understands, and how it answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask_litro_agent import call

from .._shared import referents, words
from .._shared.brain import Brain, Play, Skill
from .._shared.products import DETAILS, FIND, NAMED, bullet, counted, not_sold, weight
from .._shared.question import Question

__all__ = ["SUGGESTIONS", "script"]

SUGGESTIONS = (
    "Show me tents for two under 350 euros",
    "Compare the Trek 50 and the Trek 65",
    "Is the Squall rain jacket in stock in Berlin?",
    "What do two people need for autumn under 1200 euros?",
    "What does shipping to Austria cost?",
    "Where is my last order?",
)


def compare_products(asked: Question) -> Play:
    names = referents.products(asked, beside=_COMPARE_WORDS)
    if len(names) < 2:
        return "Which two products shall I compare? Tell me their names."
    (found,) = yield [call("compare_products", products=names)]
    lines = [bullet(product) + _more(product) for product in found["products"]]
    lines += [not_sold(unknown) for unknown in found["unknown"]]
    if "cheapest" in found:
        lines.append(_verdict(found["cheapest"], found["lightest"]))
    return "\n".join(lines)


def _verdict(cheapest: str, lightest: str) -> str:
    if cheapest == lightest:
        return f"{cheapest} is both the cheapest and the lightest."
    return f"The cheapest is {cheapest}, the lightest is {lightest}."


def _more(product: Mapping[str, Any]) -> str:
    dry = "waterproof" if product["waterproof"] else "not waterproof"
    return f", {dry}, {product['rating']} of 5 stars, {product['in_stock']} in stock"


def stock_for(asked: Question) -> Play:
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
    name = referents.product(asked, beside=r"customers?|buyers?|think|thinks|stars?|bought|liked?|good")
    if not name:
        return "Reviews of which product?"
    (found,) = yield [call("product_reviews", product=name)]
    if not found["found"]:
        return not_sold(found)
    lines = [
        f"• {'★' * review['stars']} {review['text']} ({review['author']})" for review in found["reviews"]
    ]
    return "\n".join([f"{found['product']} has {found['rating']} of 5 stars. The newest reviews:", *lines])


def shipping_cost(asked: Question) -> Play:
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
    city = words.city(asked)
    wanted = {"city": city if city in _STORES else None, "weekday": words.weekday(asked)}
    named = {name: value for name, value in wanted.items() if value}
    (found,) = yield [call("opening_hours", **{**asked.before, **named})]
    return "\n".join(_store(store) for store in found["stores"])


def _store(store: Mapping[str, Any]) -> str:
    lines = [f"{store['city']}, {store['address']}"]
    return "\n".join(lines + [f"• {day}: {hours}" for day, hours in store["hours"].items()])


def return_policy(asked: Question) -> Play:
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


def list_categories(asked: Question) -> Play:
    (found,) = yield [call("list_categories")]
    lines = [
        f"• {row['name'].replace('-', ' ')}: {counted(row['products'], 'product')}, {row['from']} to {row['to']}"
        for row in found["categories"]
    ]
    return "\n".join(["Our shelves:", *lines])


def my_orders(asked: Question) -> Play:
    (found,) = yield [call("my_orders")]
    if not found["orders"]:
        return "You have not ordered anything yet."
    lines = [
        f"• Order {order['number']} of {order['placed_on']}: {counted(order['pieces'], 'piece')}, "
        f"{order['total']}, {order['status']}"
        for order in found["orders"]
    ]
    return "\n".join([f"{found['customer']}, these are your newest orders:", *lines])


def track_order(asked: Question) -> Play:
    number = words.order_number(asked) or _pointed_order(asked)
    if number is None:
        (mine,) = yield [call("my_orders", limit=10)]
        number = _on_its_way(mine["orders"], last="last" in asked.words or "latest" in asked.words)
    if number is None:
        return "You have no order that I could track."
    (order,) = yield [call("track_order", order_number=number)]
    if not order["found"]:
        return f"You have no order with the number {number}."
    goods = ", ".join(f"{line['quantity']} × {line['product']}" for line in order["lines"])
    return f"Order {order['number']} ({goods}, {order['total']}): {_whereabouts(order)}"


def _pointed_order(asked: Question) -> int | None:
    return referents.shown_order(asked.past) if asked.says("it|that|that order|this|this one") else None


def _on_its_way(orders: list[Mapping[str, Any]], *, last: bool) -> int | None:
    travelling = [order for order in orders if order["status"] == "shipped"]
    chosen = (orders if last else travelling or orders)[:1]
    return chosen[0]["number"] if chosen else None


def _whereabouts(order: Mapping[str, Any]) -> str:
    parcel = order["shipment"]
    if order["status"] == "cancelled":
        return "it was cancelled."
    if parcel is None:
        return f"it is {order['status']} and has not left our warehouse yet."
    if parcel["delivered_on"]:
        return f"{parcel['carrier']} delivered it on {parcel['delivered_on']} ({parcel['last_seen']})."
    when = "was expected" if parcel["is_late"] else "is expected"
    return (
        f"{parcel['carrier']} has it ({parcel['tracking_code']}), {parcel['last_seen']}; "
        f"it {when} on {parcel['expected_on']}."
    )


def plan_kit(asked: Question) -> Play:
    wanted = {
        "persons": words.persons(asked),
        "season": words.season(asked),
        "budget": words.max_price(asked) or words.goods_value(asked),
        "prefer": "cheap" if asked.says("cheap|cheapest|little money") else None,
    }
    named = {name: value for name, value in wanted.items() if value is not None}
    (kit,) = yield [call("plan_kit", **{**asked.before, **named})]
    lines = [
        f"• {item['count']} × {item['name']}, {item['colour']} – {item['price']}" for item in kit["items"]
    ]
    lines.append(f"That is {kit['total']} and {weight(kit['weight_g'])} in all.")
    if kit["over_budget"] and kit["over_budget"] != "€0.00":
        lines.append(f"It is {kit['over_budget']} above your budget.")
    who = counted(kit["persons"], "person", "people")
    return "\n".join([f"For {who} in {kit['season']} I would pack:", *lines])


def _refused(tool: str) -> str:
    return (
        "Orders are personal: please sign in with your customer account (top right of the page) and ask me again. "
        "Our conversation comes along."
    )


_STORES = ("Berlin", "Hamburg", "Munich")
_COMPARE_WORDS = (
    r"lighter|warmer|heavier|bigger|these|those|two|three|side|by|against|choose|warm|rather|should|prefer"
)
_STOCK_WORDS = (
    r"in stock|sold out|today|pick up|pick|collect|have you got|do you have|soon|get|store|stores|place|places|"
    r"online|shelf|shop|near|nearest"
)

_SKILLS = (
    Skill(
        tool="track_order",
        needs=("my_orders",),
        asks=(
            r"track|status of (?:my|the) (?:last )?order|(?:my )?(?:last|latest|newest) order",
            r"where(?:'s| is| are) (?:my|the) (?:order|parcel|package|delivery|stuff)",
            r"(?:when|will|has) .*(?:order|parcel|package|delivery)\b.*(?:arrive|come|delivered|shipped|here)",
            r"(?:order|parcel|package) (?:number |no |nr )?#?\d{3,6}",
            r"where is (?:it|that order)|what(?:'s| is) in (?:it|that order)",
        ),
        play=track_order,
        example="Where is my last order?",
        opening="I'll ask the carrier's desk.",
    ),
    Skill(
        tool="my_orders",
        asks=(
            r"my (?:\w+ )?(?:orders|purchases|order history)",
            r"(?:what|which) (?:\w+ )?(?:have|did) i (?:order|buy|bought|ordered)|what i ordered",
        ),
        play=my_orders,
        example="Show my orders",
        opening="I'll open your orders.",
    ),
    Skill(
        tool="return_policy",
        asks=(
            r"returns?|refunds?|exchange|money back|take back",
            r"(?:send|bring|give) (?:\w+ )*back",
            r"warranty|guarantee|repairs?",
        ),
        play=return_policy,
        example="Can I return boots that I have worn?",
        opening="I'll look into our rules.",
    ),
    Skill(
        tool="opening_hours",
        asks=(
            r"open(?:ing)?(?: hours| times)?|clos(?:e|ed|ing)|hours|what time",
            r"address(?:es)?|where (?:is|are) (?:your|the) (?:\w+ )?(?:stores?|shops?)",
        ),
        play=opening_hours,
        example="When are you open on Saturday in Berlin?",
        opening="I'll look at the door.",
    ),
    Skill(
        tool="shipping_cost",
        asks=(r"shipping|postage|ship|deliver(?:y)?|express", r"send (?:it |this |that )?to"),
        play=shipping_cost,
        example="What does shipping to Austria cost?",
    ),
    Skill(
        tool="compare_products",
        asks=(
            r"compare|comparison|difference between|differ|versus|vs|side by side",
            r"(?:which|what) (?:one )?(?:is|of)\b.*(?:lighter|cheaper|better|warmer|heavier)",
        ),
        play=compare_products,
        example="Compare the Trek 50 and the Trek 65",
        opening="I'll put them side by side.",
    ),
    Skill(
        tool="plan_kit",
        asks=(
            r"what (?:do|would|should|will) (?:i|we|you|\w+ (?:people|persons|of us)) (?:need|pack|take|bring)",
            r"pack(?:ing)? list|equip|full kit|kit for|gear for (?:\w+ )?(?:trip|nights?|people|persons|hike)",
            r"everything (?:i|we) need|whole set",
        ),
        play=plan_kit,
        example="What do two people need for autumn under 1200 euros?",
        opening="I'll put a kit together.",
    ),
    Skill(
        tool="product_reviews",
        asks=(
            r"reviews?|ratings?|opinions?|stars|is .* any good",
            r"what do (?:people|buyers|customers|others) (?:say|think)",
        ),
        play=product_reviews,
        example="What do people say about the Lumen 400?",
        opening="I'll read what buyers wrote.",
    ),
    Skill(
        tool="stock_for",
        asks=(
            r"in stock|available|availability|sold out|how many .*(?:have|there|left)",
            r"pick (?:\w+ )*up|collect",
            r"(?:have|got|is|are|get) .*(?:berlin|hamburg|munich|münchen|leipzig|rotterdam)",
        ),
        play=stock_for,
        example="Is the Squall rain jacket in stock in Berlin?",
        opening="I'll ask the warehouse.",
    ),
    Skill(
        tool="list_categories",
        asks=(
            r"what (?:do|can|all) (?:\w+ )*(?:sell|have|buy|offer|get)(?: here)?$",
            r"categor(?:y|ies)|assortment|product range|what kinds? of",
        ),
        play=list_categories,
        example="What do you sell?",
    ),
    DETAILS,
    FIND,
    NAMED,
)

script = Brain(
    skills=_SKILLS,
    greeting="Hello! I'm the concierge of Birch & Cairn.",
    refused=_refused,
    limits={
        r"(?:cancel|change|delete) (?:my|the|an|this|that)? ?order|cancel|place an order|checkout|pay|buy it for me": (
            "I can only look things up: I cannot place, change or cancel orders. Our support can."
        ),
    },
)
