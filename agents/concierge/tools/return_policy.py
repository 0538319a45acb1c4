from __future__ import annotations

from marshmallow import Schema, fields, validate

from example_app import database, policies
from flask_litro_agent import PUBLIC, Mode, tool


class Params(Schema):
    topic = fields.String(
        load_default="general",
        validate=validate.OneOf(policies.TOPICS),
        metadata={"description": "'general' for unused goods; else what the question is about"},
    )


@tool(
    description="Our rules for returns, refunds, worn goods, sale items, warranty and repairs. Quote them, do not"
    " improve them.",
    permission=PUBLIC,
    mode=Mode.READ,
    params=Params,
)
def return_policy(params, ctx):
    policy = policies.policy(database.connection(), params["topic"])
    return {"topic": policy.topic, "title": policy.title, "text": policy.text}
