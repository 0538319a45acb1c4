import requests
from marshmallow import Schema, fields

from flask_litro_agent import PUBLIC, Mode, tool


class Params(Schema):
    url = fields.String(required=True)


@tool(description="fetch for tests.", permission=PUBLIC, mode=Mode.READ, params=Params)
def fetch(params, ctx):
    return requests.get(params["url"], timeout=20).text
