from __future__ import annotations

from datetime import date

from marshmallow import Schema, fields, validate

from example_app import database
from example_app.assistant import payments
from example_app.money import euros
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    kind = fields.String(
        validate=validate.OneOf(payments.KINDS), metadata={"description": "Only problems of this kind"}
    )
    limit = parameters.limit(10)


@tool(
    description="Orders whose money is not right: disputed or failed payments, overdue invoices, too little paid, and"
    " cancelled orders whose money was not given back; with the amount it is about.",
    permission="orders:read",
    mode=Mode.READ,
    params=Params,
)
def payment_problems(params, ctx):
    found = payments.problems(database.connection(), date.today())
    mine = [each for each in found if params.get("kind") in (None, each.kind)]
    return {
        "kind": params.get("kind"),
        "total": len(mine),
        "amount": euros(sum(each.amount_cents for each in mine)),
        "kinds": _by_kind(mine),
        "problems": [_line(each) for each in mine[: params["limit"]]],
    }


def _by_kind(found):
    parts = {kind: [each for each in found if each.kind == kind] for kind in payments.KINDS}
    return [
        {"kind": kind, "orders": len(part), "amount": euros(sum(each.amount_cents for each in part))}
        for kind, part in parts.items()
        if part
    ]


def _line(each):
    return {
        "number": each.number,
        "customer": each.customer,
        "email": each.email,
        "status": each.status,
        "problem": each.kind,
        "method": each.method,
        "amount": euros(each.amount_cents),
        "order_total": euros(each.total_cents),
        "since_days": each.days,
    }
