from __future__ import annotations

from marshmallow import Schema

from example_app import database
from example_app.assistant import loyalty
from example_app.assistant.shares import percent
from example_app.money import euros
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    country = parameters.country()
    limit = parameters.limit(10)


@tool(
    description="The most valuable customers since the first day: what they paid with shipping, what went back, and"
    " what stays for us without VAT and purchase prices; with their share of all customers' value.",
    permission="reports:read",
    mode=Mode.READ,
    params=Params,
)
def top_customers(params, ctx):
    found = loyalty.worth(database.connection(), params.get("country"))
    shown = found[: params["limit"]]
    whole = sum(each.value_cents for each in found)
    return {
        "country": params.get("country"),
        "total": len(found),
        "value": euros(whole),
        "share_percent": percent(sum(each.value_cents for each in shown), whole),
        "customers": [_line(each) for each in shown],
    }


def _line(each):
    return {
        "customer_id": each.customer_id,
        "name": each.name,
        "city": each.city,
        "country": each.country,
        "orders": each.orders,
        "paid": euros(each.paid_cents),
        "refunded": euros(each.refund_cents),
        "value": euros(each.value_cents),
        "margin": euros(each.margin_cents),
        "first_order_on": each.first_order_on,
        "last_order_on": each.last_order_on,
    }
