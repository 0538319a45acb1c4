"""Two tools that both agents have: looking along the shelves, and at one article."""

from __future__ import annotations

from marshmallow import Schema, fields, validate

from example_app import catalogue, components, database
from example_app.catalogue import Wish
from flask_litro_agent import PUBLIC, Mode, ToolKit, ui

from .facts import product_facts, product_line, unknown_product

__all__ = ["shelves"]

shelves = ToolKit()


class FindParams(Schema):
    query = fields.String(
        validate=validate.Length(1, 80),
        metadata={"description": "Words that must occur in the name or description, e.g. 'rain' or 'Fjell'"},
    )
    category = fields.String(
        validate=validate.OneOf(catalogue.CATEGORIES), metadata={"description": "Only this category"}
    )
    colour = fields.String(
        validate=validate.OneOf(catalogue.COLOURS), metadata={"description": "Only this colour"}
    )
    min_price = fields.Integer(
        strict=True, validate=validate.Range(0, 10_000), metadata={"description": "Lowest price in euros"}
    )
    max_price = fields.Integer(
        strict=True, validate=validate.Range(1, 10_000), metadata={"description": "Highest price in euros"}
    )
    max_weight_g = fields.Integer(
        strict=True, validate=validate.Range(1, 20_000), metadata={"description": "Highest weight in grams"}
    )
    persons = fields.Integer(
        strict=True,
        validate=validate.Range(1, 8),
        metadata={"description": "Tents for at least so many persons"},
    )
    comfort_c = fields.Integer(
        strict=True,
        validate=validate.Range(-40, 30),
        metadata={"description": "Sleeping bags that are comfortable at this temperature in °C"},
    )
    waterproof = fields.Boolean(metadata={"description": "Only what is waterproof, or only what is not"})
    in_stock = fields.Boolean(load_default=False, metadata={"description": "Leave out what is sold out"})
    sort = fields.String(
        load_default="price",
        validate=validate.OneOf(catalogue.SORTS),
        metadata={
            "description": "'price' cheapest first, '-price' dearest, 'weight' lightest, 'rating' best"
        },
    )
    limit = fields.Integer(
        strict=True,
        load_default=6,
        validate=validate.Range(1, 20),
        metadata={"description": "At most so many products"},
    )


@shelves.tool(
    description="Find products by words, category, colour, price in euros, weight, tent size or sleeping bag"
    " comfort. Use it whenever somebody looks for something; never name a product that it did not return.",
    permission=PUBLIC,
    mode=Mode.READ,
    params=FindParams,
)
def find_products(params, ctx):
    found = catalogue.find(database.connection(), _wish(params))
    shown = found[: params["limit"]]
    data = {"total": len(found), "products": [product_line(product) for product in shown]}
    if not shown:
        return data
    cards = [components.product_card(product) for product in shown]
    return ui("product-list", data=data, products=cards, label="What I found")


class DetailsParams(Schema):
    product = fields.String(
        required=True,
        validate=validate.Length(1, 80),
        metadata={"description": "Name or article number, e.g. 'Fjell 2 orange' or 'TNT-FJ2-ORG'"},
    )


@shelves.tool(
    description="Everything about one product: price, weight, size, colours, stock and rating.",
    permission=PUBLIC,
    mode=Mode.READ,
    params=DetailsParams,
)
def product_details(params, ctx):
    held = database.connection()
    product = catalogue.match(held, params["product"])
    if product is None:
        return unknown_product(params["product"], catalogue.similar(held, params["product"]))
    others = [other.colour for other in catalogue.siblings(held, product)]
    data = {"found": True, **product_facts(product), "other_colours": others}
    return ui("product-card", data=data, **components.product_card(product))


def _wish(params):
    return Wish(
        text=params.get("query", ""),
        category=params.get("category"),
        colour=params.get("colour"),
        min_cents=_cents(params.get("min_price")),
        max_cents=_cents(params.get("max_price")),
        max_weight_g=params.get("max_weight_g"),
        persons=params.get("persons"),
        comfort_c=params.get("comfort_c"),
        waterproof=params.get("waterproof"),
        available=params["in_stock"],
        sort=params["sort"],
    )


def _cents(whole_euros):
    return None if whole_euros is None else 100 * whole_euros
