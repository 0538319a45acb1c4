"""What each marshmallow field that is no container reads, as JSON Schema.

A field's class is looked up along its bases; a class of the author's that replaced the reading is reported,
because its base can no longer speak for it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from typing import Any, Final

from marshmallow import fields, missing

from flask_litro_agent.schemas import text_forms
from flask_litro_agent.schemas.plain import plain, written
from flask_litro_agent.schemas.statement import Statement, json_type

__all__ = ["choices", "replaced_reading", "scalar"]

_READING: Final = ("deserialize", "_deserialize", "_validate", "_validate_missing", "_validated")
#: The first second of the year 10000, as a Unix timestamp.
_END_OF_TIME: Final = 253402300800
_NO_SUCH_DAY: Final = "The day must exist in its month."


def scalar(field: fields.Field[Any]) -> Statement:
    """Return what the field reads, without its validators."""
    for base in type(field).__mro__:
        if base in _TYPES:
            return _TYPES[base](field)
    statement = Statement.anything()
    statement.lose(f"Read by {type(field).__name__} in its own way.")
    return statement


def replaced_reading(field: fields.Field[Any]) -> str | None:
    """Return the name of a class outside marshmallow that replaced how the field reads."""
    for base in type(field).__mro__:
        if base.__module__ == fields.__name__:
            return None
        if any(name in vars(base) for name in _READING):
            return base.__name__
    return None


def choices(values: Iterable[Any]) -> dict[str, Any]:
    """Return the keywords for one of these JSON values; for none at all when there are none."""
    listed = list(values)
    if not listed:
        return {"not": {}}
    types = list(dict.fromkeys(json_type(value) for value in listed))
    return {"type": types[0] if len(types) == 1 else types, "enum": listed}


def _string(field: fields.String) -> Statement:
    return Statement({"type": "string"})


def _integer(field: fields.Integer) -> Statement:
    return Statement({"type": "integer"})


def _float(field: fields.Float) -> Statement:
    return Statement({"type": "number"})


def _decimal(field: fields.Decimal) -> Statement:
    notes = ['A decimal number in quotes, such as "12.50".']
    return Statement({"type": "string", "pattern": text_forms.decimal_form(field)}, notes)


def _boolean(field: fields.Boolean) -> Statement:
    known = set(field.truthy) | set(field.falsy)
    if not field.truthy or {True, False} <= known:
        return Statement({"type": "boolean"})
    return Statement(choices(sorted((value for value in known if isinstance(value, (str, int))), key=str)))


def _uuid(field: fields.UUID) -> Statement:
    return Statement({"type": "string", "format": "uuid"})


def _date_time(field: fields.DateTime) -> Statement:
    form = field.format or field.DEFAULT_FORMAT
    local = isinstance(field, fields.NaiveDateTime) and field.timezone is None
    match form:
        case "iso" | "iso8601":
            return _local_date_time() if local else _rfc3339()
        case "rfc" | "rfc822":
            example = "Sat, 31 Jan 2026 09:30:00 " + ("-0000" if local else "+0000")
            return _calendar(text_forms.mail_date_form(local=local), f"A date and time such as {example}.")
        case "timestamp":
            return _timestamp("seconds", _END_OF_TIME)
        case "timestamp_ms":
            return _timestamp("milliseconds", _END_OF_TIME * 1000)
    return _formatted(form)


def _rfc3339() -> Statement:
    keywords = {"type": "string", "format": "date-time", "pattern": text_forms.RFC3339_DATE_TIME}
    return Statement(keywords, ["A date and time such as 2026-01-31T09:30:00Z."])


def _local_date_time() -> Statement:
    return _calendar(
        text_forms.LOCAL_DATE_TIME, "A date and time without an offset, such as 2026-01-31T09:30:00."
    )


def _timestamp(unit: str, end: int) -> Statement:
    notes = [f"A Unix timestamp in {unit}."]
    return Statement({"type": "number", "minimum": 0, "exclusiveMaximum": end}, notes)


def _date(field: fields.Date) -> Statement:
    form = field.format or field.DEFAULT_FORMAT
    if form in field.DESERIALIZATION_FUNCS:
        return Statement({"type": "string", "format": "date"}, ["A date such as 2026-01-31."])
    return _formatted(form)


def _time(field: fields.Time) -> Statement:
    form = field.format or field.DEFAULT_FORMAT
    if form in field.DESERIALIZATION_FUNCS:
        return Statement({"type": "string", "pattern": text_forms.TIME}, ["A time of day such as 09:30:00."])
    return _formatted(form)


def _formatted(form: str) -> Statement:
    pattern = text_forms.strptime_form(form)
    if pattern is not None:
        return _calendar(pattern, f"In the format {form} (strptime).")
    return Statement({"type": "string"}, losses=[f"Must have the format {form} (strptime)."])


def _calendar(pattern: str, note: str) -> Statement:
    return Statement({"type": "string", "pattern": pattern}, [note], [_NO_SUCH_DAY])


def _time_delta(field: fields.TimeDelta) -> Statement:
    bounds = {
        "minimum": written(field, dt.timedelta.min),
        "exclusiveMaximum": written(field, dt.timedelta.max),
    }
    return Statement({"type": "number", **bounds}, [f"In {field.precision}."])


def _ip(field: fields.IP) -> Statement:
    return Statement({"anyOf": [{"type": "string", "format": form} for form in ("ipv4", "ipv6")]})


def _ipv4(field: fields.IPv4) -> Statement:
    return Statement({"type": "string", "format": "ipv4"})


def _ipv6(field: fields.IPv6) -> Statement:
    return Statement({"type": "string", "format": "ipv6"})


def _ipv4_interface(field: fields.IPv4Interface) -> Statement:
    keywords = {"type": "string", "pattern": text_forms.IPV4_INTERFACE}
    return Statement(keywords, ["An IPv4 address with its prefix length, such as 192.168.0.2/24."])


def _ipv6_interface(field: fields.IPv6Interface) -> Statement:
    keywords = {"type": "string", "pattern": text_forms.IPV6_INTERFACE}
    return Statement(keywords, losses=["Must be an IPv6 address with its prefix length, such as fe80::1/64."])


def _ip_interface(field: fields.IPInterface) -> Statement:
    patterns = (text_forms.IPV4_INTERFACE, text_forms.IPV6_INTERFACE)
    either = [{"type": "string", "pattern": pattern} for pattern in patterns]
    loss = "Must be an IP address with its prefix length, such as 192.168.0.2/24 or fe80::1/64."
    return Statement({"anyOf": either}, losses=[loss])


def _enum(field: fields.Enum[Any]) -> Statement:
    if field.by_value is False:
        return Statement(choices(field.enum.__members__))
    values = [written(field, member) for member in field.enum]
    return Statement(choices(value for value in values if value is not missing and value is not None))


def _constant(field: fields.Constant[Any]) -> Statement:
    try:
        constant = plain(field.constant)
    except TypeError:
        return Statement.anything()
    return Statement({"type": json_type(constant), "const": constant})


def _raw(field: fields.Raw) -> Statement:
    return Statement.anything()


_TYPES: Final[dict[type, Callable[[Any], Statement]]] = {
    fields.Boolean: _boolean,
    fields.Constant: _constant,
    fields.Date: _date,
    fields.DateTime: _date_time,
    fields.Decimal: _decimal,
    fields.Enum: _enum,
    fields.Float: _float,
    fields.IP: _ip,
    fields.IPInterface: _ip_interface,
    fields.IPv4: _ipv4,
    fields.IPv4Interface: _ipv4_interface,
    fields.IPv6: _ipv6,
    fields.IPv6Interface: _ipv6_interface,
    fields.Integer: _integer,
    fields.Raw: _raw,
    fields.String: _string,
    fields.Time: _time,
    fields.TimeDelta: _time_delta,
    fields.UUID: _uuid,
}
