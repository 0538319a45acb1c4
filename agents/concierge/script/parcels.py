"""A customer's questions about what he ordered, and where it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask_litro_agent import call

from ..._shared.script import referents, words
from ..._shared.script.brain import Play
from ..._shared.script.products import counted
from ..._shared.script.question import Question

__all__ = ["my_orders", "track_order"]


def my_orders(asked: Question) -> Play:
    """List the customer's own orders."""
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
    """Say where an order is: the one that is named or pointed at, else the one that travels."""
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
    if parcel is None and order["on_hold"]:
        return f"it is {order['status']} and waits in our warehouse: it is on hold."
    if parcel is None:
        return f"it is {order['status']} and has not left our warehouse yet."
    if parcel["delivered_on"]:
        return f"{parcel['carrier']} delivered it on {parcel['delivered_on']} ({parcel['last_seen']})."
    when = "was expected" if parcel["is_late"] else "is expected"
    return (
        f"{parcel['carrier']} has it ({parcel['tracking_code']}), {parcel['last_seen']}; "
        f"it {when} on {parcel['expected_on']}."
    )
