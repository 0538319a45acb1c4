from marshmallow import Schema

from flask_litro_agent import PUBLIC, Mode, tool, ui


class Params(Schema):
    pass


@tool(description="buried for tests.", permission=PUBLIC, mode=Mode.READ, params=Params)
def buried(params, ctx):
    return {"cards": [ui("x-card", data=1)]}
