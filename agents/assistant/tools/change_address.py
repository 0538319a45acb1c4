from __future__ import annotations

from marshmallow import Schema

from flask_litro_agent import Mode, tool

from ..._shared import changes, names, parameters


class Params(Schema):
    order_number = parameters.order_number()
    address = parameters.address()


def preview(params, ctx):
    return changes.address_preview(changes.order(params["order_number"]).number, params["address"])


def as_of(params, ctx):
    return changes.address_version(changes.order(params["order_number"]).number)


def inverse(params, result):
    return "change_address", {**params, "address": result["before"]}


@tool(
    description="Propose to send an order that has not left yet to another address.",
    permission="orders:edit",
    mode=Mode.PROPOSE,
    params=Params,
    ttl=1800,
    preview=preview,
    labels=names.order,
    as_of=as_of,
    inverse=inverse,
    reconcile=changes.done("address_change"),
)
def change_address(params, ctx):
    order = changes.order(params["order_number"])
    return changes.change_address(order.number, params["address"], changes.by(ctx))
