import threading

from flask import current_app, has_request_context
from marshmallow import Schema

from flask_litro_agent import PUBLIC, Mode, tool


class Params(Schema):
    pass


@tool(description="where for tests.", permission=PUBLIC, mode=Mode.READ, params=Params)
def where(params, ctx):
    return {
        "request": has_request_context(),
        "app": current_app.name,
        "thread": threading.current_thread().name,
        "call": ctx.call_id,
        "turn": ctx.turn_id,
        "session": ctx.session_id,
    }
