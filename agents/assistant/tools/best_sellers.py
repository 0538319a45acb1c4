from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import database, periods, reports
from example_app.money import euros
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    period = parameters.period("last_30_days")
    category = parameters.category()
    limit = parameters.limit(5)


@tool(
    description="The products of which most pieces were sold in a period.",
    permission="reports:read",
    mode=Mode.READ,
    params=Params,
)
def best_sellers(params, ctx):
    period = periods.named(params["period"], date.today())
    found = reports.best_sellers(
        database.connection(), period, category=params.get("category"), limit=params["limit"]
    )
    ranked = [
        {"product": row.product, "sku": row.sku, "pieces": row.pieces, "turnover": euros(row.goods_cents)}
        for row in found
    ]
    return {"period": period.name, "products": ranked}
