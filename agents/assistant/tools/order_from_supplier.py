from __future__ import annotations

from datetime import date

from marshmallow import Schema, fields, validate

from example_app import database, purchases, stock
from example_app.money import euros
from flask_litro_agent import Change, Mode, tool

from ..._shared import changes, names, parameters


class Line(Schema):
    sku = parameters.sku()
    quantity = fields.Integer(
        strict=True,
        required=True,
        validate=validate.Range(1, 1_000),
        metadata={"description": "How many pieces, in whole boxes"},
    )


class Params(Schema):
    city = fields.String(
        required=True,
        validate=validate.OneOf(stock.WAREHOUSES),
        metadata={"description": "The warehouse that it goes to"},
    )
    lines = fields.List(
        fields.Nested(Line),
        required=True,
        validate=validate.Length(1, 50),
        metadata={
            "description": "What is ordered: each product once, all of one supplier, as reorder_plan says"
        },
    )


def preview(params, ctx):
    pieces = _pieces(params)
    first = next(iter(pieces))
    cost = sum(quantity * supply.cost_cents for supply, quantity in pieces.items())
    whole = Change(
        f"Order from {first.supplier} to {params['city']}, there in about {first.lead_days} days",
        euros(0),
        euros(cost),
    )
    return [whole, *(_line(supply, quantity) for supply, quantity in pieces.items())]


def labels(params, ctx):
    return names.in_list([line["sku"] for line in params["lines"]], "/lines/{}/sku")


def as_of(params, ctx):
    return [[supply.cost_cents, supply.box, _there(supply)] for supply in _pieces(params)]


def _pieces(params):
    """Return how many of each product are ordered; Impossible when one supplier cannot send just that."""
    pieces = {}
    for line in params["lines"]:
        supply = _supply(line["sku"])
        if supply in pieces:
            raise changes.Impossible(f"{supply.sku} stands in the order twice")
        if line["quantity"] % supply.box:
            raise changes.Impossible(
                f"{supply.product} comes in boxes of {supply.box}, not {line['quantity']}"
            )
        pieces[supply] = line["quantity"]
    suppliers = sorted({supply.supplier for supply in pieces})
    if len(suppliers) > 1:
        raise changes.Impossible(f"{' and '.join(suppliers)} need an order each")
    return pieces


def _supply(sku):
    found = purchases.supply_of(database.connection(), changes.product(sku).sku)
    if found is None:
        raise changes.Impossible(f"nobody supplies {sku}")
    return found


def _line(supply, quantity):
    there = _there(supply)
    label = f"{supply.product} at {euros(supply.cost_cents)}, in stock and on the way"
    return Change(label, there, there + quantity)


def _there(supply):
    held = database.connection()
    lies = sum(level.quantity for level in stock.levels_of(held, supply.sku))
    return lies + purchases.on_the_way(held, supply.sku, date.today())


@tool(
    description="Propose an order to one supplier, in whole boxes, to one of our warehouses. See reorder_plan first.",
    permission="purchases:edit",
    mode=Mode.PROPOSE,
    params=Params,
    ttl=3600,
    preview=preview,
    labels=labels,
    as_of=as_of,
    reconcile=changes.done("purchase"),
)
def order_from_supplier(params, ctx):
    placed = purchases.place(
        database.connection(), params["city"], _pieces(params), date.today(), changes.by(ctx)
    )
    return {
        "purchase": placed.id,
        "supplier": placed.supplier,
        "cost": euros(placed.cost_cents),
        "expected_on": placed.expected_on,
    }
