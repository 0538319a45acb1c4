from marshmallow import Schema

from flask_litro_agent import Mode, tool


class Params(Schema):
    pass


@tool(description="secret for tests.", permission="secrets:read", mode=Mode.READ, params=Params)
def secret(params, ctx):
    return {"who": ctx.actor.id}
