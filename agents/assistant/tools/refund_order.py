from __future__ import annotations

from marshmallow import Schema

from example_app import database, refunds
from example_app.money import euros
from flask_litro_agent import Change, Mode, tool

from ..._shared import changes, names, parameters


class Params(Schema):
    order_number = parameters.order_number()
    amount_cents = parameters.cents("What goes back to the customer")
    reason = parameters.reason()


def preview(params, ctx):
    order = changes.order(params["order_number"])
    before, _ = as_of(params, ctx)
    _check(order, params["amount_cents"])
    after = before + params["amount_cents"]
    label = f"Refunded to {order.customer} of {euros(order.total_cents)} for order {order.number}"
    return [Change(label, euros(before), euros(after))]


def as_of(params, ctx):
    held, number = database.connection(), changes.order(params["order_number"]).number
    return [refunds.given(held, number), refunds.kept(held, number)]


def _check(order, cents):
    kept = refunds.kept(database.connection(), order.number)
    if cents > kept:
        raise changes.Impossible(
            f"{euros(cents)} would be more than what we keep of the money for order {order.number}, {euros(kept)}"
        )


@tool(
    description="Propose to give a customer money back for an order, the whole of it or a part.",
    permission="refunds:edit",
    mode=Mode.PROPOSE,
    params=Params,
    ttl=900,
    preview=preview,
    labels=names.order,
    as_of=as_of,
    reconcile=changes.done("refund"),
)
def refund_order(params, ctx):
    order = changes.order(params["order_number"])
    before, _ = ctx.as_of
    _check(order, params["amount_cents"])
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
