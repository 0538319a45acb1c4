from marshmallow import Schema, fields

from flask_litro_agent import PUBLIC, Mode, tool


class Params(Schema):
    to = fields.Integer(required=True)


@tool(description="count for tests.", permission=PUBLIC, mode=Mode.READ, params=Params)
def count(params, ctx):
    yield from range(params["to"])
    return params["to"]
