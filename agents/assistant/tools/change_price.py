from __future__ import annotations

from marshmallow import Schema

from example_app import database, prices
from example_app.money import euros
from flask_litro_agent import Change, Mode, tool

from ..._shared import changes, names, parameters


class Params(Schema):
    sku = parameters.sku()
    price_cents = parameters.cents("The new price")


def preview(params, ctx):
    product = changes.product(params["sku"])
    return [Change(f"Price of {product.label}", euros(product.price_cents), euros(params["price_cents"]))]


def as_of(params, ctx):
    return changes.product(params["sku"]).price_cents


def inverse(params, result):
    return "change_price", {"sku": params["sku"], "price_cents": result["before_cents"]}


@tool(
    description="Propose a new price for one product, in one colour.",
    permission="prices:edit",
    mode=Mode.PROPOSE,
    params=Params,
    ttl=900,
    preview=preview,
    labels=names.product,
    as_of=as_of,
    inverse=inverse,
    reconcile=changes.done("price_change"),
)
def change_price(params, ctx):
    product = changes.product(params["sku"])
    changed = prices.change(database.connection(), product.sku, params["price_cents"], changes.by(ctx))
    return {
        "product": product.label,
        "before": euros(changed["before_cents"]),
        "before_cents": changed["before_cents"],
        "after": euros(changed["after_cents"]),
    }
