from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import database, periods
from example_app.assistant import hours
from example_app.money import euros
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    period = parameters.period("last_90_days")
    category = parameters.category()


@tool(
    description="When people order: orders and turnover by weekday and by hour of the day, with the busiest of each.",
    permission="reports:read",
    mode=Mode.READ,
    params=Params,
)
def busy_hours(params, ctx):
    held = database.connection()
    period = periods.named(params["period"], date.today())
    weekdays = hours.by_weekday(held, period, params.get("category"))
    clock = hours.by_hour(held, period, params.get("category"))
    total = sum(slot.orders for slot in weekdays)
    return {
        "period": period.name,
        "orders": total,
        "busiest_weekday": hours.WEEKDAYS[_busiest(weekdays).slot] if total else None,
        "busiest_hour": _clock(_busiest(clock)) if total else None,
        "weekdays": [{"weekday": hours.WEEKDAYS[slot.slot], **_line(slot)} for slot in weekdays],
        "hours": [{"hour": _clock(slot), **_line(slot)} for slot in clock if slot.orders],
    }


def _busiest(slots):
    """Return the slot with most orders a day: a period may have five Mondays and four Tuesdays."""
    return max(slots, key=lambda slot: (slot.orders / slot.days, slot.goods_cents))


def _line(slot):
    return {
        "orders": slot.orders,
        "orders_a_day": round(slot.orders / slot.days, 2),
        "turnover": euros(slot.goods_cents),
    }


def _clock(slot):
    return f"{slot.slot:02d}:00"
