from __future__ import annotations

from datetime import date

from marshmallow import Schema, fields, validate

from example_app import database, periods
from example_app.assistant import margins
from example_app.money import euros
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    period = parameters.period("last_90_days")
    category = parameters.category()
    sort = fields.String(
        load_default="lowest",
        validate=validate.OneOf(margins.SORTS),
        metadata={"description": "'lowest' margin first, 'highest' first, or 'earned': most money first"},
    )
    limit = parameters.limit(10)


@tool(
    description="What we earn on each product sold: net turnover without VAT, less today's purchase price.",
    permission="reports:read",
    mode=Mode.READ,
    params=Params,
)
def product_margins(params, ctx):
    period = periods.named(params["period"], date.today())
    found = margins.by_product(
        database.connection(), period, category=params.get("category"), sort=params["sort"]
    )
    return {
        "period": period.name,
        "total": len(found),
        "whole": _line(margins.whole(found)),
        "products": [
            {"product": margin.product, "sku": margin.sku, **_line(margin)}
            for margin in found[: params["limit"]]
        ],
    }


def _line(margin):
    return {
        "pieces": margin.pieces,
        "net_turnover": euros(margin.net_cents),
        "purchase_cost": euros(margin.cost_cents),
        "earned": euros(margin.earned_cents),
        "margin_percent": margin.percent,
    }
