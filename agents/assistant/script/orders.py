"""Questions about orders and their parcels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from example_app.money import euros
from flask_litro_agent import call

from ..._shared.script import referents, words
from ..._shared.script.brain import Play
from ..._shared.script.products import counted
from ..._shared.script.question import Question
from .people import first_name, person

__all__ = ["find_orders", "late_shipments", "order_details"]


def find_orders(asked: Question) -> Play:
    """List the orders that fit."""
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
    customer = person(asked, r"(?:of|by|for|from|did|has)") or first_name(asked)
    city = re.search(r"\b(?:from|in|to) ([A-ZÄÖÜ][\w-]+)(?! [A-ZÄÖÜ])", asked.text)
    found = {
        "status": named or None,
        "customer": customer,
        "city": city[1] if city and not customer else None,
        "period": words.period(asked),
        "min_total": words.min_price(asked),
    }
    return {name: value for name, value in found.items() if value is not None}


def order_details(asked: Question) -> Play:
    """Open one order and say where its parcel is."""
    number = words.order_number(asked) or referents.shown_order(asked.past)
    if number is None:
        return "Which order? Tell me its number."
    (order,) = yield [call("order_details", order_number=number)]
    if not order["found"]:
        return f"There is no order with the number {number}."
    lines = [f"• {line['quantity']} × {line['product']}: {line['price']}" for line in order["lines"]]
    head = f"Order {order['number']} of {order['placed_on']}, {order['customer']} ({order['city']}), {order['status']}:"
    total = f"Shipping {order['shipping']}, total {order['total']}."
    return "\n".join([head, *lines, total, _parcel(order), *_since(order)])


def _since(order: Mapping[str, Any]) -> Iterator[str]:
    """Yield what was decided about the order since it was placed."""
    if order["on_hold"]:
        yield "It is on hold."
    if order["refunded"] != euros(0):
        yield f"{order['refunded']} went back."
    for case in order["returns"]:
        yield f"• Comes back: {case['quantity']} × {case['product']} ({case['reason']}), {case['state']}."


def _parcel(order: Mapping[str, Any]) -> str:
    parcel = order["shipment"]
    if parcel is None:
        return "No parcel has left for it."
    where = f"{parcel['carrier']} {parcel['tracking_code']}"
    if parcel["delivered_on"]:
        return f"{where} was delivered on {parcel['delivered_on']} ({parcel['last_seen']})."
    return f"{where}: {parcel['last_seen']}, expected on {parcel['expected_on']}."


def late_shipments(asked: Question) -> Play:
    """List parcels that are overdue."""
    (found,) = yield [call("late_shipments")]
    if not found["orders"]:
        return "No parcel is late."
    lines = [
        f"• Order {late['number']} ({late['customer']}): {counted(late['days_late'], 'day')} late, {late['carrier']} "
        f"{late['tracking_code']}, {late['last_seen']}"
        for late in found["orders"]
    ]
    return "\n".join([f"{counted(found['total'], 'parcel')} should have arrived:", *lines])
