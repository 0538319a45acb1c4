from __future__ import annotations

from marshmallow import Schema

from example_app import catalogue, database, stock
from example_app.assistant import movements
from flask_litro_agent import Mode, tool

from ..._shared import parameters
from ..._shared.facts import unknown_product


class Params(Schema):
    product = parameters.product()
    city = parameters.place()
    limit = parameters.limit(12)


@tool(
    description="What happened to the stock of one product: deliveries, counts, damages, transfers and returns, with"
    " the stock before and after, who asked and approved, and what was sold until the next.",
    permission="stock:read",
    mode=Mode.READ,
    params=Params,
)
def stock_history(params, ctx):
    held = database.connection()
    product = catalogue.match(held, params["product"])
    if product is None:
        return unknown_product(params["product"], catalogue.similar(held, params["product"]))
    moved = movements.of_product(held, product.sku, params.get("city"))
    levels = stock.levels_of(held, product.sku, params.get("city"))
    return {
        "found": True,
        "product": product.label,
        "city": params.get("city"),
        "in_stock": sum(level.quantity for level in levels),
        "total": len(moved),
        "change_by_kind": movements.by_kind(moved),
        "movements": [_line(movement) for movement in moved[: params["limit"]]],
    }


def _line(movement):
    return {
        "on": movement.made_on,
        "city": movement.city,
        "kind": movement.kind,
        "reason": movement.reason,
        "before": movement.before,
        "after": movement.after,
        "sold_until_next": movement.sold_until,
        "asked_by": movement.asked_by,
        "approved_by": movement.approved_by,
    }
