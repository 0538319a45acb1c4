from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import components, database, fulfilment, orders, refunds, returns
from example_app.money import euros
from flask_litro_agent import Mode, tool, ui

from ..._shared import parameters
from ..._shared.facts import order_facts


class Params(Schema):
    order_number = parameters.order_number()


@tool(
    description="One order with its customer, its lines, its value and its parcel, what was refunded and what"
    " is kept of its money, what comes back of it, whether it is held back, and where it goes.",
    permission="orders:read",
    mode=Mode.READ,
    params=Params,
)
def order_details(params, ctx):
    held = database.connection()
    order = orders.by_number(held, params["order_number"])
    if order is None:
        return {"found": False, "order_number": params["order_number"]}
    data = {
        "found": True,
        "customer_id": order.customer_id,
        **order_facts(order),
        "refunded": euros(refunds.given(held, order.number)),
        "kept": euros(refunds.kept(held, order.number)),
        "returns": [_case(case) for case in returns.of_order(held, order.number)],
        "on_hold": fulfilment.is_held(held, order.number),
        "goes_to": fulfilment.address_of(held, order.number),
    }
    return ui("order-summary", data=data, **components.order_summary(order, date.today()))


def _case(case):
    return {
        "sku": case.sku,
        "product": case.product,
        "quantity": case.quantity,
        "reason": case.reason,
        "state": case.state,
        "opened_on": case.opened_on,
    }
