from __future__ import annotations

from flask_litro_agent import Mode, tool

from ..._shared import changes
from . import _visibility


def preview(params, ctx):
    return _visibility.preview(params["name"], visible=False)


def as_of(params, ctx):
    return _visibility.as_of(params["name"])


def inverse(params, result):
    return "publish_collection", params


@tool(
    description="Propose to take a collection off the shop's front page; its products stay together, hidden.",
    permission="collections:edit",
    mode=Mode.EXECUTE,
    params=_visibility.Params,
    ttl=3600,
    preview=preview,
    as_of=as_of,
    inverse=inverse,
    reconcile=changes.done("collection_version"),
)
def unpublish_collection(params, ctx):
    return _visibility.change(params["name"], False, ctx)
