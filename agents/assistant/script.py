"""What the assistant's script understands, and how it answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from flask_litro_agent import call

from .._shared import referents, words
from .._shared.brain import Brain, Play, Skill
from .._shared.products import DETAILS, FIND, NAMED, counted, not_sold
from .._shared.question import Question

__all__ = ["SUGGESTIONS", "script"]

SUGGESTIONS = (
    "How were sales last month?",
    "Compare sales this month with last month",
    "What is running low in Leipzig?",
    "Which parcels are late?",
    "What is in order 1111, and where is it?",
    "What has Anna Berg bought?",
)


def sales_report(asked: Question) -> Play:
    wanted = {"period": words.period(asked), "category": words.category(asked)}
    named = {name: value for name, value in wanted.items() if value}
    (report,) = yield [call("sales_report", **{**asked.before, **named})]
    lines = [
        f"Sales, {report['period']} ({report['since']} to {report['until']}): {report['turnover']} "
        f"with {counted(report['orders'], 'order')} and {counted(report['pieces'], 'piece')}."
    ]
    return "\n".join(lines + [_sold(row) for row in report["categories"]])


def _sold(row: Mapping[str, Any]) -> str:
    return f"• {row['name'].replace('-', ' ')}: {row['turnover']}, {counted(row['pieces'], 'piece')}"


def compare_sales(asked: Question) -> Play:
    first, second = _two_periods(asked)
    one, other = yield [call("sales_report", period=first), call("sales_report", period=second)]
    before, now = other["turnover_cents"], one["turnover_cents"]
    change = f"{100 * (now - before) / before:+.0f} %" if before else "no figure to compare with"
    return "\n".join(
        [
            f"• {_total(one)}",
            f"• {_total(other)}",
            f"{one['period'].capitalize()} against {other['period']}: {change}.",
        ]
    )


def _two_periods(asked: Question) -> tuple[str, str]:
    parts = re.split(r"\b(?:with|to|and|vs|versus|against)\b", asked.words)
    named = [period for part in parts if (period := words.period(Question(text=part)))]
    match named:
        case [first, second, *_]:
            return first, second
        case ["last_month"] | []:
            return "this_month", "last_month"
        case ["this_week"]:
            return "this_week", "last_week"
        case _:
            return named[0], "last_month"


def _total(report: Mapping[str, Any]) -> str:
    return f"{report['period']}: {report['turnover']}, {counted(report['orders'], 'order')}"


def best_sellers(asked: Question) -> Play:
    top = re.search(r"\btop (\d{1,2})\b|\b(\d{1,2}) best", asked.words)
    wanted = {
        "period": words.period(asked),
        "category": words.category(asked),
        "limit": int(top[1] or top[2]) if top else None,
    }
    named = {name: value for name, value in wanted.items() if value}
    (found,) = yield [call("best_sellers", **{**asked.before, **named})]
    if not found["products"]:
        return f"Nothing was sold in that period ({found['period']})."
    lines = [
        f"{place}. {row['product']}: {counted(row['pieces'], 'piece')}, {row['turnover']}"
        for place, row in enumerate(found["products"], 1)
    ]
    return "\n".join([f"Best sellers, {found['period']}:", *lines])


def low_stock(asked: Question) -> Play:
    city = words.city(asked)
    (found,) = yield [call("low_stock", **({"city": city} if city else {}))]
    if not found["levels"]:
        return f"Nothing is at its reorder level{f' in {city}' if city else ''}."
    lines = [
        f"• {level['city']}: {level['product']} – {level['quantity']} left "
        f"(reorder at {level['reorder_level']}), order {level['order']}"
        for level in found["levels"]
    ]
    more = found["total"] - len(found["levels"])
    rest = [f"… and {more} more."] if more > 0 else []
    return "\n".join(
        [f"{counted(found['total'], 'entry', 'entries')} at or below the reorder level:", *lines, *rest]
    )


def stock_levels(asked: Question) -> Play:
    name = referents.product(asked, beside=r"each|per|levels?|lying|do we have|in stock|inventory")
    if not name:
        return "The stock of which product?"
    (found,) = yield [call("stock_levels", product=name)]
    if not found["found"]:
        return not_sold(found)
    lines = [
        f"• {place['city']} ({place['kind']}): {place['quantity']}"
        + (", at its reorder level" if place["quantity"] <= place["reorder_level"] else "")
        for place in found["places"]
    ]
    return "\n".join([f"{found['product']}, {found['total']} in all:", *lines])


def find_orders(asked: Question) -> Play:
    named = _order_wishes(asked)
    (found,) = yield [call("find_orders", **{**asked.before, **named})]
    if not found["orders"]:
        return "No order fits that."
    shown = len(found["orders"])
    heading = counted(found["total"], "order") + (f"; the newest {shown}:" if shown < found["total"] else ":")
    return "\n".join([heading, *_order_lines(found["orders"])])


def _order_lines(found: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        f"• {order['number']} of {order['placed_on']}, {order['customer']} ({order['city']}): {order['total']}, "
        f"{order['status']}"
        for order in found
    ]


def _order_wishes(asked: Question) -> dict[str, Any]:
    statuses = {
        "paid": "paid|new",
        "packed": "packed",
        "shipped": "on (?:their|its|the) way|shipped|travelling|in transit",
        "delivered": "delivered|arrived",
        "cancelled": "cancell?ed",
    }
    waiting = asked.says(
        "open|waiting|unshipped|not (?:yet )?(?:been )?(?:shipped|sent)|to (?:be )?(?:packed|shipped)"
    )
    named = (
        ["paid", "packed"] if waiting else [name for name, pattern in statuses.items() if asked.says(pattern)]
    )
    customer = _person(asked, r"(?:of|by|for|from|did|has)")
    city = re.search(r"\b(?:from|in|to) ([A-ZÄÖÜ][\w-]+)(?! [A-ZÄÖÜ])", asked.text)
    found = {
        "status": named or None,
        "customer": customer,
        "city": city[1] if city and not customer else None,
        "period": words.period(asked),
        "min_total": words.min_price(asked),
    }
    return {name: value for name, value in found.items() if value is not None}


def _person(asked: Question, before: str) -> str | None:
    """Return the first and last name that stand after a word, such as Thijs de Wit."""
    found = re.search(rf"\b{before} ({_CAPITAL}(?: (?:de|van|von|der))* {_CAPITAL})", asked.text)
    return found[1].removesuffix("'s") if found else None


def order_details(asked: Question) -> Play:
    number = words.order_number(asked) or referents.shown_order(asked.past)
    if number is None:
        return "Which order? Tell me its number."
    (order,) = yield [call("order_details", order_number=number)]
    if not order["found"]:
        return f"There is no order with the number {number}."
    lines = [f"• {line['quantity']} × {line['product']}: {line['price']}" for line in order["lines"]]
    head = f"Order {order['number']} of {order['placed_on']}, {order['customer']} ({order['city']}), {order['status']}:"
    return "\n".join([head, *lines, f"Shipping {order['shipping']}, total {order['total']}.", _parcel(order)])


def _parcel(order: Mapping[str, Any]) -> str:
    parcel = order["shipment"]
    if parcel is None:
        return "No parcel has left for it."
    where = f"{parcel['carrier']} {parcel['tracking_code']}"
    if parcel["delivered_on"]:
        return f"{where} was delivered on {parcel['delivered_on']} ({parcel['last_seen']})."
    return f"{where}: {parcel['last_seen']}, expected on {parcel['expected_on']}."


def late_shipments(asked: Question) -> Play:
    (found,) = yield [call("late_shipments")]
    if not found["orders"]:
        return "No parcel is late."
    lines = [
        f"• Order {late['number']} ({late['customer']}): {counted(late['days_late'], 'day')} late, {late['carrier']} "
        f"{late['tracking_code']}, {late['last_seen']}"
        for late in found["orders"]
    ]
    return "\n".join([f"{counted(found['total'], 'parcel')} should have arrived:", *lines])


def find_customers(asked: Question) -> Play:
    city = re.search(r"\b(?:from|in) ([A-ZÄÖÜ][\w-]+)", asked.text)
    name = (
        ""
        if city
        else words.subject(
            asked, beside=r"customers?|clients?|named|called|e-?mail|address|search|account|best|who|top"
        )
    )
    wanted = {"city": city[1] if city else None, "name": name or None}
    (found,) = yield [call("find_customers", **{key: value for key, value in wanted.items() if value})]
    if not found["customers"]:
        return "No customer fits that."
    lines = [
        f"• {who['name']} ({who['email']}), {who['city']}, {who['country']}: "
        f"{counted(who['orders'], 'order')}, {who['spent']}"
        for who in found["customers"]
    ]
    return "\n".join([f"{counted(len(lines), 'customer')}:", *lines])


def customer_details(asked: Question) -> Play:
    name = _person(asked, r"(?:has|did|does|about|of|customer|is)") or words.subject(
        asked, beside=_BUYING_WORDS
    )
    if not name:
        return "Which customer? Tell me the name."
    (found,) = yield [call("find_customers", name=name)]
    if not found["customers"]:
        return f"No customer is called “{name}”."
    (who,) = yield [call("customer_details", customer_id=found["customers"][0]["customer_id"])]
    lines = [
        f"• {order['placed_on']}, order {order['number']} ({order['status']}): "
        + ", ".join(f"{line['quantity']} × {line['product']}" for line in order["lines"])
        for order in who["orders"]
    ]
    head = (
        f"{who['name']} ({who['email']}, {who['city']}), customer since {who['member_since']}, "
        f"has spent {who['spent']}:"
    )
    return "\n".join([head, *lines])


def returns_overview(asked: Question) -> Play:
    period = words.period(asked)
    (found,) = yield [call("returns_overview", **{**asked.before, **({"period": period} if period else {})})]
    head = (
        f"Returns, {found['period']}: {counted(found['cases'], 'case')}, {found['rate_percent']} % of the pieces sold, "
        f"{found['refunds']} refunded."
    )
    parts = {"States": found["states"], "Reasons": found["reasons"], "Products": found["products"]}
    lines = [
        f"• {name}: " + ", ".join(f"{what} ({n})" for what, n in rows.items())
        for name, rows in parts.items()
        if rows
    ]
    return "\n".join([head, *lines])


def _counts(rows: Mapping[str, int]) -> str:
    return ", ".join(f"{what} ({count})" for what, count in rows.items())


def _refused(tool: str) -> str:
    what = tool.replace("_", " ")
    return (
        f"Your account may not see the {what}: that is for the operator. Sign in as operator to ask me again."
    )


_CAPITAL = r"[A-ZÄÖÜ][\w'-]+"
_CUSTOMER_WORDS = r"customers?|clients?|named|called|e-?mail|address|search|account|best|who|top"
_BUYING_WORDS = r"bought|customer|purchased?|history|buys?|spent|ordered|far|so"

_SKILLS = (
    Skill(
        tool="sales_report",
        asks=(
            r"compare .*(?:sales|turnover|revenue|months?|weeks?)",
            r"(?:sales|turnover|revenue).*(?:compared|versus|vs|against)",
        ),
        play=compare_sales,
        example="Compare sales this month with last month",
        opening="I'll run both reports.",
    ),
    Skill(
        tool="best_sellers",
        asks=(
            r"best ?-?sell(?:ers?|ing)|sells? (?:the )?(?:best|most)|sold (?:the )?(?:best|most)|most popular",
            r"top (?:\d+ )?(?:products?|sellers?|articles)",
        ),
        play=best_sellers,
        example="What sold best this year?",
        opening="I'll count.",
    ),
    Skill(
        tool="returns_overview",
        asks=(r"returns?|returned|refunds?|sent back|c[oa]me back",),
        play=returns_overview,
        example="Why do goods come back?",
    ),
    Skill(
        tool="sales_report",
        asks=(
            r"sales|turnover|revenue|figures",
            r"how much (?:did|have) we (?:sell|sold|make|made|earn|earned)|how did we do|how(?:'s| is) business",
        ),
        play=sales_report,
        example="How were sales last month?",
        opening="I'll run the report.",
    ),
    Skill(
        tool="low_stock",
        asks=(
            r"(?:running|run|runs|is|are|getting) (?:out|low|short)|low (?:on |in )?stock|low|shortages?",
            r"re-?order|restock|need to order|should (?:we|i) order",
        ),
        play=low_stock,
        example="What is running low in Leipzig?",
        opening="I'll walk through the warehouses.",
    ),
    Skill(
        tool="late_shipments",
        asks=(r"late|overdue|delayed|delays?|stuck|missing (?:parcels?|packages?)|should have arrived",),
        play=late_shipments,
        example="Which parcels are late?",
        opening="I'll check with the carriers.",
    ),
    Skill(
        tool="order_details",
        asks=(r"order (?:number |no |nr )?#?\d{3,6}|#\d{3,6}|\d{4,6}$", r"(?:that|this) order|where is it"),
        play=order_details,
        example="What is in order 1111, and where is it?",
        opening="I'll open it.",
    ),
    Skill(
        tool="customer_details",
        needs=("find_customers",),
        asks=(
            r"what (?:has|have|did|does) .*(?:bought|buy|purchased?|order(?:ed)?|spent|spend)",
            r"(?:who is|tell me about) (?:the )?customer|(?:purchase )?history of|purchase history",
        ),
        play=customer_details,
        example="What has Anna Berg bought?",
        opening="I'll look up the customer.",
    ),
    Skill(
        tool="find_orders",
        asks=(r"orders",),
        play=find_orders,
        example="Which orders are waiting to be shipped?",
        opening="I'll go through the orders.",
    ),
    Skill(
        tool="find_customers",
        asks=(r"customers?|clients?|e-?mail (?:address )?of|who (?:lives|is)",),
        play=find_customers,
        example="Find customers from Munich",
    ),
    Skill(
        tool="stock_levels",
        asks=(r"stock|inventory|warehouses?", r"how many .*(?:have|left|are there|lie|each|every)"),
        play=stock_levels,
        example="How many Fjell 2 are in each warehouse?",
        opening="I'll count the shelves.",
    ),
    DETAILS,
    FIND,
    NAMED,
)

script = Brain(
    skills=_SKILLS,
    greeting="Hello! I'm the assistant of Birch & Cairn's staff.",
    refused=_refused,
    limits={
        r"(?:cancel|refund|change|delete|update|ship) (?:the |this |that |an? )?(?:order|customer|return|price)": (
            "I can only look things up: I cannot change orders, customers or stock."
        ),
    },
)
