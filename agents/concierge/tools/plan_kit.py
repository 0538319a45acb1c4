from __future__ import annotations

from dataclasses import replace

from marshmallow import Schema, fields, validate

from example_app import catalogue, components, database
from example_app.catalogue import Wish
from example_app.money import euros
from flask_litro_agent import PUBLIC, Mode, tool, ui

from ..._shared.facts import product_line

_COMFORT_C = {"summer": 5, "autumn": -5, "spring": -5, "winter": -15}
_SORT = {"light": "weight", "cheap": "price"}


class Params(Schema):
    persons = fields.Integer(
        strict=True,
        load_default=1,
        validate=validate.Range(1, 4),
        metadata={"description": "How many people sleep out"},
    )
    season = fields.String(
        load_default="summer",
        validate=validate.OneOf(tuple(_COMFORT_C)),
        metadata={"description": "When they go"},
    )
    budget = fields.Integer(
        strict=True,
        validate=validate.Range(50, 20_000),
        metadata={"description": "What it may cost in all, in euros"},
    )
    prefer = fields.String(
        load_default="light",
        validate=validate.OneOf(("light", "cheap")),
        metadata={"description": "'light' for those who carry it, 'cheap' for the purse"},
    )


@tool(
    description="Put together what people need to sleep out: tent, sleeping bags, mats, stove, pots and lights that"
    " fit the season and are in stock, with the sum and the weight.",
    permission=PUBLIC,
    mode=Mode.READ,
    params=Params,
)
def plan_kit(params, ctx):
    held = database.connection()
    needs = _needs(params["persons"], params["season"])
    items = []
    for step, (what, count, wish) in enumerate(needs, 1):
        if ctx.stopped:
            return None
        yield {"done": step, "of": len(needs), "step": what}
        found = catalogue.find(held, replace(wish, available=True, sort=_SORT[params["prefer"]]))
        items += [(found[0], count)] if found else []
    basket = components.basket("What I would pack", items, offer=True)
    return ui("shop-basket", data=_kit(params, items), **basket)


def _needs(persons, season):
    warmth = Wish(category="sleeping-bags", comfort_c=_COMFORT_C[season])
    mat = "winter" if season == "winter" else "air"
    return (
        ("tent", 1, Wish(category="tents", persons=persons)),
        ("sleeping bags", persons, warmth),
        ("mats", persons, Wish(text=mat, category="sleeping-mats")),
        ("stove", 1, Wish(text="stove", category="cooking")),
        ("pots", 1, Wish(text="pot set", category="cooking")),
        ("lights", persons, Wish(text="headlamp", category="lights")),
    )


def _kit(params, items):
    total = sum(product.price_cents * count for product, count in items)
    budget = params.get("budget")
    return {
        "persons": params["persons"],
        "season": params["season"],
        "items": [{**product_line(product), "count": count} for product, count in items],
        "total": euros(total),
        "weight_g": sum(product.weight_g * count for product, count in items),
        "over_budget": None if budget is None else euros(max(0, total - 100 * budget)),
    }
