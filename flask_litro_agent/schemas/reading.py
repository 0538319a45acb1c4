"""How a schema reads an object: under which names, which of them it requires, and when two schemas read alike.

``partial`` and ``unknown`` travel from the outer schema to the nested ones as in marshmallow's own ``load``:
``None`` leaves the nested schema its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from marshmallow import Schema
from marshmallow.exceptions import RegistryError
from marshmallow.fields import Constant, Field, Nested

from flask_litro_agent.errors import ConfigurationError

__all__ = [
    "Kind",
    "Partial",
    "Slot",
    "droppable",
    "hooked",
    "kind_of",
    "nested_schema",
    "processors",
    "reads_itself",
    "slots",
]

Partial = bool | Collection[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One name of an object: the field that reads it, and what a nested schema there is told of ``partial``."""

    name: str
    attribute: str
    field: Field[Any]
    required: bool
    partial: Partial


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A schema's class and modifiers: equal kinds read the same.

    ``own`` is the schema itself when its class decides about fields at run time, so that it equals no other.
    """

    schema_class: type[Schema]
    names: tuple[str, ...]
    nested: tuple[tuple[str, Any, Any], ...]
    dump_only: frozenset[str]
    unknown: str
    partial: bool | frozenset[str] | None
    many: bool
    own: Schema | None
    schema: Schema = field(compare=False)


def slots(schema: Schema, partial: Partial = None) -> Iterator[Slot]:
    """Yield what the schema reads, in its order."""
    effective = schema.partial if partial is None else partial
    for attribute, reader in schema.load_fields.items():
        yield Slot(
            name=attribute if reader.data_key is None else reader.data_key,
            attribute=attribute,
            field=reader,
            required=reader.required
            and not isinstance(reader, Constant)
            and not _excused(attribute, effective),
            partial=_inner(attribute, effective),
        )


def droppable(slot: Slot) -> bool:
    """Whether a null under this name means that the name was left out."""
    return not slot.required and not slot.field.allow_none


def kind_of(schema: Schema, *, unknown: str | None = None, partial: Partial = None) -> Kind:
    """Return the kind of a schema that is read with these two options of ``load``."""
    effective = schema.partial if partial is None else partial
    return Kind(
        schema_class=type(schema),
        names=tuple(schema.load_fields),
        nested=tuple(_narrowed(schema)),
        dump_only=frozenset(schema.dump_only),
        unknown=str(schema.unknown if unknown is None else unknown),
        partial=effective if effective is None or isinstance(effective, bool) else frozenset(effective),
        many=bool(schema.many),
        own=schema if _decides_at_run_time(type(schema)) else None,
        schema=schema,
    )


def nested_schema(reader: Nested, path: str) -> Schema:
    """Return the schema of a nested field; raise ConfigurationError when its name leads nowhere."""
    try:
        return reader.schema
    except RegistryError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def hooked(schema: Schema, tag: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the methods that are decorated with ``pre_load``, ``validates`` and the like, with their options."""
    return [(name, options) for name, _, options in schema._hooks.get(tag, ())]


def processors(reader: Field[Any], when: str) -> list[Any]:
    """Return a field's own ``pre_load`` or ``post_load`` functions; marshmallow has them since 4.3."""
    return list(getattr(reader, when, ()))


def reads_itself(schema: Schema) -> bool:
    """Whether the schema's class replaced marshmallow's reading."""
    return any(
        getattr(type(schema), name) is not getattr(Schema, name)
        for name in ("load", "_do_load", "_deserialize")
    )


def _excused(attribute: str, partial: Partial) -> bool:
    if partial is None or isinstance(partial, bool):
        return bool(partial)
    return attribute in partial


def _inner(attribute: str, partial: Partial) -> Partial:
    if partial is None or isinstance(partial, bool):
        return partial
    prefix = f"{attribute}."
    return frozenset(name.removeprefix(prefix) for name in partial if name.startswith(prefix))


def _narrowed(schema: Schema) -> Iterator[tuple[str, Any, Any]]:
    for name, reader in schema.load_fields.items():
        only, exclude = getattr(reader, "only", None), getattr(reader, "exclude", ())
        if only is not None or exclude:
            yield name, None if only is None else tuple(only), frozenset(exclude)


def _decides_at_run_time(schema_class: type[Schema]) -> bool:
    return (
        schema_class.__init__ is not Schema.__init__ or schema_class.on_bind_field is not Schema.on_bind_field
    )
