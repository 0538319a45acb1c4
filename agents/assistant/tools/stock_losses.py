from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import database, periods, stock
from example_app.assistant import movements
from example_app.money import euros
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    period = parameters.period("last_90_days")
    city = parameters.place()
    limit = parameters.limit(10)


@tool(
    description="Shrinkage: which goods went missing at counts or were damaged, in which warehouse or store, and what"
    " they cost us; what later counts found again is taken off.",
    permission="stock:read",
    mode=Mode.READ,
    params=Params,
)
def stock_losses(params, ctx):
    period = periods.named(params["period"], date.today())
    found = movements.losses(database.connection(), period, params.get("city"))
    return {
        "period": period.name,
        "total": len(found),
        "pieces": sum(loss.pieces for loss in found),
        "value": euros(sum(loss.lost_cents for loss in found)),
        "places": _by_place(found),
        "losses": [_line(loss) for loss in found[: params["limit"]]],
    }


def _by_place(found):
    parts = {city: [loss for loss in found if loss.city == city] for city in stock.CITIES}
    places = [
        {
            "city": city,
            "pieces": sum(loss.pieces for loss in part),
            "value": euros(sum(loss.lost_cents for loss in part)),
        }
        for city, part in parts.items()
    ]
    return sorted((place for place in places if place["pieces"]), key=lambda place: -place["pieces"])


def _line(loss):
    return {
        "product": loss.product,
        "sku": loss.sku,
        "city": loss.city,
        "pieces": loss.pieces,
        "missing": loss.missing,
        "damaged": loss.damaged,
        "found_again": loss.found,
        "value": euros(loss.lost_cents),
    }
