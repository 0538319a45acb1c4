from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import database
from example_app.assistant import packing
from example_app.money import euros
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    limit = parameters.limit(15)


@tool(
    description="Orders that have not left the house, the oldest first, with their age, their value and what stands in"
    " the way: a hold, a missing payment, goods that no warehouse has.",
    permission="orders:read",
    mode=Mode.READ,
    params=Params,
)
def packing_queue(params, ctx):
    found = packing.queue(database.connection(), date.today())
    return {
        "total": len(found),
        "to_pack": sum(each.status == "paid" for each in found),
        "to_hand_over": sum(each.status == "packed" for each in found),
        "stuck": sum(bool(each.obstacles) for each in found),
        "pieces": sum(each.pieces for each in found),
        "value": euros(sum(each.total_cents for each in found)),
        "oldest_days": max((each.days for each in found), default=None),
        "orders": [_line(each) for each in found[: params["limit"]]],
    }


def _line(each):
    return {
        "number": each.number,
        "customer": each.customer,
        "country": each.country,
        "placed": f"{each.placed_on} {each.placed_at}",
        "days": each.days,
        "status": each.status,
        "pieces": each.pieces,
        "total": euros(each.total_cents),
        "obstacles": list(each.obstacles),
    }
