from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import catalogue, database, periods
from example_app.assistant import baskets
from flask_litro_agent import Mode, tool

from ..._shared import parameters
from ..._shared.facts import unknown_product


class Params(Schema):
    product = parameters.product(required=False)
    period = parameters.period("last_12_months")
    least = parameters.number_of("Only pairs that so many orders have", 2, 1, 50)
    limit = parameters.limit(10)


@tool(
    description="Which products are bought together in one order, all pairs or those with one product: how often,"
    " the share of buyers who take the other as well, and how much likelier than by chance (lift above 1).",
    permission="reports:read",
    mode=Mode.READ,
    params=Params,
)
def bought_together(params, ctx):
    held = database.connection()
    period = periods.named(params["period"], date.today())
    product = catalogue.match(held, params["product"]) if "product" in params else None
    if product is None and "product" in params:
        return unknown_product(params["product"], catalogue.similar(held, params["product"]))
    found = baskets.pairs(held, period, sku=product and product.sku, least=params["least"])
    return {
        "found": True,
        "period": period.name,
        "product": product and product.label,
        "total": len(found),
        "pairs": [_line(pair) for pair in found[: params["limit"]]],
    }


def _line(pair):
    return {
        "first": pair.first,
        "second": pair.second,
        "orders": pair.together,
        "share_percent": round(100 * pair.share, 1),
        "lift": round(pair.lift, 2),
    }
