from __future__ import annotations

from marshmallow import Schema, fields, validate

from example_app import database, letters
from flask_litro_agent import Change, Mode, tool

from ..._shared import changes, names, parameters


class Params(Schema):
    customer_id = parameters.customer_id()
    text = fields.String(
        required=True,
        validate=validate.Length(1, 1000),
        metadata={"description": "What the staff shall know about the customer"},
    )


def preview(params, ctx):
    customer = changes.customer(params["customer_id"])
    return [Change(f"Note about {customer.name}", None, params["text"])]


@tool(
    description="Propose a note about a customer, for the staff only.",
    permission="customers:edit",
    mode=Mode.PROPOSE,
    params=Params,
    ttl=3600,
    preview=preview,
    labels=names.customer,
    reconcile=changes.done("note"),
)
def add_customer_note(params, ctx):
    customer = changes.customer(params["customer_id"])
    number = letters.note(database.connection(), customer.id, params["text"], changes.by(ctx))
    return {"customer": customer.name, "note": number}
