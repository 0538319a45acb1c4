from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import database, periods
from example_app.assistant import returns
from example_app.money import euros
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    period = parameters.period("last_12_months")
    category = parameters.category()
    least_sold = parameters.number_of("Leave out products of which fewer pieces were sold", 3, 1, 1000)
    limit = parameters.limit(10)


@tool(
    description="Return rate product by product: of the pieces that were ordered in a period, how many came back, the"
    " main reason and the money given back, the highest rate first; with the rate of all.",
    permission="orders:read",
    mode=Mode.READ,
    params=Params,
)
def return_rates(params, ctx):
    period = periods.named(params["period"], date.today())
    found = returns.rates(database.connection(), period, params.get("category"))
    listed = [rate for rate in found if rate.returned and rate.sold >= params["least_sold"]]
    return {
        "period": period.name,
        "whole": _line(returns.whole(found)),
        "least_sold": params["least_sold"],
        "total": len(listed),
        "products": [
            {"product": rate.product, "sku": rate.sku, **_line(rate), "main_reason": rate.main_reason}
            for rate in listed[: params["limit"]]
        ],
    }


def _line(rate):
    return {
        "sold": rate.sold,
        "returned": rate.returned,
        "rate_percent": rate.percent,
        "refunds": euros(rate.refund_cents),
    }
