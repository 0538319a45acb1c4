from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import components, database, fulfilment, orders
from flask_litro_agent import Mode, tool, ui

from ..._shared import parameters
from ..._shared.facts import order_facts


class Params(Schema):
    order_number = parameters.order_number()


@tool(
    description="One order of the customer who is asking: what is in it, and where its parcel is.",
    permission="orders:own",
    mode=Mode.READ,
    params=Params,
)
def track_order(params, ctx):
    held = database.connection()
    order = orders.by_number(held, params["order_number"])
    if order is None or order.customer_id != ctx.actor.data["customer_id"]:
        return {"found": False, "order_number": params["order_number"]}
    data = {
        "found": True,
        **order_facts(order),
        "on_hold": fulfilment.is_held(held, order.number),
        "goes_to": fulfilment.address_of(held, order.number),
    }
    return ui("order-summary", data=data, **components.order_summary(order, date.today()))
