"""A dumped value as JSON says it: decimals and dates are strings, every name is a string.

marshmallow's ``dump`` leaves some Python values as they are (``Decimal`` is one); a digest needs one form.
"""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from marshmallow import missing
from marshmallow.fields import Field

__all__ = ["plain", "written"]


def plain(value: Any) -> Any:
    """Return the value in JSON's types; raise TypeError for one that has no such form."""
    match value:
        case None | bool():
            return value
        case enum.Enum():
            return plain(value.value)
        case str():
            return str(value)
        case int():
            return int(value)
        case float():
            return float(value)
        case Mapping():
            return _object(value)
        case list() | tuple():
            return [plain(item) for item in value]
        case Decimal() if value.is_finite():
            return format(value, "f")
        case dt.datetime() | dt.date() | dt.time():
            return value.isoformat()
        case uuid.UUID():
            return str(value)
    raise TypeError(f"a value of type {type(value).__name__} has no JSON form")


def written(field: Field[Any], value: Any) -> Any:
    """Return the JSON form in which the field writes a loaded value; ``missing`` when it has none."""
    try:
        return plain(field._serialize(value, "value", {"value": value}))
    except Exception:  # the value may be of any type, and the field may be the author's
        return missing


def _object(value: Mapping[Any, Any]) -> dict[str, Any]:
    named = {_name(name): plain(item) for name, item in value.items()}
    if len(named) != len(value):
        raise TypeError("two names of one object are the same in JSON")
    return named


def _name(name: Any) -> str:
    text = plain(name)
    if isinstance(text, str):
        return text
    if isinstance(text, int) and not isinstance(text, bool):
        return str(text)
    raise TypeError(f"a name of type {type(name).__name__} has no JSON form")
