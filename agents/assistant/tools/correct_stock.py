from __future__ import annotations

from marshmallow import Schema, fields, validate

from example_app import database, stock
from flask_litro_agent import Change, Mode, tool

from ..._shared import changes, names, parameters


class Params(Schema):
    sku = parameters.sku()
    city = fields.String(
        required=True,
        validate=validate.OneOf(stock.CITIES),
        metadata={"description": "The warehouse or store that was counted"},
    )
    quantity = fields.Integer(
        strict=True,
        required=True,
        validate=validate.Range(0, 10_000),
        metadata={"description": "How many pieces lie there, as they were counted"},
    )
    reason = parameters.reason()


def preview(params, ctx):
    level = _level(params)
    return [Change(f"{level.product} in {level.city}", level.quantity, params["quantity"])]


def as_of(params, ctx):
    return _level(params).quantity


def inverse(params, result):
    return "correct_stock", {**params, "quantity": result["before"], "reason": "undone"}


def _level(params):
    product = changes.product(params["sku"])
    (level,) = stock.levels_of(database.connection(), product.sku, params["city"])
    return level


@tool(
    description="Propose to correct the stock of one product in one place after it was counted.",
    permission="stock:edit",
    mode=Mode.PROPOSE,
    params=Params,
    ttl=1800,
    preview=preview,
    labels=names.product,
    as_of=as_of,
    inverse=inverse,
    reconcile=changes.done("stock_movement"),
)
def correct_stock(params, ctx):
    level = _level(params)
    moved = stock.correct(
        database.connection(),
        level.sku,
        level.city,
        params["quantity"],
        params["reason"],
        changes.by(ctx),
    )
    return {"product": level.product, "city": level.city, "before": moved["before"], "after": moved["after"]}
