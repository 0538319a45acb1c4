"""What a schema added to the arguments of a call: every value that the caller had left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from marshmallow import Schema, fields

from flask_litro_agent.schemas.reading import slots

__all__ = ["filled", "pointer"]


def filled(schema: Schema, given: Any, written: Any, path: str = "") -> Iterator[str]:
    """Yield where ``written`` (JSON, as dumped) has a value for which ``given`` has none, as JSON pointers."""
    if not isinstance(given, Mapping) or not isinstance(written, Mapping):
        return
    for slot in slots(schema):
        place = pointer(path, slot.name)
        if slot.name in given:
            yield from _inside(slot.field, given[slot.name], written.get(slot.name), place)
        elif slot.name in written:
            yield place


def pointer(path: str, name: str | int) -> str:
    """Return the JSON pointer (RFC 6901) of what stands under a name, or at a place, of the value at ``path``."""
    return f"{path}/{str(name).replace('~', '~0').replace('/', '~1')}"


def _inside(field: fields.Field[Any], given: Any, written: Any, path: str) -> Iterator[str]:
    match field:
        case fields.Pluck():
            return
        case fields.Nested():
            pairs = list(_pairs(given, written, path)) or [(given, written, path)]
            for each, found, place in pairs:
                yield from filled(field.schema, each, found, place)
        case fields.List():
            for each, found, place in _pairs(given, written, path):
                yield from _inside(field.inner, each, found, place)
        case fields.Tuple():
            for inner, (each, found, place) in zip(
                field.tuple_fields, _pairs(given, written, path), strict=False
            ):
                yield from _inside(inner, each, found, place)
        case fields.Mapping(value_field=fields.Field() as inner):
            for name, each, found in _shared(given, written):
                yield from _inside(inner, each, found, pointer(path, name))


def _pairs(given: Any, written: Any, path: str) -> Iterator[tuple[Any, Any, str]]:
    if isinstance(given, (list, tuple)) and isinstance(written, list) and len(given) == len(written):
        for index, (each, found) in enumerate(zip(given, written, strict=True)):
            yield each, found, pointer(path, index)


def _shared(given: Any, written: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(given, Mapping) and isinstance(written, Mapping):
        yield from ((name, given[name], written[name]) for name in written if name in given)
