from __future__ import annotations

import textwrap

from marshmallow import Schema, fields, validate

from example_app import database, prices
from example_app.money import euros
from flask_litro_agent import Change, Mode, tool

from ..._shared import changes, names, parameters

_NAMED = (
    100  # a longer list shows its names beside the numbers alone, and short: each part has room for 16 KiB
)
_SHORT = 40


class Price(Schema):
    sku = parameters.sku()
    price_cents = parameters.cents("The new price")


class Params(Schema):
    prices = fields.List(
        fields.Nested(Price),
        required=True,
        validate=validate.Length(1, 200),
        metadata={"description": "Every product that gets a new price, each once"},
    )


def preview(params, ctx):
    rows = [(changes.product(row["sku"]), row["price_cents"]) for row in params["prices"]]
    _check(rows)
    lines = [
        Change(
            product.label if len(rows) <= _NAMED else product.sku, euros(product.price_cents), euros(cents)
        )
        for product, cents in rows
    ]
    return [_steepest(rows), *lines] if len(rows) > 1 else lines


def labels(params, ctx):
    named = names.in_list([row["sku"] for row in params["prices"]], "/prices/{}/sku")
    if len(named) <= _NAMED:
        return named
    return {place: textwrap.shorten(name, _SHORT, placeholder="…") for place, name in named.items()}


def as_of(params, ctx):
    return [changes.product(row["sku"]).price_cents for row in params["prices"]]


def inverse(params, result):
    return "change_prices", {"prices": result["before"]}


def _check(rows):
    seen = set()
    for product, cents in rows:
        if product.sku in seen:
            raise changes.Impossible(f"{product.sku} stands in the list twice")
        if product.price_cents == cents:
            raise changes.Impossible(f"{product.label} ({product.sku}) costs {euros(cents)} already")
        seen.add(product.sku)


def _steepest(rows):
    """Return the line that shows a slip of the keyboard first."""
    product, cents = max(rows, key=lambda row: abs(row[1] - row[0].price_cents) / row[0].price_cents)
    step = 100 * (cents - product.price_cents) / product.price_cents
    label = f"Steepest of {len(rows)}: {product.label}"
    return Change(label, None, f"{step:+.0f} %")


@tool(
    description="Propose new prices for several products at once, up to 200: all of them change together or none.",
    permission="prices:edit",
    mode=Mode.PROPOSE,
    params=Params,
    ttl=1800,
    preview=preview,
    labels=labels,
    as_of=as_of,
    inverse=inverse,
    reconcile=changes.done("price_list"),
)
def change_prices(params, ctx):
    wanted = {row["sku"]: row["price_cents"] for row in params["prices"]}
    before = prices.change_all(database.connection(), wanted, changes.by(ctx))
    return {
        "changed": len(wanted),
        "before": [{"sku": sku, "price_cents": cents} for sku, cents in before.items()],
    }
