from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import database, periods, reports
from example_app.money import euros
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    period = parameters.period("last_90_days")


@tool(
    description="Returns of a period: how many, the share of the pieces sold, refunds, states, reasons, products.",
    permission="orders:read",
    mode=Mode.READ,
    params=Params,
)
def returns_overview(params, ctx):
    period = periods.named(params["period"], date.today())
    found = reports.returns(database.connection(), period)
    return {
        "period": period.name,
        "cases": found.cases,
        "rate_percent": round(100 * found.rate, 1),
        "refunds": euros(found.refund_cents),
        "states": found.states,
        "reasons": found.reasons,
        "products": dict(list(found.products.items())[:5]),
    }
