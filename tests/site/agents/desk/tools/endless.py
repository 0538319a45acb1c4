from marshmallow import Schema

from flask_litro_agent import PUBLIC, Mode, tool


class Params(Schema):
    pass


@tool(description="endless for tests.", permission=PUBLIC, mode=Mode.READ, params=Params)
def endless(params, ctx):
    while True:
        yield 1
