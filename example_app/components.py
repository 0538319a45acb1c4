"""The shop's components: which props each takes, and the shop's things as such props. Pages and agents use the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from marshmallow import Schema, fields

from example_app.catalogue import Product
from example_app.identity import litro
from example_app.money import euros
from example_app.orders import Order

__all__ = ["basket", "order_summary", "product_card", "sales_chart", "timeline"]

_LATE, _DONE, _NEXT = "late", "done", "next"


@litro.component("product-card")
class ProductCard(Schema):
    """One article, with its button."""

    sku = fields.String(required=True)
    name = fields.String(required=True)
    colour = fields.String(required=True)
    category = fields.String(required=True)
    capacity = fields.String(required=True)
    price = fields.String(required=True)
    in_stock = fields.Integer(required=True)
    rating = fields.Float(allow_none=True)


@litro.component("product-list")
class ProductList(Schema):
    """Several articles side by side."""

    products = fields.List(fields.Dict(), required=True)
    label = fields.String(load_default="Products")


@litro.component("shop-basket")
class ShopBasket(Schema):
    """What lies in a basket, or could; ``add`` is where the whole of it is put into one's own."""

    heading = fields.String(required=True)
    lines = fields.List(fields.Dict(), required=True)
    total = fields.String(required=True)
    add = fields.String()


@litro.component("order-summary")
class OrderSummary(Schema):
    """An order with its lines, and its parcel's way."""

    number = fields.Integer(required=True)
    status = fields.String(required=True)
    placed_on = fields.String(required=True)
    lines = fields.List(fields.Dict(), required=True)
    shipping = fields.String(required=True)
    total = fields.String(required=True)
    steps = fields.List(fields.Dict(), required=True)
    carrier = fields.String(allow_none=True)


@litro.component("shipment-timeline")
class ShipmentTimeline(Schema):
    """The way of a parcel, step by step."""

    steps = fields.List(fields.Dict(), required=True)
    carrier = fields.String(allow_none=True)


@litro.component("sales-chart")
class SalesChart(Schema):
    """Amounts side by side; each bar has ``label``, ``amount`` as text and ``percent`` of the largest."""

    heading = fields.String(required=True)
    bars = fields.List(fields.Dict(), required=True)


def product_card(product: Product) -> dict[str, Any]:
    """Return the props of a product's card."""
    return {
        "sku": product.sku,
        "name": product.name,
        "colour": product.colour,
        "category": product.category,
        "capacity": product.capacity,
        "price": euros(product.price_cents),
        "in_stock": product.in_stock,
        "rating": product.rating,
    }


def basket(heading: str, items: Sequence[tuple[Product, int]], *, offer: bool = False) -> dict[str, Any]:
    """Return the props of a basket; with ``offer`` it is not anybody's yet, and can be put into one."""
    lines = [
        {
            "sku": product.sku,
            "name": product.name,
            "colour": product.colour,
            "count": count,
            "price": euros(product.price_cents * count),
        }
        for product, count in items
    ]
    total = euros(sum(product.price_cents * count for product, count in items))
    add = "&".join(f"add={product.sku}" for product, count in items for _ in range(count))
    return {"heading": heading, "lines": lines, "total": total} | ({"add": f"/basket?{add}"} if offer else {})


def order_summary(order: Order, today: date) -> dict[str, Any]:
    """Return the props of an order."""
    lines = [
        {
            "sku": line.sku,
            "product": line.product,
            "quantity": line.quantity,
            "price": euros(line.quantity * line.unit_cents),
        }
        for line in order.lines
    ]
    return {
        "number": order.number,
        "status": order.status,
        "placed_on": order.placed_on,
        "lines": lines,
        "shipping": euros(order.shipping_cents) if order.shipping_cents else "free",
        "total": euros(order.total_cents),
        **timeline(order, today),
    }


def timeline(order: Order, today: date) -> dict[str, Any]:
    """Return the props of a parcel's way."""
    parcel = order.shipment
    steps = [{"label": "ordered", "day": order.placed_on, "state": _DONE}]
    if order.status == "cancelled":
        return {"steps": [*steps, {"label": "cancelled", "day": "", "state": _DONE}], "carrier": None}
    if parcel is None:
        packed = _DONE if order.status == "packed" else _NEXT
        return {"steps": [*steps, {"label": "packed", "day": "", "state": packed}], "carrier": None}
    steps.append({"label": "sent", "day": parcel.shipped_on, "state": _DONE})
    if parcel.delivered_on:
        steps.append({"label": "delivered", "day": parcel.delivered_on, "state": _DONE})
    else:
        expected = "was expected" if parcel.is_late(today) else "expected"
        state = _LATE if parcel.is_late(today) else _NEXT
        steps.append({"label": parcel.last_seen, "day": "", "state": _DONE})
        steps.append({"label": expected, "day": parcel.expected_on, "state": state})
    return {"steps": steps, "carrier": f"{parcel.carrier} {parcel.tracking_code}"}


def sales_chart(heading: str, cents: Mapping[str, int]) -> dict[str, Any]:
    """Return the props of a chart; the largest amount has the longest bar."""
    most = max(cents.values(), default=0) or 1
    bars = [
        {"label": label, "amount": euros(amount), "percent": max(0, round(100 * amount / most))}
        for label, amount in cents.items()
    ]
    return {"heading": heading, "bars": bars}
