from marshmallow import Schema, fields

from flask_litro_agent import PUBLIC, Mode, tool


class Params(Schema):
    bytes = fields.Integer(required=True)


@tool(description="flood for tests.", permission=PUBLIC, mode=Mode.READ, params=Params)
def flood(params, ctx):
    return "x" * params["bytes"]
