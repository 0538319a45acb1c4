"""What each marshmallow validator demands, as JSON Schema.

A validator sees the loaded value, a schema the written one: bounds and choices are written by the field first. A
validator that JSON Schema has no word for is a loss that says its name.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any, Final

from marshmallow import fields, missing, validate

from flask_litro_agent.schemas.field_types import choices
from flask_litro_agent.schemas.patterns import ecma_pattern
from flask_litro_agent.schemas.plain import written
from flask_litro_agent.schemas.statement import Statement
from flask_litro_agent.schemas.text_forms import EMAIL, url_form

__all__ = ["constrain"]

Reader = fields.Field[Any]
_MAX_CHOICES: Final = 1000
# fields whose values are each written in one way only
_ONE_FORM: Final = (fields.String, fields.Integer, fields.Float, fields.Boolean, fields.Date, fields.Raw)


def constrain(statement: Statement, field: Reader, validator: Any) -> None:
    """Add to the statement what the validator demands."""
    handler = _HANDLERS.get(_class_that_calls(validator))
    unknown = statement.untyped and not isinstance(field, fields.Raw)
    if handler is None or unknown:
        statement.lose(_by_name(validator))
    else:
        handler(statement, field, validator)


def _class_that_calls(validator: Any) -> type | None:
    return next((base for base in type(validator).__mro__ if "__call__" in vars(base)), None)


def _by_name(validator: Any) -> str:
    if isinstance(validator, validate.Predicate):
        return f"Must pass {validator.method}()."
    if not inspect.isroutine(validator):
        return f"Checked by {type(validator).__name__}."
    if validator.__name__ == "<lambda>":
        return "Checked by the tool."
    says = (validator.__doc__ or "").strip().partition("\n")[0]
    return f"Checked by {validator.__name__}" + (f": {says}" if says else ".")


def _and(statement: Statement, field: Reader, validator: validate.And) -> None:
    for part in validator.validators:
        constrain(statement, field, part)


def _range(statement: Statement, field: Reader, validator: validate.Range) -> None:
    bounds = (
        (validator.min, validator.min_inclusive, "minimum", "exclusiveMinimum", ("At least", "More than")),
        (validator.max, validator.max_inclusive, "maximum", "exclusiveMaximum", ("At most", "Less than")),
    )
    for bound, inclusive, closed, opened, words in bounds:
        if bound is None:
            continue
        number = _number(statement, field, bound)
        if number is None:
            statement.lose(f"{words[0] if inclusive else words[1]} {_text(field, bound)}.")
        elif math.isfinite(number):
            _bound(statement, closed if inclusive else opened, number)


def _number(statement: Statement, field: Reader, bound: Any) -> int | float | None:
    if statement.untyped and isinstance(bound, (int, float)):
        statement.keywords["type"] = "number"
    if statement.keywords.get("type") not in ("integer", "number"):
        return None
    if isinstance(field, (fields.Integer, fields.Float, fields.Raw)):
        exact = isinstance(bound, (int, float)) and not isinstance(bound, bool)
        return bound if exact else None
    number = written(field, bound)
    return number if isinstance(number, (int, float)) else None


def _bound(statement: Statement, keyword: str, number: int | float) -> None:
    tighter = min if keyword.endswith("aximum") else max
    statement.keywords[keyword] = tighter(number, statement.keywords.get(keyword, number))


def _length(statement: Statement, field: Reader, validator: validate.Length) -> None:
    low, high = (
        (validator.min, validator.max) if validator.equal is None else (validator.equal, validator.equal)
    )
    sized = _sized(statement, field)
    if not sized:
        statement.lose(_length_in_words(low, high))
    for noun in sized:
        if low is not None:
            _bound(statement, f"min{noun}", low)
        if high is not None:
            _bound(statement, f"max{noun}", high)


def _sized(statement: Statement, field: Reader) -> tuple[str, ...]:
    if statement.untyped:
        statement.keywords["type"] = ["string", "array", "object"]
    match statement.keywords.get("type"):
        case ["string", "array", "object"]:
            return ("Length", "Items", "Properties")
        case "string" if isinstance(field, fields.String):
            return ("Length",)
        case "array":
            return ("Items",)
        case "object" if isinstance(field, fields.Mapping):
            return ("Properties",)
    return ()


def _length_in_words(low: int | None, high: int | None) -> str:
    least = f"at least {low}" if low is not None else ""
    most = f"at most {high}" if high is not None else ""
    return f"The length must be {' and '.join(filter(None, (least, most)))}."


def _one_of(statement: Statement, field: Reader, validator: validate.OneOf) -> None:
    _choose(statement, field, validator.choices)


def _equal(statement: Statement, field: Reader, validator: validate.Equal) -> None:
    _choose(statement, field, [validator.comparable])


def _choose(statement: Statement, field: Reader, values: Iterable[Any]) -> None:
    listed = _listed(values)
    if listed is None:
        statement.lose(f"One of more than {_MAX_CHOICES} values that the tool knows.")
        return
    forms = [form for value in listed if (form := written(field, value)) is not missing]
    kept = [form for form in forms if _reads_as(field, form, listed)]
    if statement.untyped:
        statement.keywords = {**_without_type(statement), **choices(kept)}
    elif not kept:
        statement.keywords["not"] = {}
    else:
        before = statement.keywords.get("enum", kept)
        statement.keywords["enum"] = [form for form in before if form in kept]


def _none_of(statement: Statement, field: Reader, validator: validate.NoneOf) -> None:
    listed = _listed(validator.iterable)
    forms = [form for value in listed or () if (form := written(field, value)) is not missing]
    if statement.untyped:
        forms = _with_twins(forms)
    if forms:
        statement.require("not", {"enum": forms})
    if listed is None or not isinstance(field, _ONE_FORM):
        statement.lose("None of: " + ", ".join(str(form) for form in forms[:20]) + ", however it is written.")


def _contains_only(statement: Statement, field: Reader, validator: validate.ContainsOnly) -> None:
    _each(statement, field, validator, lambda item, reader: _choose(item, reader, validator.choices))


def _contains_none_of(statement: Statement, field: Reader, validator: validate.ContainsNoneOf) -> None:
    _each(statement, field, validator, lambda item, reader: _none_of(item, reader, validator))


def _each(
    statement: Statement, field: Reader, validator: Any, demand: Callable[[Statement, Reader], None]
) -> None:
    items = statement.keywords.get("items")
    if not isinstance(field, fields.List) or not isinstance(items, dict) or "$ref" in items:
        statement.lose(_by_name(validator))
        return
    item = Statement(dict(items))
    demand(item, field.inner)
    statement.keywords["items"] = item.keywords
    statement.losses += [f"Each item: {loss}" for loss in item.losses]


def _regexp(statement: Statement, field: Reader, validator: validate.Regexp) -> None:
    pattern = ecma_pattern(validator.regex)
    if pattern is None or not _is_text(statement, field):
        statement.lose(f"Must match {validator.regex!r} from its start.")
    else:
        statement.require("pattern", pattern)


def _email(statement: Statement, field: Reader, validator: validate.Email) -> None:
    if not _is_text(statement, field):
        statement.lose(_by_name(validator))
        return
    statement.require("format", "email")
    statement.require("pattern", EMAIL)


def _url(statement: Statement, field: Reader, validator: validate.URL) -> None:
    if not _is_text(statement, field):
        statement.lose(_by_name(validator))
        return
    statement.require("format", "uri-reference" if validator.relative else "uri")
    statement.require("pattern", url_form(validator))


def _is_text(statement: Statement, field: Reader) -> bool:
    if statement.untyped:
        statement.keywords["type"] = "string"
    return statement.keywords.get("type") == "string" and isinstance(field, (fields.String, fields.Raw))


def _text(field: Reader, value: Any) -> str:
    form = written(field, value)
    return str(value if form is missing else form)


def _listed(values: Iterable[Any]) -> list[Any] | None:
    listed = list(itertools.islice(values, _MAX_CHOICES + 1))
    if isinstance(values, (set, frozenset)):
        listed.sort(key=str)
    return listed if len(listed) <= _MAX_CHOICES else None


def _reads_as(field: Reader, form: Any, listed: list[Any]) -> bool:
    if form is None:
        return bool(field.allow_none) and None in listed
    try:
        return field._deserialize(form, "value", {"value": form}) in listed
    except Exception:  # the choice may be of any type, and the field may be the author's
        return False


def _with_twins(forms: list[Any]) -> list[Any]:
    """Python holds 1 and true, 0 and false for equal; JSON Schema does not."""
    twins = [bool(form) if not isinstance(form, bool) else int(form) for form in forms if form in (0, 1)]
    return [*forms, *(twin for twin in twins if not any(twin is form for form in forms))]


def _without_type(statement: Statement) -> dict[str, Any]:
    return {name: value for name, value in statement.keywords.items() if name != "type"}


_HANDLERS: Final[dict[type | None, Callable[[Statement, Reader, Any], None]]] = {
    validate.And: _and,
    validate.ContainsNoneOf: _contains_none_of,
    validate.ContainsOnly: _contains_only,
    validate.Email: _email,
    validate.Equal: _equal,
    validate.Length: _length,
    validate.NoneOf: _none_of,
    validate.OneOf: _one_of,
    validate.Range: _range,
    validate.Regexp: _regexp,
    validate.URL: _url,
}
