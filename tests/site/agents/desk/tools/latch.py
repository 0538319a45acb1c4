import time
from pathlib import Path

from marshmallow import Schema, fields

from flask_litro_agent import PUBLIC, Mode, tool


class Params(Schema):
    path = fields.String(required=True)


@tool(description="latch for tests.", permission=PUBLIC, mode=Mode.READ, params=Params)
def latch(params, ctx):
    while not Path(params["path"]).exists():
        time.sleep(0.01)
    return "open"
