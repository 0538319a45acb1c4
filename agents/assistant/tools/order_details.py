from __future__ import annotations

from marshmallow import Schema

from example_app import database, orders
from flask_litro_agent import Mode, tool

from ..._shared import parameters
from ..._shared.facts import order_facts


class Params(Schema):
    order_number = parameters.order_number()


@tool(
    description="One order with its customer, its lines, its value and its parcel.",
    permission="orders:read",
    mode=Mode.READ,
    params=Params,
)
def order_details(params, ctx):
    order = orders.by_number(database.connection(), params["order_number"])
    if order is None:
        return {"found": False, "order_number": params["order_number"]}
    return {"found": True, "customer_id": order.customer_id, **order_facts(order)}
