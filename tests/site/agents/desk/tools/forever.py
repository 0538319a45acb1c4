import time

from marshmallow import Schema

from flask_litro_agent import PUBLIC, Mode, tool


class Params(Schema):
    pass


@tool(description="forever for tests.", permission=PUBLIC, mode=Mode.READ, params=Params)
def forever(params, ctx):
    while True:
        time.sleep(0.01)
        yield 1
