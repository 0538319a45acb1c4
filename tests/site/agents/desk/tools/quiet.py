from marshmallow import Schema, fields

from flask_litro_agent import PUBLIC, Mode, tool


class Params(Schema):
    value = fields.String(required=True)


@tool(description="quiet for tests.", permission=PUBLIC, mode=Mode.READ, params=Params, shows="nothing")
def quiet(params, ctx):
    return {"seen": params["value"]}
