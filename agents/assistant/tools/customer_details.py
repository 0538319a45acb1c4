from __future__ import annotations

from marshmallow import Schema, fields, validate

from example_app import customers, database, goodwill, orders
from example_app.money import euros
from flask_litro_agent import Mode, tool

from ..._shared.facts import order_facts


class Params(Schema):
    customer_id = fields.Integer(
        strict=True,
        required=True,
        validate=validate.Range(1, 10_000_000),
        metadata={"description": "The number that find_customers returns"},
    )


@tool(
    description="One customer with everything that he bought, newest first, and the credit that he has with us.",
    permission="customers:read",
    mode=Mode.READ,
    params=Params,
)
def customer_details(params, ctx):
    held = database.connection()
    customer = customers.by_id(held, params["customer_id"])
    if customer is None:
        return {"found": False, "customer_id": params["customer_id"]}
    return {
        "found": True,
        "name": customer.name,
        "email": customer.email,
        "city": customer.city,
        "country": customer.country,
        "member_since": customer.member_since,
        "spent": euros(customer.spent_cents),
        "credit": euros(goodwill.balance(held, customer.id)),
        "credits": [_credit(credit) for credit in goodwill.of_customer(held, customer.id)],
        "orders": [order_facts(order) for order in orders.of_customer(held, customer.id, 10)],
    }


def _credit(credit):
    return {
        "credit": credit.id,
        "amount": euros(credit.amount_cents),
        "reason": credit.reason,
        "given_on": credit.given_on,
    }
