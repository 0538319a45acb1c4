from __future__ import annotations

from marshmallow import Schema, fields, validate

from example_app import database, letters
from flask_litro_agent import Change, Mode, tool

from ..._shared import changes, names, parameters


class Params(Schema):
    customer_id = parameters.customer_id()
    subject = fields.String(
        required=True,
        validate=validate.Length(1, 120),
        metadata={"description": "The e-mail's subject"},
    )
    text = fields.String(
        required=True,
        validate=validate.Length(1, 4000),
        metadata={"description": "The e-mail's text, without a signature"},
    )


def preview(params, ctx):
    customer = changes.customer(params["customer_id"])
    return [
        Change("To", None, f"{customer.name} <{customer.email}>"),
        Change("Subject", None, params["subject"]),
        Change("Text", None, params["text"]),
    ]


@tool(
    description="Propose an e-mail to a customer; it is kept as a draft, and a person sends it.",
    permission="emails:draft",
    mode=Mode.EXECUTE,
    params=Params,
    ttl=3600,
    preview=preview,
    labels=names.customer,
    reconcile=changes.done("email_draft"),
)
def draft_email(params, ctx):
    customer = changes.customer(params["customer_id"])
    number = letters.draft(
        database.connection(), customer.id, params["subject"], params["text"], changes.by(ctx)
    )
    return {"to": customer.email, "draft": number}
