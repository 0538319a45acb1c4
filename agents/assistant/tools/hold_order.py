from __future__ import annotations

from marshmallow import Schema

from flask_litro_agent import Mode, tool

from ..._shared import changes, names, parameters


class Params(Schema):
    order_number = parameters.order_number()
    hold = parameters.hold()


def preview(params, ctx):
    return changes.hold_preview(changes.order(params["order_number"]).number, params["hold"])


def as_of(params, ctx):
    return changes.hold_version(changes.order(params["order_number"]).number)


def inverse(params, result):
    return "hold_order", {**params, "hold": not params["hold"]}


@tool(
    description="Propose to hold an order back before it is shipped, or to let a held one go on.",
    permission="orders:edit",
    mode=Mode.PROPOSE,
    params=Params,
    ttl=1800,
    preview=preview,
    labels=names.order,
    as_of=as_of,
    inverse=inverse,
    reconcile=changes.done("order_hold"),
)
def hold_order(params, ctx):
    order = changes.order(params["order_number"])
    return changes.hold(order.number, params["hold"], changes.by(ctx))
