from marshmallow import Schema, fields

from flask_litro_agent import PUBLIC, Mode, tool


class Params(Schema):
    path = fields.String(required=True)


@tool(description="mark for tests.", permission=PUBLIC, mode=Mode.READ, params=Params)
def mark(params, ctx):
    with open(params["path"], "a") as file:
        file.write("x")
    return "marked"
