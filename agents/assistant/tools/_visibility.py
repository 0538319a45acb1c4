"""What publishing and hiding a collection have in common."""

from __future__ import annotations

from marshmallow import Schema, fields, validate

from example_app import collections, database
from flask_litro_agent import Change

from ..._shared import changes

__all__ = ["Params", "as_of", "change", "preview"]


class Params(Schema):
    name = fields.String(
        required=True,
        validate=validate.Length(2, 60),
        metadata={"description": "What the collection is called"},
    )


def preview(name, visible):
    """Return what visitors would see; Impossible when they see just that already."""
    found = _found(name)
    if found.published == visible:
        raise changes.Impossible(f"the collection “{found.name}” is {_standing(visible)} already")
    products = ", ".join(changes.product(sku).label for sku in found.skus)
    return [Change(f"“{found.name}” ({products})", _standing(found.published), _standing(visible))]


def as_of(name):
    found = _found(name)
    return {"skus": list(found.skus), "published": found.published}


def change(name, visible, ctx):
    found = _found(name)
    saved = collections.save(database.connection(), found.name, found.skus, visible, changes.by(ctx))
    return {"name": saved.name, "published": saved.published}


def _found(name):
    kept = collections.every(database.connection())
    found = next((each for each in kept if each.name.casefold() == name.casefold()), None)
    if found is None:
        names = ", ".join(each.name for each in kept)
        there = f"there is: {names}" if names else "there is none yet"
        raise changes.Impossible(f"there is no collection called “{name}”; {there}")
    return found


def _standing(visible):
    return "on the front page" if visible else "hidden"
