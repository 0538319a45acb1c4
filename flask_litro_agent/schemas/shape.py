"""Everything about a schema that decides how arguments are read, as JSON: equal in every process that runs one code.

The document says what a model may send; the shape also has what a document cannot say, such as a field's class,
its coercions and the name under which a tool gets it. Two shapes differ when the same bytes may mean two things.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Mapping, Set
from typing import Any, Final

from marshmallow import Schema
from marshmallow.fields import Field, Nested
from marshmallow.validate import Validator

from flask_litro_agent.schemas.document import json_schema
from flask_litro_agent.schemas.reading import nested_schema

__all__ = ["shape"]

_MAX_NESTING: Final = 32
#: What a field knows of its place.
_PLACE: Final = frozenset({"_creation_index", "name", "parent", "root"})
#: What fields and validators say to people; a text of choices has the order of a set.
_WORDS: Final = frozenset(
    {"choices_text", "error", "error_messages", "labels", "labels_text", "metadata", "values_text"}
)


def shape(schema: Schema) -> list[Any]:
    """Return the document and the shape of every field, nested ones included."""
    return [json_schema(schema).document, _schema(schema, 0)]


def _schema(schema: Schema, depth: int) -> Any:
    fields = {name: _field(field, depth) for name, field in schema.fields.items()}
    return {"is": _named(type(schema)), "unknown": schema.unknown, "fields": fields}


def _field(field: Field[Any], depth: int) -> Any:
    if isinstance(field, Nested):
        described = _settings(field, depth, without={"nested", "_schema"})
        deeper = _schema(nested_schema(field, "field"), depth + 1) if depth < _MAX_NESTING else None
        return {**described, "schema": deeper}
    return _settings(field, depth)


def _settings(value: object, depth: int, without: Set[str] = frozenset()) -> dict[str, Any]:
    left_out = _PLACE | _WORDS | without
    own = {name: _described(item, depth + 1) for name, item in vars(value).items() if name not in left_out}
    return {"is": _named(type(value)), **own}


def _described(value: object, depth: int) -> Any:
    match value:
        case enum.Enum():
            return [_named(type(value)), value.name]
        case None | bool() | int() | str():
            return value
        case Field() if depth < _MAX_NESTING:
            return _field(value, depth)
        case Validator() if depth < _MAX_NESTING:
            return _settings(value, depth)
        case re.Pattern():
            return [value.pattern, value.flags]
        case set() | frozenset():
            return sorted((_described(item, depth) for item in value), key=json.dumps)
        case list() | tuple():
            return [_described(item, depth) for item in value]
        case Mapping():
            return {str(name): _described(item, depth) for name, item in value.items()}
    return _named(value) if callable(value) else [_named(type(value)), _literal(value)]


def _named(value: object) -> str:
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"


def _literal(value: object) -> str:
    text = repr(value)
    return "" if " at 0x" in text else text  # an address differs in every process
