"""Why a schema has no canonical form: what would hide a value from the card, or change it behind the card.

Asked for the tools that change something, while the app starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from marshmallow import INCLUDE, Schema, fields

from flask_litro_agent.schemas.reading import Kind, hooked, kind_of, nested_schema, processors, reads_itself

__all__ = ["write_schema_faults"]

_HOOKS: Final = ("pre_load", "post_load", "pre_dump", "post_dump")
_MAX_NESTING: Final = 32


def write_schema_faults(schema: Schema) -> tuple[str, ...]:
    """Return one sentence for each thing that a write tool's schema must not have; none when it may stand."""
    faults = list(_schema_faults(schema, "", None, set()))
    if schema.many:
        faults.insert(0, "many=True: arguments are one object")
    return tuple(dict.fromkeys(faults))


def _schema_faults(schema: Schema, prefix: str, unknown: str | None, seen: set[Kind]) -> Iterator[str]:
    kind = kind_of(schema, unknown=unknown)
    if kind in seen or prefix.count(".") > _MAX_NESTING:
        return
    seen.add(kind)
    place = f"{prefix.rstrip('.')}: " if prefix else ""
    for hook in _HOOKS:
        for name, _ in hooked(schema, hook):
            yield f"{place}{hook} ({name}): changes what the card shows"
    if reads_itself(schema):
        yield f"{place}{type(schema).__name__} replaces how marshmallow loads"
    if kind.unknown == INCLUDE:
        yield f"{place}unknown=INCLUDE: passes on what no field checks"
    for name, field in schema.fields.items():
        yield from _field_faults(field, f"{prefix}{field.data_key or name}", seen)


def _field_faults(field: fields.Field[Any], path: str, seen: set[Kind]) -> Iterator[str]:
    yield from (f"{path}: {fault}" for fault in _own_faults(field))
    match field:
        case fields.Nested():
            yield from _schema_faults(nested_schema(field, path), f"{path}.", field.unknown, seen)
        case fields.List():
            yield from _field_faults(field.inner, path, seen)
        case fields.Tuple():
            for inner in field.tuple_fields:
                yield from _field_faults(inner, path, seen)
        case fields.Mapping():
            for part in filter(None, (field.key_field, field.value_field)):
                yield from _field_faults(part, path, seen)


def _own_faults(field: fields.Field[Any]) -> Iterator[str]:
    if isinstance(field, (fields.Method, fields.Function)):
        yield f"{type(field).__name__}: has no form that can be compared"
        return
    if field.load_only:
        yield "load_only: the card could not show it"
    if field.dump_only:
        yield "dump_only: the card would show what the tool does not get"
    for when in ("pre_load", "post_load"):
        if processors(field, when):
            yield f"{when}: changes what the card shows"
    if isinstance(field, fields.Integer) and field.strict and field.as_string:
        yield "strict and as_string: cannot read what it writes"
