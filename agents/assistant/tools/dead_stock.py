from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import database
from example_app.assistant import idle
from example_app.money import euros
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    days = parameters.number_of("Not sold for so many days", 90, 14, 720)
    category = parameters.category()
    city = parameters.place()
    limit = parameters.limit(10)


@tool(
    description="Goods that lie in stock and that nobody has bought for a number of days, with the money tied up in"
    " them at purchase prices, the most first.",
    permission="stock:read",
    mode=Mode.READ,
    params=Params,
)
def dead_stock(params, ctx):
    today = date.today()
    found = idle.unsold(
        database.connection(), today, params["days"], category=params.get("category"), city=params.get("city")
    )
    return {
        "days": params["days"],
        "total": len(found),
        "pieces": sum(each.pieces for each in found),
        "tied_up": euros(sum(each.tied_up_cents for each in found)),
        "products": [_line(each, today) for each in found[: params["limit"]]],
    }


def _line(each, today):
    last = each.last_sold_on
    return {
        "product": each.product,
        "sku": each.sku,
        "pieces": each.pieces,
        "tied_up": euros(each.tied_up_cents),
        "last_sold_on": last,
        "days_unsold": (today - date.fromisoformat(last)).days if last else None,
    }
