from marshmallow import Schema

from flask_litro_agent import PUBLIC, Mode, tool


class Params(Schema):
    pass


@tool(description="crash for tests.", permission=PUBLIC, mode=Mode.READ, params=Params)
def crash(params, ctx):
    raise RuntimeError("canary-secret in /srv/app")
