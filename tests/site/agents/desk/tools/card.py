from marshmallow import Schema, fields

from flask_litro_agent import PUBLIC, Mode, tool, ui


class Params(Schema):
    component = fields.String(load_default="x-card")


@tool(description="card for tests.", permission=PUBLIC, mode=Mode.READ, params=Params)
def card(params, ctx):
    return ui(params["component"], data={"city": "Lisbon"}, city="Lisbon")
