from marshmallow import Schema, fields

from flask_litro_agent import PUBLIC, Mode, tool


class Params(Schema):
    value = fields.Raw(required=True, allow_none=True)


@tool(description="echo for tests.", permission=PUBLIC, mode=Mode.READ, params=Params)
def echo(params, ctx):
    return params["value"]
