from __future__ import annotations

from marshmallow import Schema

from example_app import catalogue, database, stock
from flask_litro_agent import PUBLIC, Mode, tool

from ..._shared import parameters
from ..._shared.facts import unknown_product


class Params(Schema):
    product = parameters.product()
    city = parameters.place()


@tool(
    description="Where a product lies and how many there are: stores (to pick up today) and warehouses (to ship).",
    permission=PUBLIC,
    mode=Mode.READ,
    params=Params,
)
def stock_for(params, ctx):
    held = database.connection()
    product = catalogue.match(held, params["product"])
    if product is None:
        return unknown_product(params["product"], catalogue.similar(held, params["product"]))
    levels = stock.levels_of(held, product.sku, params.get("city"))
    places = [{"city": level.city, "kind": level.kind, "quantity": level.quantity} for level in levels]
    return {
        "found": True,
        "product": product.label,
        "places": places,
        "total": sum(level.quantity for level in levels),
    }
