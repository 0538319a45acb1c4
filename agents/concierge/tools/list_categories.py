from __future__ import annotations

from marshmallow import Schema

from example_app import catalogue, database
from example_app.money import euros
from flask_litro_agent import PUBLIC, Mode, tool


class Params(Schema):
    pass


@tool(
    description="What the shop sells: every category with its number of products and its range of prices.",
    permission=PUBLIC,
    mode=Mode.READ,
    params=Params,
)
def list_categories(params, ctx):
    return {
        "categories": [
            {"name": name, "products": count, "from": euros(low), "to": euros(high)}
            for name, count, low, high in catalogue.categories(database.connection())
        ]
    }
