from marshmallow import Schema

from flask_litro_agent import PUBLIC, AgentError, Mode, tool


class Params(Schema):
    pass


@tool(description="polite for tests.", permission=PUBLIC, mode=Mode.READ, params=Params)
def polite(params, ctx):
    raise AgentError("there is no order 7")
