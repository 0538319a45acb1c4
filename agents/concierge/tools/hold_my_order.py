from __future__ import annotations

from marshmallow import Schema

from flask_litro_agent import Mode, tool

from ..._shared import changes, names, parameters


class Params(Schema):
    order_number = parameters.order_number()
    hold = parameters.hold()


def preview(params, ctx):
    return changes.hold_preview(_own(params, ctx).number, params["hold"])


def as_of(params, ctx):
    return changes.hold_version(_own(params, ctx).number)


def inverse(params, result):
    return "hold_my_order", {**params, "hold": not params["hold"]}


def _own(params, ctx):
    return changes.order(params["order_number"], of_customer=ctx.actor.data["customer_id"] or 0)


@tool(
    description="Propose to hold back an order of the customer who is asking, or to let it go on.",
    permission="orders:edit-own",
    mode=Mode.PROPOSE,
    params=Params,
    ttl=1800,
    preview=preview,
    labels=names.order,
    as_of=as_of,
    inverse=inverse,
    reconcile=changes.done("order_hold"),
)
def hold_my_order(params, ctx):
    order = _own(params, ctx)
    return changes.hold(order.number, params["hold"], changes.by(ctx))
