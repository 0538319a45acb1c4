"""A marshmallow schema as one self-contained JSON Schema 2020-12 document.

Nested schemas are ``$defs``, one for each kind of schema: a schema that nests itself with some fields left out is
another kind, and the fields that it leaves out stay out. What JSON Schema cannot say is written into the
description beside it and listed in ``losses``.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from marshmallow import INCLUDE, Schema, fields, missing

from flask_litro_agent.schemas.constraints import constrain
from flask_litro_agent.schemas.field_types import replaced_reading, scalar
from flask_litro_agent.schemas.plain import written
from flask_litro_agent.schemas.reading import (
    Kind,
    Partial,
    Slot,
    hooked,
    kind_of,
    nested_schema,
    processors,
    reads_itself,
    slots,
)
from flask_litro_agent.schemas.statement import Statement, nullable
from flask_litro_agent.schemas.text_forms import WHOLE_NUMBER

__all__ = ["JSONSchema", "json_schema"]

_MAX_NESTING: Final = 32
_BUILT_IN: Final = (list, dict, set, str, int, float, bool)


@dataclass(frozen=True, slots=True)
class JSONSchema:
    """A document, shared by everybody who asks for it: not to be changed; and what it cannot say."""

    document: dict[str, Any]
    losses: tuple[str, ...]


def json_schema(schema: Schema) -> JSONSchema:
    """Return the document of what ``schema.load`` accepts; ConfigurationError for a nested name that leads nowhere.

    Each loss is ``place: sentence``; the place is a path of names, or starts with the name of a definition.
    """
    return _written_once(kind_of(schema))


@functools.lru_cache(maxsize=1024)
def _written_once(kind: Kind) -> JSONSchema:
    writer = _Writer()
    document = writer.root(kind)
    return JSONSchema(document, tuple(writer.losses))


class _Writer:
    """One document while it is written."""

    def __init__(self) -> None:
        self.losses: list[str] = []
        self._definitions: dict[str, dict[str, Any]] = {}
        self._references: dict[Kind, str] = {}
        self._open: dict[Kind, str] = {}

    def root(self, kind: Kind) -> dict[str, Any]:
        document = self._all(kind) if kind.many else self._body(kind, "#", "")
        return {**document, "$defs": self._definitions} if self._definitions else document

    def _all(self, kind: Kind) -> dict[str, Any]:
        return {"type": "array", "items": self._reference(kind, "")}

    def _reference(self, kind: Kind, path: str) -> dict[str, Any]:
        kind = dataclasses.replace(kind, many=False)
        reference = self._references.get(kind) or self._open.get(_unowned(kind))
        if reference is None and len(self._open) >= _MAX_NESTING:
            self.losses.append(f"{path}: Nested deeper than {_MAX_NESTING} levels.")
            return {"type": "object"}
        if reference is None:
            name = self._free_name(kind)
            reference = f"#/$defs/{name}"
            self._definitions[name] = {}
            self._definitions[name] = self._body(kind, reference, f"{name}.")
        return {"$ref": reference}

    def _free_name(self, kind: Kind) -> str:
        name = re.sub("[^A-Za-z0-9_]", "_", kind.schema_class.__name__)
        taken = sum(1 for known in self._definitions if re.fullmatch(f"{name}(?:_[0-9]+)?", known))
        return f"{name}_{taken + 1}" if taken else name

    def _body(self, kind: Kind, reference: str, prefix: str) -> dict[str, Any]:
        self._references[kind] = self._open[_unowned(kind)] = reference
        body = self._object(kind, prefix)
        del self._open[_unowned(kind)]
        return body

    def _object(self, kind: Kind, prefix: str) -> dict[str, Any]:
        place = prefix.rstrip(".") or "(all)"
        if reads_itself(kind.schema):
            loss = f"Read by {kind.schema_class.__name__} in its own way."
            self.losses.append(f"{place}: {loss}")
            return {"type": "object", "description": loss}
        listed = list(slots(kind.schema, kind.partial))
        body: dict[str, Any] = {"type": "object", "properties": {}}
        for slot in listed:
            body["properties"][slot.name] = self._property(kind.schema, slot, f"{prefix}{slot.name}")
        if required := [slot.name for slot in listed if slot.required]:
            body["required"] = required
        if kind.unknown != INCLUDE:
            body["additionalProperties"] = False
        self._describe(body, None, Statement({}, losses=list(_schema_losses(kind.schema))), place)
        return body

    def _property(self, schema: Schema, slot: Slot, path: str) -> dict[str, Any]:
        extra = [
            f"Checked by {name}."
            for name, options in hooked(schema, "validates")
            if slot.attribute in options["field_names"]
        ]
        return self._field(slot.field, path, slot.partial, extra)

    def _field(
        self, field: fields.Field[Any], path: str, partial: Partial, extra: list[str] | None = None
    ) -> dict[str, Any]:
        statement = self._value(field, path, partial)
        for validator in field.validators:
            constrain(statement, field, validator)
        statement.losses += [*_field_losses(field), *(extra or ())]
        keywords = nullable(statement.keywords) if field.allow_none else statement.keywords
        keywords = {**keywords, **_default(field, statement)}
        self._describe(keywords, field.metadata.get("description"), statement, path)
        return keywords

    def _value(self, field: fields.Field[Any], path: str, partial: Partial) -> Statement:
        match field:
            case fields.Pluck():
                return Statement(self._plucked(field, path, partial))
            case fields.Nested():
                return Statement(self._nested(field, path, partial))
            case fields.List():
                return Statement({"type": "array", "items": self._field(field.inner, f"{path}[]", partial)})
            case fields.Tuple():
                return Statement(self._tuple(field, path, partial))
            case fields.Mapping():
                return self._mapping(field, path, partial)
        return scalar(field)

    def _nested(self, field: fields.Nested, path: str, partial: Partial) -> dict[str, Any]:
        schema = nested_schema(field, path)
        reference = self._reference(kind_of(schema, unknown=field.unknown, partial=partial), path)
        return {"type": "array", "items": reference} if schema.many else reference

    def _plucked(self, field: fields.Pluck, path: str, partial: Partial) -> dict[str, Any]:
        schema = nested_schema(field, path)
        inner = schema.load_fields.get(field.field_name)
        if inner is None:
            return {"not": {}}
        if field.many:
            return {"type": "array", "items": self._field(inner, f"{path}[]", partial)}
        keywords = self._field(inner, path, partial)
        keywords.pop("default", None)
        return keywords if field.allow_none else _without_null(keywords)

    def _tuple(self, field: fields.Tuple, path: str, partial: Partial) -> dict[str, Any]:
        items = [
            self._field(inner, f"{path}[{index}]", partial) for index, inner in enumerate(field.tuple_fields)
        ]
        size = {"minItems": len(items), "maxItems": len(items)}
        return {"type": "array", **({"prefixItems": items} if items else {}), "items": False, **size}

    def _mapping(self, field: fields.Mapping[Any], path: str, partial: Partial) -> Statement:
        statement = Statement({"type": "object"})
        if field.key_field is not None:
            self._names(statement, field.key_field, f"{path}{{}}")
        if field.value_field is not None:
            statement.keywords["additionalProperties"] = self._field(field.value_field, f"{path}.*", partial)
        return statement

    def _names(self, statement: Statement, field: fields.Field[Any], path: str) -> None:
        if isinstance(field, fields.Integer):
            names: dict[str, Any] = {"not": {}} if field.strict else {"pattern": WHOLE_NUMBER}
            statement.losses += [
                f"Each name: checked as {type(field).__name__}." for _ in field.validators[:1]
            ]
        else:
            names = self._field(field, path, None)
        if names.get("type") == "string" or isinstance(field, fields.Integer):
            statement.keywords["propertyNames"] = names
        else:
            statement.lose(f"Each name must be read by {type(field).__name__}.")

    def _describe(
        self, keywords: dict[str, Any], description: object, statement: Statement, place: str
    ) -> None:
        known = keywords.pop("description", "")
        said = [str(description) if description is not None else known, *statement.notes, *statement.losses]
        if text := " ".join(filter(None, said)):
            keywords["description"] = text
        self.losses += [f"{place}: {loss}" for loss in statement.losses]


def _unowned(kind: Kind) -> Kind:
    return dataclasses.replace(kind, own=None)


def _schema_losses(schema: Schema) -> Iterator[str]:
    for name, _ in hooked(schema, "pre_load"):
        yield f"Changed by {name} before it is read."
    for name, _ in hooked(schema, "validates_schema"):
        yield f"Checked by {name}."


def _field_losses(field: fields.Field[Any]) -> Iterator[str]:
    if processors(field, "pre_load"):
        yield "Changed by the tool before it is read."
    if class_name := replaced_reading(field):
        yield f"Read by {class_name} in its own way."


def _default(field: fields.Field[Any], statement: Statement) -> dict[str, Any]:
    default = field.load_default
    if callable(default) and default not in _BUILT_IN:
        statement.lose("If it is left out, the tool computes it.")
        return {}
    value = default() if callable(default) else default
    form = missing if value is missing else written(field, value)
    return {} if form is missing else {"default": form}


def _without_null(keywords: dict[str, Any]) -> dict[str, Any]:
    kept = dict(keywords)
    if isinstance(kept.get("type"), list):
        types = [kind for kind in kept["type"] if kind != "null"]
        kept["type"] = types[0] if len(types) == 1 else types
    for keyword in ("enum", "anyOf"):
        if keyword in kept:
            kept[keyword] = [item for item in kept[keyword] if item is not None and item != {"type": "null"}]
    return kept
