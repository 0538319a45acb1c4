from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import database
from example_app.assistant import forecast
from example_app.money import euros
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    weeks = parameters.number_of("So many weeks ahead, from tomorrow on", 4, 1, 12)


@tool(
    description="What the next weeks may bring: the turnover of the same weeks last year, grown as the last eight weeks"
    " have grown over theirs, at most to double. A guess from two years of sales, not a promise.",
    permission="reports:read",
    mode=Mode.READ,
    params=Params,
)
def sales_forecast(params, ctx):
    found = forecast.ahead(database.connection(), date.today(), params["weeks"])
    if found.growth is None:
        return {
            "possible": False,
            "why": "nothing was sold in the same eight weeks of last year",
            "weeks": [],
        }
    return {
        "possible": True,
        "growth_percent": round(100 * (found.growth - 1), 1),
        "used_growth_percent": round(100 * (found.used_growth - 1), 1),
        "last_eight_weeks": euros(found.recent_cents),
        "same_weeks_last_year": euros(found.year_ago_cents),
        "expected": euros(sum(week.expected_cents for week in found.weeks)),
        "weeks": [_line(week) for week in found.weeks],
    }


def _line(week):
    return {
        "since": week.since.isoformat(),
        "until": week.until.isoformat(),
        "last_year_orders": week.last_year_orders,
        "last_year": euros(week.last_year_cents),
        "expected": euros(week.expected_cents),
    }
