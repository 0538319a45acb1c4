from __future__ import annotations

from marshmallow import Schema, fields, validate

from example_app import database, policies
from flask_litro_agent import PUBLIC, Mode, tool

from ..._shared import parameters


class Params(Schema):
    city = parameters.store()
    weekday = fields.String(
        validate=validate.OneOf(policies.WEEKDAYS), metadata={"description": "Only this day of the week"}
    )


@tool(
    description="Addresses and opening hours of our stores.", permission=PUBLIC, mode=Mode.READ, params=Params
)
def opening_hours(params, ctx):
    held = database.connection()
    cities = [params["city"]] if "city" in params else policies.STORES
    return {"stores": [_store(held, city, params.get("weekday")) for city in cities]}


def _store(held, city, weekday):
    week = {
        day.weekday: f"{day.opens}–{day.closes}" if day.opens else "closed"
        for day in policies.hours(held, city)
        if weekday in (None, day.weekday)
    }
    return {"city": city, "address": policies.address_of(held, city), "hours": week}
