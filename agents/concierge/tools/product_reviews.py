from __future__ import annotations

from marshmallow import Schema

from example_app import catalogue, database
from flask_litro_agent import PUBLIC, Mode, tool

from ..._shared import parameters
from ..._shared.facts import unknown_product


class Params(Schema):
    product = parameters.product()
    limit = parameters.limit(3)


@tool(
    description="What buyers wrote about a product, newest first, with the mean of their stars.",
    permission=PUBLIC,
    mode=Mode.READ,
    params=Params,
)
def product_reviews(params, ctx):
    held = database.connection()
    product = catalogue.match(held, params["product"])
    if product is None:
        return unknown_product(params["product"], catalogue.similar(held, params["product"]))
    reviews = [
        {
            "author": review.author,
            "stars": review.stars,
            "text": review.text,
            "written_on": review.written_on,
            "our_reply": review.reply,
        }
        for review in catalogue.reviews_of(held, product.sku, params["limit"])
    ]
    return {"found": True, "product": product.label, "rating": product.rating, "reviews": reviews}
