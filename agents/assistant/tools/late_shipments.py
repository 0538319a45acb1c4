from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import database, orders
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    limit = parameters.limit(10)


@tool(
    description="Parcels that should have arrived and have not, the longest overdue first.",
    permission="orders:read",
    mode=Mode.READ,
    params=Params,
)
def late_shipments(params, ctx):
    today = date.today()
    late = orders.late(database.connection(), today)
    return {"total": len(late), "orders": [_overdue(order, today) for order in late[: params["limit"]]]}


def _overdue(order, today):
    parcel = order.shipment
    return {
        "number": order.number,
        "customer": order.customer,
        "carrier": parcel.carrier,
        "tracking_code": parcel.tracking_code,
        "expected_on": parcel.expected_on,
        "days_late": (today - date.fromisoformat(parcel.expected_on)).days,
        "last_seen": parcel.last_seen,
    }
