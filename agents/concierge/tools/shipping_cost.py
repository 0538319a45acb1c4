from __future__ import annotations

from marshmallow import Schema, fields, validate

from example_app import database, policies
from example_app.money import euros
from flask_litro_agent import PUBLIC, Mode, tool


class Params(Schema):
    country = fields.String(
        required=True,
        validate=validate.OneOf(policies.COUNTRIES),
        metadata={"description": "The country that the parcel goes to"},
    )
    goods_value = fields.Integer(
        strict=True,
        validate=validate.Range(0, 100_000),
        metadata={"description": "Value of the goods in euros; above a limit standard shipping is free"},
    )


@tool(
    description="What a parcel costs and how many days it takes, standard and express.",
    permission=PUBLIC,
    mode=Mode.READ,
    params=Params,
)
def shipping_cost(params, ctx):
    rate = policies.rate_to(database.connection(), params["country"])
    goods = params.get("goods_value")
    return {
        "country": rate.country,
        "standard": euros(rate.standard_for(None if goods is None else 100 * goods)),
        "standard_days": rate.standard_days,
        "express": euros(rate.express_cents),
        "express_days": rate.express_days,
        "free_from": euros(rate.free_from_cents),
    }
