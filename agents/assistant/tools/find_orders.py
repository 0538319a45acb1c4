from __future__ import annotations

from datetime import date

from marshmallow import Schema, fields, validate

from example_app import database, orders, periods
from flask_litro_agent import Mode, tool

from ..._shared import parameters
from ..._shared.facts import order_line


class Params(Schema):
    status = fields.List(
        fields.String(validate=validate.OneOf(orders.STATUSES)),
        load_default=list,
        metadata={"description": "Only these; 'paid' and 'packed' orders have not left the house"},
    )
    customer = fields.String(
        validate=validate.Length(1, 80), metadata={"description": "Words of the customer's name"}
    )
    city = fields.String(validate=validate.Length(1, 80), metadata={"description": "The customer's city"})
    period = fields.String(
        validate=validate.OneOf(periods.NAMES), metadata={"description": "Placed in these days"}
    )
    min_total = fields.Integer(
        strict=True,
        validate=validate.Range(0, 100_000),
        metadata={"description": "Worth at least so many euros"},
    )
    limit = parameters.limit(8)


@tool(
    description="Find orders by status, customer, city, days or value, newest first.",
    permission="orders:read",
    mode=Mode.READ,
    params=Params,
)
def find_orders(params, ctx):
    days = periods.named(params["period"], date.today()) if "period" in params else None
    found, total = orders.find(
        database.connection(),
        statuses=params["status"],
        customer=params.get("customer"),
        city=params.get("city"),
        since=days.since if days else None,
        until=days.until if days else None,
        min_cents=100 * params.get("min_total", 0),
        limit=params["limit"],
    )
    return {"total": total, "orders": [order_line(order) for order in found]}
