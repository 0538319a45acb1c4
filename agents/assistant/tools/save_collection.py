from __future__ import annotations

from marshmallow import Schema, fields, validate

from example_app import collections, database
from flask_litro_agent import Change, Mode, tool

from ..._shared import changes, names, parameters


class Params(Schema):
    name = fields.String(
        required=True,
        validate=validate.Length(2, 60),
        metadata={"description": "What the collection is called; an existing one of this name is replaced"},
    )
    skus = fields.List(
        parameters.sku(),
        required=True,
        validate=validate.Length(1, 20),
        metadata={"description": "The article numbers of its products, in their order"},
    )
    published = fields.Boolean(required=True, metadata={"description": "Whether visitors of the shop see it"})


def preview(params, ctx):
    before = collections.by_name(database.connection(), params["name"])
    after = collections.Collection(
        name=params["name"], skus=tuple(params["skus"]), published=params["published"]
    )
    return [
        Change("Products", _labels(before) if before else None, _labels(after)),
        Change("Visitors see it", bool(before and before.published), after.published),
    ]


def labels(params, ctx):
    return names.in_list(params["skus"], "/skus/{}")


def as_of(params, ctx):
    return _facts(collections.by_name(database.connection(), params["name"]))


def inverse(params, result):
    """Write what it was; what was new is hidden."""
    before = result["before"] or {"skus": params["skus"], "published": False}
    return "save_collection", {"name": params["name"], **before}


def _labels(collection):
    return ", ".join(changes.product(sku).label for sku in collection.skus)


def _facts(collection):
    return collection and {"skus": list(collection.skus), "published": collection.published}


@tool(
    description="Propose a collection for the shop's front page: make, change, publish or hide it.",
    permission="collections:edit",
    mode=Mode.EXECUTE,
    params=Params,
    ttl=3600,
    preview=preview,
    labels=labels,
    as_of=as_of,
    inverse=inverse,
    reconcile=changes.done("collection_version"),
)
def save_collection(params, ctx):
    saved = collections.save(
        database.connection(), params["name"], params["skus"], params["published"], changes.by(ctx)
    )
    return {"name": saved.name, "published": saved.published, "before": ctx.as_of}
