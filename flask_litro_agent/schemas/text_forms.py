"""Patterns of the texts that fields read: dates, numbers, addresses.

Each pattern accepts at most what the field accepts; every quantifier is followed by a character that it cannot
eat, so that they are linear in any engine. Sources: RFC 3339 (date-time), RFC 5322 (mail dates), RFC 3986 (URL).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from marshmallow import fields, validate

from flask_litro_agent.schemas.patterns import literal

__all__ = [
    "EMAIL",
    "IPV4_INTERFACE",
    "IPV6_INTERFACE",
    "LOCAL_DATE_TIME",
    "RFC3339_DATE_TIME",
    "TIME",
    "WHOLE_NUMBER",
    "decimal_form",
    "mail_date_form",
    "strptime_form",
    "url_form",
]

_MONTH: Final = "(?:0[1-9]|1[0-2])"
_DAY: Final = "(?:0[1-9]|[12][0-9]|3[01])"
_HOUR: Final = "(?:[01][0-9]|2[0-3])"
_SIXTY: Final = "[0-5][0-9]"
_DATE: Final = f"[0-9]{{4}}-{_MONTH}-{_DAY}"
_CLOCK: Final = rf"{_HOUR}:{_SIXTY}:{_SIXTY}(?:\.[0-9]+)?"
_OFFSET: Final = f"(?:Z|[+-]{_HOUR}:{_SIXTY})"

#: As RFC 3339 has it, in capital letters: Python's reader refuses a small t or z.
RFC3339_DATE_TIME: Final = f"^{_DATE}T{_CLOCK}{_OFFSET}$"
LOCAL_DATE_TIME: Final = f"^{_DATE}T{_CLOCK}$"
#: JSON Schema's own ``time`` demands an offset, which a time of day seldom has.
TIME: Final = rf"^{_HOUR}:{_SIXTY}(?::{_SIXTY}(?:\.[0-9]+)?)?{_OFFSET}?$"

WHOLE_NUMBER: Final = "^(?:0|-?[1-9][0-9]*)$"

_LABEL: Final = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DOMAIN: Final = rf"(?:{_LABEL}\.)+[A-Za-z]{{2,}}"
_OCTET: Final = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4: Final = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_ATOM: Final = r"[-!#$%&'*+/=?^`{}|~A-Za-z0-9_]+"

EMAIL: Final = rf"^{_ATOM}(?:\.{_ATOM})*@{_DOMAIN}$"
IPV4_INTERFACE: Final = f"^{_IPV4}/(?:3[0-2]|[12]?[0-9])$"
#: Not the whole grammar of an IPv6 address: its eight forms are longer than they help.
IPV6_INTERFACE: Final = "^[0-9A-Fa-f:.]+:[0-9A-Fa-f:.]*/(?:12[0-8]|1[01][0-9]|[1-9]?[0-9])$"

_DIRECTIVES: Final = {
    "Y": "[0-9]{4}",
    "y": "[0-9]{2}",
    "m": _MONTH,
    "d": _DAY,
    "H": _HOUR,
    "I": "(?:0[1-9]|1[0-2])",
    "M": _SIXTY,
    "S": _SIXTY,
    "f": "[0-9]{1,6}",
    "j": "(?:00[1-9]|0[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-5])",
    "z": rf"(?:Z|[+-]{_HOUR}:?{_SIXTY})",
    "%": "%",
}
_WEEKDAYS: Final = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTHS: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_AWARE: Final = rf"(?:GMT|\+0000|[+-](?:0[1-9]|1[0-9]|2[0-3]){_SIXTY})"
# the precision of Python's default decimal context: quantize fails beyond it
_DIGITS: Final = 28


def strptime_form(form: str) -> str | None:
    """Return the pattern of a ``strptime`` format; None for directives that depend on the locale."""
    parts = list(_strptime_parts(form))
    return None if None in parts else "^" + "".join(part for part in parts if part) + "$"


def mail_date_form(*, local: bool) -> str:
    """Return the pattern of RFC 5322 dates: with a zone, or with ``-0000``, which says that there is none."""
    zone = "-0000" if local else _AWARE
    return f"^(?:{_WEEKDAYS}, )?{_DAY} {_MONTHS} [0-9]{{4}} {_HOUR}:{_SIXTY}:{_SIXTY} {zone}$"


def decimal_form(field: fields.Decimal) -> str:
    """Return the pattern of the decimals that the field takes without rounding."""
    if field.places is None:
        return r"^-?[0-9]+(?:\.[0-9]+)?$"
    places = -int(field.places.as_tuple().exponent)
    whole = f"-?[0-9]{{1,{max(1, _DIGITS - max(places, 0))}}}"
    return f"^{whole}$" if places <= 0 else rf"^{whole}(?:\.[0-9]{{1,{places}}})?$"


def url_form(validator: validate.URL) -> str:
    """Return a pattern for the plain URLs that the validator takes: an ASCII host, no user name."""
    host = "|".join([_DOMAIN, "localhost", _IPV4, *([] if validator.require_tld else [_LABEL])])
    schemes = "|".join(literal(scheme) for scheme in sorted(validator.schemes))
    absolute = f"(?:{schemes})://(?:{host})(?::[0-9]+)?"
    path = "(?:/|[/?#][!-~]+)"
    if not validator.relative:
        return f"^{absolute}{path}?$"
    return f"^(?:{absolute}{path}?|{path})$" if validator.absolute else f"^{path}$"


def _strptime_parts(form: str) -> Iterator[str | None]:
    characters = iter(form)
    for character in characters:
        if character == "%":
            yield _DIRECTIVES.get(next(characters, ""))
        else:
            yield literal(character)
