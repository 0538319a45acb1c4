import time

from marshmallow import Schema, fields

from flask_litro_agent import PUBLIC, Mode, tool


class Params(Schema):
    seconds = fields.Float(required=True)


@tool(description="slow for tests.", permission=PUBLIC, mode=Mode.READ, params=Params)
def slow(params, ctx):
    deadline = time.monotonic() + params["seconds"]
    while time.monotonic() < deadline:
        time.sleep(0.01)
    return "late"
