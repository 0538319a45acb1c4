"""What the things are called that a change names by a number: an operator's card shows it beside the number."""

from __future__ import annotations

from example_app.money import euros

from . import changes

__all__ = ["customer", "in_list", "order", "product"]


def product(params, ctx):
    """Name the product of a tool's ``sku``."""
    return {"sku": changes.product(params["sku"]).label}


def order(params, ctx):
    """Name whose order it is and what it is worth, of a tool's ``order_number``."""
    found = changes.order(params["order_number"])
    return {"order_number": f"{found.customer}, {euros(found.total_cents)}, {found.status}"}


def customer(params, ctx):
    """Name the customer of a tool's ``customer_id``."""
    return {"customer_id": changes.customer(params["customer_id"]).name}


def in_list(skus, pointer):
    """Name the products of a list; ``pointer`` is where each number stands, with ``{}`` for its place."""
    return {pointer.format(place): changes.product(sku).label for place, sku in enumerate(skus)}
