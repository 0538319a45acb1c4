from __future__ import annotations

from marshmallow import Schema, fields, validate

from example_app import database, goodwill
from example_app.money import euros
from flask_litro_agent import Change, Mode, tool

from ..._shared import changes, parameters


class Params(Schema):
    credit = fields.Integer(
        strict=True,
        required=True,
        validate=validate.Range(1, 10_000_000),
        metadata={"description": "The number of the credit, as customer_details returns it"},
    )
    reason = parameters.reason()


def preview(params, ctx):
    credit = _credit(params)
    customer = changes.customer(credit.customer_id)
    before = goodwill.balance(database.connection(), customer.id)
    return [Change(f"Credit of {customer.name}", euros(before), euros(before - credit.amount_cents))]


def labels(params, ctx):
    credit = _credit(params)
    return {"credit": f"{euros(credit.amount_cents)} for {changes.customer(credit.customer_id).name}"}


def as_of(params, ctx):
    return goodwill.balance(database.connection(), _credit(params).customer_id)


def _credit(params):
    found = goodwill.by_id(database.connection(), params["credit"])
    if found is None:
        raise changes.Impossible(f"there is no credit with the number {params['credit']}")
    if found.withdrawn:
        raise changes.Impossible(f"credit {found.id} is withdrawn already")
    return found


@tool(
    description="Propose to take back a customer's credit, the whole of it.",
    permission="credits:edit",
    mode=Mode.PROPOSE,
    params=Params,
    ttl=900,
    preview=preview,
    labels=labels,
    as_of=as_of,
    reconcile=changes.done("credit_withdrawal"),
)
def withdraw_credit(params, ctx):
    credit = _credit(params)
    if not goodwill.withdraw(database.connection(), credit.id, params["reason"], changes.by(ctx)):
        raise changes.Impossible(f"credit {credit.id} has been withdrawn in between")
    customer = changes.customer(credit.customer_id)
    return {"customer": customer.name, "credit": credit.id, "withdrawn": euros(credit.amount_cents)}
