from __future__ import annotations

from marshmallow import Schema, fields, validate

from example_app import database, returns, stock
from flask_litro_agent import Change, Mode, tool

from ..._shared import changes, names, parameters


class Params(Schema):
    order_number = parameters.order_number()
    sku = parameters.sku()
    city = fields.String(
        required=True,
        validate=validate.OneOf(stock.CITIES),
        metadata={"description": "The warehouse or store where it has arrived"},
    )
    to_shelf = fields.Boolean(
        required=True,
        metadata={"description": "true when it is as new and can be sold again, false when it is not"},
    )


def preview(params, ctx):
    case = _case(params)
    label = f"{case.quantity} × {case.product} of order {case.number} ({case.reason})"
    lines = [Change(label, case.state, "received")]
    if params["to_shelf"]:
        lies = _lies(params)
        lines.append(Change(f"Stock in {params['city']}", lies, lies + case.quantity))
    return lines


def labels(params, ctx):
    return names.order(params, ctx) | names.product(params, ctx)


def as_of(params, ctx):
    return [_case(params).id, _lies(params)]


def _case(params):
    """Return the case that is open for the product; Impossible when there is none."""
    number, product = changes.order(params["order_number"]).number, changes.product(params["sku"])
    cases = [case for case in returns.of_order(database.connection(), number) if case.sku == product.sku]
    opened = next((case for case in cases if case.state == "opened"), None)
    if opened:
        return opened
    if cases:
        raise changes.Impossible(
            f"the return of {product.label} for order {number} is {cases[-1].state} already"
        )
    raise changes.Impossible(f"no return of {product.label} is announced for order {number}")


def _lies(params):
    return stock.levels_of(database.connection(), params["sku"], params["city"])[0].quantity


@tool(
    description="Propose to book in what a customer has sent back: the return is received, and the goods go on the"
    " shelf when they are as new. The money is a refund of its own.",
    permission="returns:edit",
    mode=Mode.PROPOSE,
    params=Params,
    ttl=1800,
    preview=preview,
    labels=labels,
    as_of=as_of,
    reconcile=changes.done("return_receipt"),
)
def receive_return(params, ctx):
    case = _case(params)
    who = changes.by(ctx)
    if not returns.receive(database.connection(), case, params["city"], to_shelf=params["to_shelf"], by=who):
        raise changes.Impossible(f"the return of {case.product} is no longer open")
    return {
        "order_number": case.number,
        "product": case.product,
        "state": "received",
        "in_stock": _lies(params),
    }
