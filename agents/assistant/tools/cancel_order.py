from __future__ import annotations

from marshmallow import Schema

from example_app import cancellations, database, refunds
from example_app.money import euros
from flask_litro_agent import Change, Mode, tool

from ..._shared import changes, names, parameters


class Params(Schema):
    order_number = parameters.order_number()
    reason = parameters.reason()


def preview(params, ctx):
    order = _order(params)
    label = f"Order {order.number} of {order.customer}, {euros(order.total_cents)}"
    kept = refunds.kept(database.connection(), order.number)
    return [
        Change(label, order.status, "cancelled"),
        Change("What we keep of the money", euros(kept), euros(0)),
    ]


def as_of(params, ctx):
    order = _order(params)
    return [order.status, refunds.kept(database.connection(), order.number)]


def _order(params):
    order = changes.order(params["order_number"])
    if order.status not in cancellations.CAN_BE:
        raise changes.Impossible(f"order {order.number} is {order.status}: it cannot be cancelled any more")
    return order


@tool(
    description="Propose to cancel an order that has not left yet; everything that was paid for it goes back.",
    permission="refunds:edit",
    mode=Mode.PROPOSE,
    params=Params,
    ttl=900,
    preview=preview,
    labels=names.order,
    as_of=as_of,
    reconcile=changes.done("order_cancellation"),
)
def cancel_order(params, ctx):
    order = _order(params)
    _, kept = ctx.as_of
    cancelled = cancellations.cancel(
        database.connection(), order.number, params["reason"], changes.by(ctx), kept_before=kept
    )
    if cancelled is None:
        raise changes.Impossible(f"order {order.number} has changed in between")
    return {
        "order_number": order.number,
        "status": "cancelled",
        "refunded": euros(cancelled["refunded_cents"]),
    }
