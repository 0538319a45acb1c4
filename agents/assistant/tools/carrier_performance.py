from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import database, periods
from example_app.assistant import carriers
from example_app.assistant.shares import percent
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    period = parameters.period("last_90_days")


@tool(
    description="How well each carrier delivers: parcels handed over in a period, median and slowest days to the door,"
    " the share that came late or is overdue; the most punctual first.",
    permission="orders:read",
    mode=Mode.READ,
    params=Params,
)
def carrier_performance(params, ctx):
    today = date.today()
    period = periods.named(params["period"], today)
    found = carriers.performance(database.connection(), today, period)
    parcels = sum(carrier.parcels for carrier in found)
    return {
        "period": period.name,
        "parcels": parcels,
        "late_percent": percent(sum(carrier.late for carrier in found), parcels),
        "carriers": [_line(carrier) for carrier in found],
    }


def _line(carrier):
    return {
        "carrier": carrier.name,
        "parcels": carrier.parcels,
        "delivered": carrier.delivered,
        "median_days": carrier.median_days,
        "slowest_days": carrier.slowest_days,
        "late": carrier.late,
        "late_percent": carrier.late_percent,
        "overdue_now": carrier.overdue,
    }
