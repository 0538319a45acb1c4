"""What the tools share that change something: on whose word, and the two that a customer may ask for as well."""

from __future__ import annotations

from example_app import catalogue, customers, database, fulfilment, journal, orders
from example_app.journal import By
from flask_litro_agent import AgentError, Change, NothingDone

__all__ = [
    "Impossible",
    "address_preview",
    "address_version",
    "by",
    "change_address",
    "customer",
    "done",
    "hold",
    "hold_preview",
    "hold_version",
    "order",
    "product",
]

_UNDER_WAY = ("paid", "packed")


class Impossible(AgentError, NothingDone):
    """The change makes no sense: said to the model when it asks, and if it only shows later, nothing was done."""

    status = 409


def by(ctx):
    """Return on whose word a tool changes something."""
    return By(ctx.idempotency_key, ctx.actor.id, ctx.approver.id)


def done(table):
    """Return a tool's ``reconcile``: whether the table has the row of a change."""

    def reconcile(key):
        return journal.has(database.connection(), table, key)

    return reconcile


def order(number, *, of_customer=None):
    """Return the order; Impossible when there is none, or none of this customer's."""
    found = orders.by_number(database.connection(), number)
    if found is None or of_customer not in (None, found.customer_id):
        raise Impossible(f"there is no order with the number {number}")
    return found


def product(sku):
    """Return the product with exactly this article number; Impossible when there is none."""
    found = catalogue.by_sku(database.connection(), sku)
    if found is None:
        raise Impossible(f"there is no product with the article number {sku}")
    return found


def customer(number):
    """Return the customer; Impossible when there is none."""
    found = customers.by_id(database.connection(), number)
    if found is None:
        raise Impossible(f"there is no customer with the number {number}")
    return found


def hold_version(number):
    """Return what a hold relies on: where the order is, and whether it is held now."""
    return [orders.by_number(database.connection(), number).status, _is_held(number)]


def hold_preview(number, held):
    """Return what would be different; Impossible for an order that has left."""
    _check_under_way(number)
    return [Change(f"Order {number}", _standing(_is_held(number)), _standing(held))]


def hold(number, held, who):
    """Hold an order back, or let it go on."""
    _check_under_way(number)
    fulfilment.hold(database.connection(), number, held, who)
    return {"order_number": number, "held": held}


def address_version(number):
    """Return what an address change relies on: where the order is, and where it is going now."""
    held = database.connection()
    return [orders.by_number(held, number).status, fulfilment.address_of(held, number)]


def address_preview(number, address):
    """Return what would be different; Impossible for an order that has left."""
    _check_under_way(number)
    before = fulfilment.address_of(database.connection(), number)
    return [Change(f"Order {number} goes to", before, address)]


def change_address(number, address, who):
    """Send an order elsewhere."""
    _check_under_way(number)
    before = fulfilment.address_of(database.connection(), number)
    fulfilment.redirect(database.connection(), number, address, who)
    return {"order_number": number, "before": before, "address": address}


def _check_under_way(number):
    status = orders.by_number(database.connection(), number).status
    if status not in _UNDER_WAY:
        raise Impossible(f"order {number} is {status}: it can no longer be changed")


def _is_held(number):
    return fulfilment.is_held(database.connection(), number)


def _standing(held):
    return "on hold" if held else "goes on"
