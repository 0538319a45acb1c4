from __future__ import annotations

from marshmallow import Schema

from example_app import database, stock
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    city = parameters.place()
    limit = parameters.limit(12)


@tool(
    description="What is at or below its reorder level, place by place, with how many to order.",
    permission="stock:read",
    mode=Mode.READ,
    params=Params,
)
def low_stock(params, ctx):
    held = database.connection()
    cities = [params["city"]] if "city" in params else stock.CITIES
    found = []
    for step, city in enumerate(cities, 1):
        if ctx.stopped:
            return None
        levels = stock.low(held, city)
        yield {"done": step, "of": len(cities), "step": city, "low": len(levels)}
        found += levels
    emptiest = sorted(found, key=lambda level: (level.quantity, level.city, level.sku))
    return {"total": len(found), "levels": [_line(level) for level in emptiest[: params["limit"]]]}


def _line(level):
    return {
        "product": level.product,
        "sku": level.sku,
        "city": level.city,
        "quantity": level.quantity,
        "reorder_level": level.reorder_level,
        "order": level.missing,
    }
