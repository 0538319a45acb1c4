from __future__ import annotations

from marshmallow import Schema

from example_app import catalogue, database, stock
from flask_litro_agent import Mode, tool

from ..._shared import parameters
from ..._shared.facts import unknown_product


class Params(Schema):
    product = parameters.product()


@tool(
    description="The stock of one product in every warehouse and store, with the reorder levels.",
    permission="shop:read",
    mode=Mode.READ,
    params=Params,
)
def stock_levels(params, ctx):
    held = database.connection()
    product = catalogue.match(held, params["product"])
    if product is None:
        return unknown_product(params["product"], catalogue.similar(held, params["product"]))
    levels = stock.levels_of(held, product.sku)
    places = [
        {
            "city": level.city,
            "kind": level.kind,
            "quantity": level.quantity,
            "reorder_level": level.reorder_level,
        }
        for level in levels
    ]
    return {
        "found": True,
        "product": product.label,
        "places": places,
        "total": sum(level.quantity for level in levels),
    }
