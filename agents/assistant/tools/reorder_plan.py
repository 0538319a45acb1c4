from __future__ import annotations

from datetime import date

from marshmallow import Schema, fields, validate

from example_app import database
from example_app.assistant import reorders
from example_app.money import euros
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    supplier = fields.String(
        validate=validate.Length(1, 80), metadata={"description": "Only what this supplier delivers"}
    )
    cover_days = parameters.number_of("How long the delivery shall last once it is here", 30, 7, 180)
    limit = parameters.limit(15)


@tool(
    description="What to order from which supplier and how much it costs: the pace of the last 90 days times the"
    " supplier's lead time and the days to cover, plus the reserve, less the stock and what is on the way, in whole"
    " boxes.",
    permission="stock:read",
    mode=Mode.READ,
    params=Params,
)
def reorder_plan(params, ctx):
    held = database.connection()
    known = reorders.suppliers(held)
    supplier = next(
        (name for name in known if params.get("supplier", "").casefold() in name.casefold()), None
    )
    if supplier is None:
        return {"found": False, "asked": params["supplier"], "suppliers": known}
    chosen = supplier if "supplier" in params else None
    found = reorders.plan(held, date.today(), cover_days=params["cover_days"], supplier=chosen)
    return {
        "found": True,
        "cover_days": params["cover_days"],
        "total": len(found),
        "cost": euros(sum(each.order_cents for each in found)),
        "suppliers": _by_supplier(found),
        "products": [_line(each) for each in found[: params["limit"]]],
    }


def _by_supplier(found):
    names = sorted({each.supplier for each in found})
    parts = {name: [each for each in found if each.supplier == name] for name in names}
    return [
        {
            "supplier": name,
            "products": len(part),
            "pieces": sum(each.pieces for each in part),
            "cost": euros(sum(each.order_cents for each in part)),
        }
        for name, part in parts.items()
    ]


def _line(each):
    return {
        "product": each.product,
        "sku": each.sku,
        "supplier": each.supplier,
        "stock": each.stock,
        "on_the_way": each.on_the_way,
        "reserve": each.reserve,
        "sold_in_90_days": each.sold,
        "days_left": each.days_left,
        "lead_days": each.lead_days,
        "order": each.pieces,
        "box": each.box,
        "cost": euros(each.order_cents),
    }
