from __future__ import annotations

from marshmallow import Schema

from flask_litro_agent import Mode, tool

from ..._shared import changes, names, parameters


class Params(Schema):
    order_number = parameters.order_number()
    address = parameters.address()


def preview(params, ctx):
    return changes.address_preview(_own(params, ctx).number, params["address"])


def as_of(params, ctx):
    return changes.address_version(_own(params, ctx).number)


def inverse(params, result):
    return "change_my_address", {**params, "address": result["before"]}


def _own(params, ctx):
    return changes.order(params["order_number"], of_customer=ctx.actor.data["customer_id"] or 0)


@tool(
    description="Propose to send an order of the customer who is asking elsewhere, before it has left.",
    permission="orders:edit-own",
    mode=Mode.PROPOSE,
    params=Params,
    ttl=1800,
    preview=preview,
    labels=names.order,
    as_of=as_of,
    inverse=inverse,
    reconcile=changes.done("address_change"),
)
def change_my_address(params, ctx):
    order = _own(params, ctx)
    return changes.change_address(order.number, params["address"], changes.by(ctx))
