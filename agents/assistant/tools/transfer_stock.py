from __future__ import annotations

from marshmallow import Schema, fields, validate

from example_app import database, stock, transfers
from example_app.transfers import Transfer
from flask_litro_agent import Change, Mode, tool

from ..._shared import changes, names, parameters


class Params(Schema):
    sku = parameters.sku()
    quantity = fields.Integer(
        strict=True,
        required=True,
        validate=validate.Range(1, 10_000),
        metadata={"description": "How many pieces go"},
    )
    from_city = fields.String(
        required=True, validate=validate.OneOf(stock.CITIES), metadata={"description": "Where they lie now"}
    )
    to_city = fields.String(
        required=True, validate=validate.OneOf(stock.CITIES), metadata={"description": "Where they shall lie"}
    )


def preview(params, ctx):
    source, target = _levels(params)
    _check(params, source)
    return [
        Change(f"{source.product} in {source.city}", source.quantity, source.quantity - params["quantity"]),
        Change(f"{target.product} in {target.city}", target.quantity, target.quantity + params["quantity"]),
    ]


def as_of(params, ctx):
    return [level.quantity for level in _levels(params)]


def inverse(params, result):
    return "transfer_stock", {**params, "from_city": params["to_city"], "to_city": params["from_city"]}


def _levels(params):
    product = changes.product(params["sku"])
    if params["from_city"] == params["to_city"]:
        raise changes.Impossible(f"{product.label} would not leave {params['from_city']}")
    return [
        stock.levels_of(database.connection(), product.sku, params[end])[0]
        for end in ("from_city", "to_city")
    ]


def _check(params, source):
    if source.quantity < params["quantity"]:
        raise changes.Impossible(
            f"only {source.quantity} of {source.product} lie in {source.city}, not {params['quantity']}"
        )


@tool(
    description="Propose to bring pieces of one product from one of our warehouses or stores to another.",
    permission="stock:edit",
    mode=Mode.PROPOSE,
    params=Params,
    ttl=1800,
    preview=preview,
    labels=names.product,
    as_of=as_of,
    inverse=inverse,
    reconcile=changes.done("stock_transfer"),
)
def transfer_stock(params, ctx):
    source, _ = _levels(params)
    transfer = Transfer(
        sku=source.sku, quantity=params["quantity"], source=params["from_city"], target=params["to_city"]
    )
    if not transfers.carry_out(database.connection(), transfer, changes.by(ctx)):
        raise changes.Impossible(f"so many of {source.product} no longer lie in {source.city}")
    left, arrived = _levels(params)
    return {
        "product": source.product,
        "moved": params["quantity"],
        "from": {"city": left.city, "quantity": left.quantity},
        "to": {"city": arrived.city, "quantity": arrived.quantity},
    }
