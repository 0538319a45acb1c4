"""The shop's things as the plain values that a model reads: names and prices as a person would write them."""

from __future__ import annotations

from datetime import date
from typing import Any

from example_app.catalogue import Product
from example_app.money import euros
from example_app.orders import Order, Shipment

__all__ = ["order_facts", "order_line", "product_facts", "product_line", "unknown_product"]


def product_line(product: Product) -> dict[str, Any]:
    """Return what a list of products says about each."""
    return {
        "sku": product.sku,
        "name": product.name,
        "colour": product.colour,
        "price": euros(product.price_cents),
        "weight_g": product.weight_g,
        "capacity": product.capacity,
        "in_stock": product.in_stock,
        "rating": product.rating,
    }


def product_facts(product: Product) -> dict[str, Any]:
    """Return everything about one product."""
    return {
        **product_line(product),
        "category": product.category,
        "waterproof": product.waterproof,
        "description": product.description,
    }


def unknown_product(text: str, near: list[Product]) -> dict[str, Any]:
    """Return the answer about a product that we do not sell, with what may have been meant."""
    return {"found": False, "asked": text, "did_you_mean": [product.label for product in near]}


def order_line(order: Order) -> dict[str, Any]:
    """Return what a list of orders says about each."""
    return {
        "number": order.number,
        "customer": order.customer,
        "city": order.city,
        "placed_on": order.placed_on,
        "status": order.status,
        "pieces": sum(line.quantity for line in order.lines),
        "total": euros(order.total_cents),
    }


def order_facts(order: Order) -> dict[str, Any]:
    """Return an order with its lines and its parcel."""
    lines = [
        {
            "sku": line.sku,
            "product": line.product,
            "quantity": line.quantity,
            "price": euros(line.quantity * line.unit_cents),
        }
        for line in order.lines
    ]
    parcel = _parcel(order.shipment) if order.shipment else None
    return {**order_line(order), "shipping": euros(order.shipping_cents), "lines": lines, "shipment": parcel}


def _parcel(shipment: Shipment) -> dict[str, Any]:
    return {
        "carrier": shipment.carrier,
        "tracking_code": shipment.tracking_code,
        "shipped_on": shipment.shipped_on,
        "expected_on": shipment.expected_on,
        "delivered_on": shipment.delivered_on,
        "last_seen": shipment.last_seen,
        "is_late": shipment.is_late(date.today()),
    }
