from __future__ import annotations

from marshmallow import Schema, fields, validate

from example_app import catalogue, components, database
from flask_litro_agent import PUBLIC, Mode, tool, ui

from ..._shared.facts import product_facts, unknown_product


class Params(Schema):
    products = fields.List(
        fields.String(validate=validate.Length(1, 80)),
        required=True,
        validate=validate.Length(2, 4),
        metadata={"description": "Two to four names or article numbers"},
    )


@tool(
    description="Set two to four products side by side: price, weight, size, waterproofness, rating and stock.",
    permission=PUBLIC,
    mode=Mode.READ,
    params=Params,
)
def compare_products(params, ctx):
    held = database.connection()
    found, unknown = [], []
    for text in params["products"]:
        product = catalogue.match(held, text)
        if product is None:
            unknown.append(unknown_product(text, catalogue.similar(held, text)))
        else:
            found.append(product)
    answer = {"products": [product_facts(product) for product in found], "unknown": unknown}
    if len(found) >= 2:
        answer["cheapest"] = min(found, key=lambda product: product.price_cents).label
        answer["lightest"] = min(found, key=lambda product: product.weight_g).label
    if not found:
        return answer
    cards = [components.product_card(product) for product in found]
    return ui("product-list", data=answer, products=cards, label="Side by side")
