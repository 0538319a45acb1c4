from __future__ import annotations

from marshmallow import Schema

from example_app import database, orders
from flask_litro_agent import Mode, tool

from ..._shared import parameters
from ..._shared.facts import order_line


class Params(Schema):
    limit = parameters.limit(5)


@tool(
    description="The orders of the customer who is asking, newest first. Nobody else's can be seen.",
    permission="orders:own",
    mode=Mode.READ,
    params=Params,
)
def my_orders(params, ctx):
    own = orders.of_customer(database.connection(), ctx.actor.data["customer_id"], params["limit"])
    return {"customer": ctx.actor.name, "orders": [order_line(order) for order in own]}
