from __future__ import annotations

from marshmallow import Schema

from example_app import database, goodwill
from example_app.money import euros
from flask_litro_agent import Change, Mode, tool

from ..._shared import changes, names, parameters


class Params(Schema):
    customer_id = parameters.customer_id()
    amount_cents = parameters.cents("What the customer may spend with us", most=10_000)
    reason = parameters.reason()


def preview(params, ctx):
    customer = changes.customer(params["customer_id"])
    before = goodwill.balance(database.connection(), customer.id)
    return [Change(f"Credit of {customer.name}", euros(before), euros(before + params["amount_cents"]))]


def as_of(params, ctx):
    customer = changes.customer(params["customer_id"])
    return goodwill.balance(database.connection(), customer.id)


def inverse(params, result):
    return "withdraw_credit", {"credit": result["credit"], "reason": "undone"}


@tool(
    description="Propose credit of up to 100 euros for a customer, as goodwill: no money moves, he spends it with us.",
    permission="credits:edit",
    mode=Mode.PROPOSE,
    params=Params,
    ttl=900,
    preview=preview,
    labels=names.customer,
    as_of=as_of,
    inverse=inverse,
    reconcile=changes.done("credit"),
)
def goodwill_credit(params, ctx):
    customer = changes.customer(params["customer_id"])
    given = goodwill.give(
        database.connection(), customer.id, params["amount_cents"], params["reason"], changes.by(ctx)
    )
    return {"customer": customer.name, "credit": given["id"], "amount": euros(given["amount_cents"])}
