from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import database, periods
from example_app.assistant import suspicions
from example_app.money import euros
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    period = parameters.period("last_30_days")
    least = parameters.number_of("Only orders whose signs weigh at least so much", 1, 1, 10)
    limit = parameters.limit(10)


@tool(
    description="Orders that somebody should look at before they leave: failed payments, an earlier dispute, another"
    " customer's address, many orders at once, a value far above the usual. Signs, not proofs.",
    permission="orders:read",
    mode=Mode.READ,
    params=Params,
)
def fraud_signals(params, ctx):
    period = periods.named(params["period"], date.today())
    found = [
        each for each in suspicions.orders(database.connection(), period) if each.weight >= params["least"]
    ]
    return {
        "period": period.name,
        "total": len(found),
        "not_shipped_yet": sum(each.status in ("paid", "packed") for each in found),
        "value": euros(sum(each.total_cents for each in found)),
        "orders": [_line(each) for each in found[: params["limit"]]],
    }


def _line(each):
    return {
        "number": each.number,
        "customer": each.customer,
        "placed_on": each.placed_on,
        "status": each.status,
        "total": euros(each.total_cents),
        "weight": each.weight,
        "signs": list(each.signs),
    }
