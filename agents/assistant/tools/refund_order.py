from __future__ import annotations

from marshmallow import Schema

from example_app import database, refunds
from example_app.money import euros
from flask_litro_agent import Change, Mode, tool

from ..._shared import changes, parameters


class Params(Schema):
    order_number = parameters.order_number()
    amount_cents = parameters.cents("What goes back to the customer")
    reason = parameters.reason()


def preview(params, ctx):
    order = changes.order(params["order_number"])
    before = refunds.given(database.connection(), order.number)
    after = before + params["amount_cents"]
    _check(order, after)
    label = f"Refunded to {order.customer} of {euros(order.total_cents)} for order {order.number}"
    return [Change(label, euros(before), euros(after))]


def as_of(params, ctx):
    order = changes.order(params["order_number"])
    return [order.total_cents, refunds.given(database.connection(), order.number)]


def _check(order, cents):
    if cents > order.total_cents:
        raise changes.Impossible(
            f"{euros(cents)} in all would be more than order {order.number} cost ({euros(order.total_cents)})"
        )


@tool(
    description="Propose to give a customer money back for an order, the whole of it or a part.",
    permission="refunds:edit",
    mode=Mode.PROPOSE,
    params=Params,
    ttl=900,
    preview=preview,
    as_of=as_of,
    reconcile=changes.done("refund"),
)
def refund_order(params, ctx):
    order = changes.order(params["order_number"])
    _, before = ctx.as_of
    _check(order, before + params["amount_cents"])
    given = refunds.give(
        database.connection(),
        order.number,
        params["amount_cents"],
        params["reason"],
        changes.by(ctx),
        given_before=before,
    )
    if given is None:
        raise changes.Impossible(f"another refund for order {order.number} has come in between")
    return {"order_number": order.number, "refund": given["id"], "amount": euros(given["amount_cents"])}
