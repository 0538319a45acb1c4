from marshmallow import Schema

from flask_litro_agent import PUBLIC, Mode, tool


class Params(Schema):
    pass


@tool(description="leave for tests.", permission=PUBLIC, mode=Mode.READ, params=Params)
def leave(params, ctx):
    raise SystemExit(3)
