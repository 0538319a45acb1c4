from __future__ import annotations

from marshmallow import Schema, fields, validate

from example_app import database, replies
from flask_litro_agent import Change, Mode, tool

from ..._shared import changes


class Params(Schema):
    review_id = fields.Integer(
        strict=True,
        required=True,
        validate=validate.Range(1, 10_000_000),
        metadata={"description": "The number of the review, as reviews_digest returns it"},
    )
    text = fields.String(
        required=True,
        allow_none=True,
        validate=validate.Length(2, 600),
        metadata={"description": "What everybody reads below the review; null takes our reply away"},
    )


def preview(params, ctx):
    review = _review(params)
    if review.reply == params["text"]:
        raise changes.Impossible("that is what stands below the review already")
    label = f"{review.author}, {review.stars} of 5 for {review.product}: “{review.text}”"
    return [Change(label, review.reply, params["text"])]


def labels(params, ctx):
    review = _review(params)
    return {"review_id": f"{review.author} about {review.product}"}


def as_of(params, ctx):
    return _review(params).reply


def inverse(params, result):
    return "reply_to_review", {"review_id": params["review_id"], "text": result["before"]}


def _review(params):
    found = replies.by_id(database.connection(), params["review_id"])
    if found is None:
        raise changes.Impossible(f"there is no review with the number {params['review_id']}")
    return found


@tool(
    description="Propose our public reply to a buyer's review.",
    permission="reviews:edit",
    mode=Mode.EXECUTE,
    params=Params,
    ttl=3600,
    preview=preview,
    labels=labels,
    as_of=as_of,
    inverse=inverse,
    reconcile=changes.done("review_reply"),
)
def reply_to_review(params, ctx):
    review = _review(params)
    replies.write(database.connection(), review.id, params["text"], changes.by(ctx))
    return {"product": review.product, "author": review.author, "before": ctx.as_of, "after": params["text"]}
