from __future__ import annotations

from marshmallow import Schema, fields, validate

from example_app import database, texts
from flask_litro_agent import Change, Mode, tool

from ..._shared import changes, names, parameters


class Params(Schema):
    sku = parameters.sku()
    text = fields.String(
        required=True,
        validate=validate.Length(10, 600),
        metadata={"description": "The whole new description, as customers read it: plain text"},
    )


def preview(params, ctx):
    product = changes.product(params["sku"])
    if product.description == params["text"]:
        raise changes.Impossible(f"that is what is written about {product.label} already")
    return [Change(f"Text of {product.label}", product.description, params["text"])]


def as_of(params, ctx):
    return changes.product(params["sku"]).description


def inverse(params, result):
    return "change_product_text", {"sku": params["sku"], "text": result["before"]}


@tool(
    description="Propose another description for one product, in one colour.",
    permission="texts:edit",
    mode=Mode.EXECUTE,
    params=Params,
    ttl=3600,
    preview=preview,
    labels=names.product,
    as_of=as_of,
    inverse=inverse,
    reconcile=changes.done("text_change"),
)
def change_product_text(params, ctx):
    product = changes.product(params["sku"])
    changed = texts.describe(database.connection(), product.sku, params["text"], changes.by(ctx))
    return {"product": product.label, "before": changed["before"], "after": changed["after"]}
