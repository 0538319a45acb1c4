"""The canonical form of arguments: what a card shows, a digest covers and a tool runs are the same bytes.

    c = dump(load(raw))        dump(load(c)) must equal c; the tool gets load(c)

JSON with sorted names, no spaces, UTF-8; decimals and dates are strings; every default is in it, a callable one
with the value that it had. 1, 1.0 and true are three values. Whole numbers are never rounded into shape: 3.7 is
no integer, whatever the field would make of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from marshmallow import Schema, fields

from flask_litro_agent.errors import InvalidArguments
from flask_litro_agent.schemas.arguments import given, read
from flask_litro_agent.schemas.filled import filled
from flask_litro_agent.schemas.plain import plain
from flask_litro_agent.schemas.reading import slots

__all__ = ["MAX_CANONICAL", "Canonical", "canonicalise"]

#: Largest canonical form, in bytes: what is larger cannot be shown whole to the person who decides.
MAX_CANONICAL: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class Canonical:
    """The bytes, the arguments that the schema loads from them, and what of them the schema filled in.

    ``filled`` has JSON pointers into the bytes, such as ``/lines/0/currency``.
    """

    data: bytes
    arguments: dict[str, Any]
    filled: tuple[str, ...] = ()


def canonicalise(schema: Schema, raw: object) -> Canonical:
    """Return the canonical form of a call's arguments; raise InvalidArguments when they have none."""
    asked = given(schema, raw)
    loaded = read(schema, asked)
    if loose := list(_loose_integers(schema, raw, "")):
        raise InvalidArguments(
            "whole numbers are not rounded", {path: ["Not a valid integer."] for path in loose}
        )
    data = _bytes(schema, loaded)
    written = json.loads(data)
    arguments = read(schema, written)
    if _bytes(schema, arguments) != data:
        raise _without_form("reading what was written gives another value")
    return Canonical(data, arguments, tuple(filled(schema, asked, written)))


def _bytes(schema: Schema, loaded: dict[str, Any]) -> bytes:
    try:
        value = plain(schema.dump(loaded))
        data = json.dumps(
            value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode()
    except (TypeError, ValueError) as error:
        raise _without_form(str(error)) from error
    if len(data) > MAX_CANONICAL:
        raise _without_form(f"they take {len(data)} bytes, and {MAX_CANONICAL} is the most")
    return data


def _without_form(reason: str) -> InvalidArguments:
    sentence = f"the arguments have no canonical form: {reason}"
    return InvalidArguments(sentence, {"_schema": [sentence]})


def _loose_integers(schema: Schema, raw: object, prefix: str) -> Iterator[str]:
    if isinstance(raw, Mapping):
        for slot in slots(schema):
            yield from _loose(slot.field, raw.get(slot.name), f"{prefix}{slot.name}")


def _loose(field: fields.Field[Any], value: Any, path: str) -> Iterator[str]:
    match field, value:
        case fields.Integer(), _:
            if not _is_whole(field, value):
                yield path
        case fields.Enum(), _:
            yield from _loose(field.field, value, path)
        case fields.Nested(), _ if not isinstance(field, fields.Pluck):
            for place, item in _items(value, path):
                yield from _loose_integers(field.schema, item, f"{place}.")
        case fields.Pluck(), _:
            for place, item in _items(value, path):
                yield from _loose(field.schema.fields[field.field_name], item, place)
        case fields.List(), list():
            for index, item in enumerate(value):
                yield from _loose(field.inner, item, f"{path}.{index}")
        case fields.Tuple(), list():
            for index, (inner, item) in enumerate(zip(field.tuple_fields, value, strict=False)):
                yield from _loose(inner, item, f"{path}.{index}")
        case fields.Mapping(value_field=fields.Field() as inner), Mapping():
            for name, item in value.items():
                yield from _loose(inner, item, f"{path}.{name}")


def _items(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, list):
        yield path, value
        return
    for index, item in enumerate(value):
        yield f"{path}.{index}", item


def _is_whole(field: fields.Integer, value: Any) -> bool:
    if isinstance(value, str) and field.as_string:
        return value == str(int(value))
    return value is None or (isinstance(value, int) and not isinstance(value, bool))
