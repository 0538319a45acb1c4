from __future__ import annotations

from marshmallow import Schema, fields, validate

from example_app import customers, database
from example_app.money import euros
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    name = fields.String(
        validate=validate.Length(1, 80), metadata={"description": "Words of the name or e-mail address"}
    )
    city = fields.String(validate=validate.Length(1, 80), metadata={"description": "City or country"})
    limit = parameters.limit(8)


@tool(
    description="Find customers by name, e-mail address, city or country; those who spent most come first.",
    permission="customers:read",
    mode=Mode.READ,
    params=Params,
)
def find_customers(params, ctx):
    found = customers.find(
        database.connection(), params.get("name", ""), city=params.get("city"), limit=params["limit"]
    )
    return {"customers": [_line(customer) for customer in found]}


def _line(customer):
    return {
        "customer_id": customer.id,
        "name": customer.name,
        "email": customer.email,
        "city": customer.city,
        "country": customer.country,
        "orders": customer.orders,
        "spent": euros(customer.spent_cents),
    }
