from __future__ import annotations

from datetime import date

from marshmallow import Schema

from example_app import database
from example_app.assistant import loyalty
from example_app.assistant.shares import percent
from flask_litro_agent import Mode, tool

from ..._shared import parameters


class Params(Schema):
    days = parameters.number_of("A second order counts within so many days of the first", 90, 7, 365)


@tool(
    description="How many new customers come back: by the quarter of their first order, the share that ordered again"
    " within a number of days. A quarter that is still open may yet grow.",
    permission="reports:read",
    mode=Mode.READ,
    params=Params,
)
def repeat_purchases(params, ctx):
    found = loyalty.cohorts(database.connection(), date.today(), params["days"])
    customers = sum(cohort.customers for cohort in found)
    came_back = sum(cohort.came_back for cohort in found)
    return {
        "days": params["days"],
        "customers": customers,
        "came_back": came_back,
        "rate_percent": percent(came_back, customers),
        "quarters": [_line(cohort) for cohort in found],
    }


def _line(cohort):
    return {
        "quarter": cohort.quarter,
        "customers": cohort.customers,
        "came_back": cohort.came_back,
        "rate_percent": percent(cohort.came_back, cohort.customers),
        "mean_days": cohort.mean_days,
        "still_open": cohort.is_open,
    }
