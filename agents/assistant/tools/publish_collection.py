from __future__ import annotations

from flask_litro_agent import Mode, tool

from ..._shared import changes
from . import _visibility


def preview(params, ctx):
    return _visibility.preview(params["name"], visible=True)


def as_of(params, ctx):
    return _visibility.as_of(params["name"])


def inverse(params, result):
    return "unpublish_collection", params


@tool(
    description="Propose to put a collection that is kept already on the shop's front page.",
    permission="collections:edit",
    mode=Mode.EXECUTE,
    params=_visibility.Params,
    ttl=3600,
    preview=preview,
    as_of=as_of,
    inverse=inverse,
    reconcile=changes.done("collection_version"),
)
def publish_collection(params, ctx):
    return _visibility.change(params["name"], True, ctx)
