"""Raw arguments of a call, made by a model, read by a tool's schema.

A model whose provider makes every parameter required says null for what it leaves out: such nulls are dropped
before the schema reads. Whatever the schema refuses is one InvalidArguments with the message of every field.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, cast

from marshmallow import Schema, ValidationError, fields

from flask_litro_agent.errors import InvalidArguments
from flask_litro_agent.schemas.reading import Partial, droppable, reads_itself, slots
from flask_litro_agent.strict_json import MAX_DEPTH

__all__ = ["given", "load_arguments", "read"]

_MESSAGE: Final = "the arguments do not fit the tool's parameters"
_OUT_OF_RANGE: Final = {"_schema": ["A number is out of range."]}
# int(Decimal("1e999999999")) would fill the memory
_MAX_EXPONENT: Final = 400


def load_arguments(schema: Schema, raw: object) -> dict[str, Any]:
    """Return what the schema loads from a call's arguments, without the nulls that mean "left out".

    Raise InvalidArguments when they are no object, too deep, or refused by a field; what an author's own
    validator raises beside ValidationError passes through.
    """
    return read(schema, given(schema, raw))


def given(schema: Schema, raw: object) -> Any:
    """Return what a call gives of the arguments: all but the nulls that mean "left out"."""
    if not isinstance(raw, Mapping):
        raise _refused({"_schema": [f"Must be an object, not {_kind(raw)}."]})
    if _depth(raw) > MAX_DEPTH:
        raise _refused({"_schema": [f"Must not be nested deeper than {MAX_DEPTH} levels."]})
    return _pruned(schema, raw, None)


def read(schema: Schema, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the schema loads, nothing dropped before; raise InvalidArguments."""
    try:
        loaded = schema.load(raw)
    except ValidationError as error:
        messages = _safe(error.messages)
        raise _refused(messages if isinstance(messages, dict) else {"_schema": messages}) from None
    except OverflowError:  # marshmallow's own, from whole numbers that no float holds
        raise _refused(_OUT_OF_RANGE) from None
    if _has_huge_decimal(loaded):
        raise _refused(_OUT_OF_RANGE)
    return cast("dict[str, Any]", loaded)


def _refused(errors: Mapping[str, Any]) -> InvalidArguments:
    return InvalidArguments(_MESSAGE, errors)


def _kind(raw: object) -> str:
    match raw:
        case None:
            return "null"
        case str():
            return "a string"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case list() | tuple():
            return "an array"
    return type(raw).__name__


def _depth(raw: object) -> int:
    deepest, waiting = 0, [(raw, 1)]
    while waiting and deepest <= MAX_DEPTH:
        value, level = waiting.pop()
        if isinstance(value, (Mapping, list, tuple)):
            deepest = max(deepest, level)
            inner = value.values() if isinstance(value, Mapping) else value
            waiting += [(item, level + 1) for item in inner]
    return deepest


def _pruned(schema: Schema, raw: object, partial: Partial) -> Any:
    if not isinstance(raw, Mapping) or reads_itself(schema):
        return raw
    known = {slot.name: slot for slot in slots(schema, partial)}
    kept: dict[str, Any] = {}
    for name, value in raw.items():
        slot = known.get(name)
        if slot is None:
            kept[name] = value
        elif value is not None or not droppable(slot):
            kept[name] = _pruned_value(slot.field, value, slot.partial)
    return kept


def _pruned_value(field: fields.Field[Any], value: Any, partial: Partial) -> Any:
    match field, value:
        case fields.Pluck(), _:
            return value
        case fields.Nested(), list():
            return [_pruned(field.schema, item, partial) for item in value]
        case fields.Nested(), Mapping():
            return _pruned(field.schema, value, partial)
        case fields.List(), list():
            return [_pruned_value(field.inner, item, partial) for item in value]
        case fields.Tuple(), list() if len(value) == len(field.tuple_fields):
            return [_pruned_value(*pair, partial) for pair in zip(field.tuple_fields, value, strict=True)]
        case fields.Mapping(value_field=fields.Field() as inner), Mapping():
            return {name: _pruned_value(inner, item, partial) for name, item in value.items()}
    return value


def _safe(messages: object) -> dict[str, Any] | list[Any]:
    """Return marshmallow's messages as JSON: names are strings, and so is a translation that waits."""
    match messages:
        case Mapping():
            return {str(name): _safe(inner) for name, inner in messages.items()}
        case list() | tuple():
            return [_safe(inner) if isinstance(inner, (Mapping, list)) else str(inner) for inner in messages]
    return [str(messages)]


def _has_huge_decimal(loaded: object) -> bool:
    waiting = [loaded]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) > _MAX_EXPONENT:
            return True
        if isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, (list, tuple)):
            waiting += value
    return False
