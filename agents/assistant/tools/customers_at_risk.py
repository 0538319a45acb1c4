from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import database
from example_app.assistant import loyalty
from example_app.money import euros
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    times = parameters.number_of(
        "Silent for more than so many of their usual pauses between two orders", 2, 1, 10
    )
    limit = parameters.limit(10)


@tool(
    description="Regular customers (three orders or more) who have gone silent: much longer without an order than"
    " they usually wait. Those who spent most come first.",
    permission="customers:read",
    mode=Mode.READ,
    params=Params,
)
def customers_at_risk(params, ctx):
    found = loyalty.at_risk(database.connection(), date.today(), params["times"])
    return {
        "times": params["times"],
        "total": len(found),
        "spent": euros(sum(each.spent_cents for each in found)),
        "customers": [_line(each) for each in found[: params["limit"]]],
    }


def _line(each):
    return {
        "customer_id": each.customer_id,
        "name": each.name,
        "email": each.email,
        "orders": each.orders,
        "spent": euros(each.spent_cents),
        "last_order_on": each.last_order_on,
        "silent_days": each.silent_days,
        "usual_pause_days": each.usual_days,
        "times": round(each.times, 1),
    }
