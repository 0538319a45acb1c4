"""The document's verdict against ``Schema.load``, for every field and every value.

The document may accept nothing that ``load`` rejects, apart from ``CANNOT_SAY``. What ``load`` accepts beyond the
document is coercion, and each kind of it is in ``COERCIONS``.
"""

from __future__ import annotations

import datetime as dt
import enum
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError as Rejected
from jsonschema.validators import extend
from marshmallow import Schema, ValidationError, fields, validate

from flask_litro_agent.schemas import anthropic_strict, json_schema


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


class Address(Schema):
    zip = fields.String(required=True, validate=validate.Length(5))
    city = fields.String()


DAY = dt.date(2026, 1, 31)
FIELDS: dict[str, Any] = {
    "string": fields.String(),
    "string_null": fields.String(allow_none=True),
    "string_length": fields.String(validate=validate.Length(2, 5)),
    "string_exact": fields.String(validate=validate.Length(equal=3)),
    "string_one_of": fields.String(validate=validate.OneOf(["abc", "1", "on"])),
    "string_one_of_null": fields.String(validate=validate.OneOf(["abc"]), allow_none=True),
    "string_none_of": fields.String(validate=validate.NoneOf(["abc", ""])),
    "string_equal": fields.String(validate=validate.Equal("abc")),
    "string_regexp": fields.String(validate=validate.Regexp(r"[a-z]+\Z")),
    "string_regexp_word": fields.String(validate=validate.Regexp(r"^(?P<word>\w+)(\s\w+)*$")),
    "string_and": fields.String(validate=validate.And(validate.Length(min=2), validate.Regexp("a|[0-9]"))),
    "integer": fields.Integer(),
    "integer_strict": fields.Integer(strict=True),
    "integer_null": fields.Integer(allow_none=True),
    "integer_range": fields.Integer(validate=validate.Range(1, 5)),
    "integer_exclusive": fields.Integer(
        validate=validate.Range(0, 3, min_inclusive=False, max_inclusive=False)
    ),
    "integer_one_of": fields.Integer(validate=validate.OneOf([1, 3])),
    "integer_none_of": fields.Integer(validate=validate.NoneOf([0, 3])),
    "float": fields.Float(),
    "float_range": fields.Float(validate=validate.Range(0, 3.7, max_inclusive=False)),
    "decimal": fields.Decimal(),
    "decimal_places": fields.Decimal(places=2),
    "decimal_one_of": fields.Decimal(validate=validate.OneOf([Decimal("3.7"), Decimal(3)])),
    "boolean": fields.Boolean(),
    "boolean_null": fields.Boolean(allow_none=True),
    "boolean_words": fields.Boolean(truthy={"yes"}, falsy={"no"}),
    "uuid": fields.UUID(),
    "date": fields.Date(),
    "date_format": fields.Date(format="%d.%m.%Y"),
    "date_one_of": fields.Date(validate=validate.OneOf([DAY])),
    "time": fields.Time(),
    "time_format": fields.Time(format="%H:%M"),
    "date_time": fields.DateTime(),
    "date_time_rfc": fields.DateTime(format="rfc"),
    "date_time_format": fields.DateTime(format="%Y-%m-%d %H:%M"),
    "date_time_zone": fields.DateTime(format="%Y-%m-%dT%H:%M%z"),
    "date_time_timestamp": fields.DateTime(format="timestamp"),
    "date_time_timestamp_ms": fields.DateTime(format="timestamp_ms"),
    "naive": fields.NaiveDateTime(),
    "naive_zone": fields.NaiveDateTime(timezone=dt.UTC),
    "naive_rfc": fields.NaiveDateTime(format="rfc"),
    "aware": fields.AwareDateTime(),
    "aware_default": fields.AwareDateTime(default_timezone=dt.UTC),
    "aware_rfc": fields.AwareDateTime(format="rfc"),
    "time_delta": fields.TimeDelta(),
    "time_delta_days": fields.TimeDelta(precision="days", validate=validate.Range(max=dt.timedelta(3))),
    "email": fields.Email(),
    "url": fields.Url(),
    "url_relative": fields.Url(relative=True),
    "url_schemes": fields.Url(schemes={"https"}, require_tld=False),
    "ip": fields.IP(),
    "ipv4": fields.IPv4(),
    "ipv6": fields.IPv6(),
    "ip_interface": fields.IPInterface(),
    "ipv4_interface": fields.IPv4Interface(),
    "ipv6_interface": fields.IPv6Interface(),
    "enum_name": fields.Enum(Colour),
    "enum_value": fields.Enum(Colour, by_value=True),
    "enum_text": fields.Enum(Size, by_value=True, allow_none=True),
    "enum_integer": fields.Enum(Colour, by_value=fields.Integer),
    "constant": fields.Constant("abc"),
    "raw": fields.Raw(),
    "raw_null": fields.Raw(allow_none=True),
    "raw_one_of": fields.Raw(validate=validate.OneOf([1, "abc", None])),
    "raw_none_of": fields.Raw(validate=validate.NoneOf([1, "abc"])),
    "raw_range": fields.Raw(validate=validate.Range(min=1)),
    "raw_length": fields.Raw(validate=validate.Length(1, 3)),
    "list": fields.List(fields.Integer(strict=True)),
    "list_null": fields.List(fields.String(allow_none=True), allow_none=True),
    "list_length": fields.List(fields.Raw(allow_none=True), validate=validate.Length(1, 2)),
    "list_only": fields.List(fields.String(), validate=validate.ContainsOnly(["a", "abc"])),
    "list_none_of": fields.List(fields.String(), validate=validate.ContainsNoneOf(["a"])),
    "tuple": fields.Tuple((fields.String(), fields.Integer(strict=True))),
    "dict": fields.Dict(),
    "dict_values": fields.Dict(values=fields.Integer(strict=True)),
    "dict_keys": fields.Dict(keys=fields.String(validate=validate.Length(max=1))),
    "dict_integers": fields.Dict(keys=fields.Integer()),
    "dict_length": fields.Dict(validate=validate.Length(max=1)),
    "nested": fields.Nested(Address),
    "nested_null": fields.Nested(Address, allow_none=True),
    "nested_many": fields.Nested(Address, many=True),
    "nested_only": fields.Nested(Address, only=("city",)),
    "nested_unknown": fields.Nested(Address, unknown="include"),
    "pluck": fields.Pluck(Address, "zip"),
    "pluck_many": fields.Pluck(Address, "zip", many=True),
}
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    3,
    3.0,
    3.7,
    -0.5,
    5,
    10**20,
    10**400,
    -(10**400),
    1e300,
    1796021904,
    253402300800,
    "",
    "a",
    "abc",
    "abcdef",
    "abc\n",
    "a b",
    "äöü",
    "٣",
    "1",
    "-1",
    "3.7",
    "3.70",
    "1e3",
    "12345678901234567890123456789012345.5",
    "NaN",
    "on",
    "yes",
    "true",
    "RED",
    "s",
    "2026-01-31",
    "2026-02-30",
    "20260131",
    "31.01.2026",
    "31.02.2026",
    "1.1.2026",
    "09:30",
    "09:30:00",
    "25:00:00",
    "09:30:00Z",
    "2026-01-31T09:30:00",
    "2026-02-30T09:30:00",
    "2026-01-31T09:30:00Z",
    "2026-01-31t09:30:00z",
    "2026-01-31T09:30:00+02:00",
    "2026-01-31T09:30:00.123456789Z",
    "2026-01-31T09:30+0200",
    "2026-02-30T09:30+0200",
    "2026-01-31 09:30",
    "2026-02-30 09:30",
    "0000-01-01T00:00:00",
    "Sat, 31 Jan 2026 09:30:00 +0000",
    "Mon, 30 Feb 2026 09:30:00 +0000",
    "Sat, 31 Jan 2026 09:30:00 -0000",
    "30 Feb 2026 09:30:00 -0000",
    "a@b",
    "a@example.com",
    "a..b@example.com",
    "ü@example.com",
    "a@localhost",
    "http://example.com",
    "HTTP://example.com",
    "https://example.com/a?b=c#d",
    "https://intranet/",
    "http://localhost:8000",
    "http://exa mple.com",
    "javascript://example.com",
    "urn:isbn:1",
    "/relative",
    "192.168.0.1",
    "256.1.1.1",
    "::1",
    "fe80::1%eth0",
    "192.168.0.1/24",
    "192.168.0.1/33",
    "fe80::1/64",
    ":::/64",
    "8c7c2f5e-3c52-4d3c-9d4a-5f0a6e2e8c11",
    "8c7c2f5e3c524d3c9d4a5f0a6e2e8c11",
    [],
    [None],
    ["a"],
    ["abc", "a", "b"],
    [1, 2],
    [1.0],
    [True],
    ["a", 1],
    ["a", 1, 2],
    [{}],
    [{"zip": "12345"}],
    {},
    {"a": 1},
    {"a": None},
    {"a": "b", "long": "c"},
    {"1": 2},
    {"zip": "12345"},
    {"zip": "1"},
    {"zip": "12345", "city": None},
    {"zip": "12345", "country": "PT"},
    {"city": "Lisbon"},
]

NO_SUCH_DAY = "no format but date and date-time knows the calendar"
SAME_NUMBER = "1.0 and 1 are one number to JSON Schema, and two types to Python"
BEYOND_DOUBLE = "numbers have no size in JSON (RFC 8259, section 6); a double has one"
NO_FORMAT = "there is no format for an address with its prefix length"
CANNOT_SAY = [
    ("integer_strict", 3.0, SAME_NUMBER),
    ("integer_strict", 1e300, SAME_NUMBER),
    ("list", [1.0], SAME_NUMBER),
    ("float", 10**400, BEYOND_DOUBLE),
    ("float", -(10**400), BEYOND_DOUBLE),
    ("date_format", "31.02.2026", NO_SUCH_DAY),
    ("date_time_rfc", "Mon, 30 Feb 2026 09:30:00 +0000", NO_SUCH_DAY),
    ("date_time_format", "2026-02-30 09:30", NO_SUCH_DAY),
    ("date_time_zone", "2026-02-30T09:30+0200", NO_SUCH_DAY),
    ("naive", "2026-02-30T09:30:00", NO_SUCH_DAY),
    ("naive", "0000-01-01T00:00:00", NO_SUCH_DAY),
    ("naive_rfc", "30 Feb 2026 09:30:00 -0000", NO_SUCH_DAY),
    ("aware_rfc", "Mon, 30 Feb 2026 09:30:00 +0000", NO_SUCH_DAY),
    ("ip_interface", ":::/64", NO_FORMAT),
    ("ipv6_interface", ":::/64", NO_FORMAT),
]
NUMBER_AS_TEXT = "a number written as text"
OTHER_FORM = "another text form of the same value"
NO_OFFSET = "a form without offset, without time, or with another separator"
#: What ``load`` bends into shape beyond the document: of which Python types, and what that is.
COERCIONS: dict[str, tuple[tuple[type, ...], str]] = {
    "string_regexp_word": ((str,), "letters beyond ASCII, and a last newline before Python's $"),
    "integer": ((str, float), NUMBER_AS_TEXT + "; a fraction is cut off"),
    "integer_null": ((str, float), NUMBER_AS_TEXT + "; a fraction is cut off"),
    "integer_range": ((str, float), NUMBER_AS_TEXT + "; a fraction is cut off"),
    "integer_exclusive": ((str, float), NUMBER_AS_TEXT + "; a fraction is cut off"),
    "integer_one_of": ((str, float), NUMBER_AS_TEXT + "; a fraction is cut off"),
    "integer_none_of": ((str, float), NUMBER_AS_TEXT + "; a fraction is cut off"),
    "float": ((str,), NUMBER_AS_TEXT),
    "float_range": ((str,), NUMBER_AS_TEXT),
    "decimal": ((str, int, float), "a number that has been a float, or a text with an exponent"),
    "decimal_places": ((str, int, float), "a number that has been a float, or a text with an exponent"),
    "decimal_one_of": ((str, int, float), "a number that has been a float, or " + OTHER_FORM),
    "boolean": ((str, int), "a word or a number for true and false"),
    "boolean_null": ((str, int), "a word or a number for true and false"),
    "uuid": ((str,), OTHER_FORM),
    "date": ((str,), OTHER_FORM),
    "date_format": ((str,), OTHER_FORM),
    "date_one_of": ((str,), OTHER_FORM),
    "time": ((str,), OTHER_FORM),
    "date_time": ((str,), NO_OFFSET),
    "date_time_rfc": ((str,), NO_OFFSET),
    "date_time_timestamp": ((str,), NUMBER_AS_TEXT),
    "date_time_timestamp_ms": ((str,), NUMBER_AS_TEXT),
    "naive": ((str,), NO_OFFSET),
    "naive_zone": ((str,), NO_OFFSET),
    "aware": ((str,), NO_OFFSET),
    "aware_default": ((str,), NO_OFFSET),
    "time_delta": ((str, bool), NUMBER_AS_TEXT + ", or a boolean"),
    "time_delta_days": ((str, bool), NUMBER_AS_TEXT + ", or a boolean"),
    "email": ((str,), "an address beyond ASCII or without a domain"),
    "url": ((str,), "a scheme in capitals"),
    "url_relative": ((str,), "a scheme in capitals"),
    "ip": ((str,), "an address with a zone"),
    "ipv6": ((str,), "an address with a zone"),
    "ip_interface": ((str,), "an address without its prefix length"),
    "ipv4_interface": ((str,), "an address without its prefix length"),
    "ipv6_interface": ((str,), "an address without its prefix length"),
    "enum_value": ((bool,), "true and 1 are equal in Python"),
    "enum_integer": ((str,), NUMBER_AS_TEXT),
    "constant": ((object,), "whatever is sent becomes the constant"),
    "raw_one_of": ((bool,), "true and 1 are equal in Python"),
    "raw_range": ((bool,), "true and 1 are equal in Python"),
}


def _ecma_pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[Rejected]:
    """JSON Schema's ``$`` is the end of the text; Python's is also before a last newline."""
    end = re.sub(r"\$(?=$|\)|\|)", r"\\Z", pattern)
    if isinstance(instance, str) and not re.search(end, instance):
        yield Rejected(f"{instance!r} does not match {pattern!r}")


Judge = extend(Draft202012Validator, {"pattern": _ecma_pattern})


def _schema(name: str) -> Schema:
    class Params(Schema):
        value = FIELDS[name]

        def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
            field_obj.required = True

    return Params()


def _loads(schema: Schema, value: Any) -> bool:
    try:
        schema.load({"value": value})
    except (ValidationError, OverflowError, TypeError):  # the last from Range on texts and Length on numbers
        return False
    return True


def _same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and left == right


def _differences(name: str, document: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    judge = Judge(document, format_checker=Judge.FORMAT_CHECKER)
    schema = _schema(name)
    verdicts = [(value, judge.is_valid({"value": value}), _loads(schema, value)) for value in VALUES]
    looser = [value for value, accepted, loaded in verdicts if accepted and not loaded]
    tighter = [value for value, accepted, loaded in verdicts if loaded and not accepted]
    return looser, tighter


def test_there_are_at_least_2500_pairs() -> None:
    assert len(FIELDS) >= 50
    assert len(VALUES) >= 55
    assert len(FIELDS) * len(VALUES) >= 2500


@pytest.mark.parametrize("name", FIELDS)
def test_the_document_accepts_nothing_that_load_rejects(name: str) -> None:
    looser, _ = _differences(name, json_schema(_schema(name)).document)

    excused = [value for field, value, _ in CANNOT_SAY if field == name]
    assert looser == [value for value in looser if any(_same(value, known) for known in excused)]
    assert len(looser) == len(excused), "an exception that is no longer one"


@pytest.mark.parametrize("name", FIELDS)
def test_load_accepts_more_only_by_coercion(name: str) -> None:
    _, tighter = _differences(name, json_schema(_schema(name)).document)

    types, kind = COERCIONS.get(name, ((), "none"))
    assert [value for value in tighter if not isinstance(value, types)] == [], kind
    assert bool(tighter) == (name in COERCIONS)


@pytest.mark.parametrize("name", FIELDS)
def test_a_strict_form_for_anthropic_accepts_what_the_document_accepts(name: str) -> None:
    document = json_schema(_schema(name)).document
    plain = Judge(document, format_checker=Judge.FORMAT_CHECKER)
    accepted = [value for value in VALUES if plain.is_valid({"value": value})]

    for form in filter(None, anthropic_strict([document])):
        strict = Judge(form, format_checker=Judge.FORMAT_CHECKER)
        assert [value for value in accepted if not strict.is_valid({"value": value})] == []


@pytest.mark.parametrize("name", FIELDS)
def test_every_document_passes_the_metaschema(name: str) -> None:
    Draft202012Validator.check_schema(json_schema(_schema(name)).document)


@pytest.mark.parametrize(
    "name", sorted({name for name, _, reason in CANNOT_SAY if reason in (NO_SUCH_DAY, NO_FORMAT)})
)
def test_what_cannot_be_said_is_a_loss_and_in_the_description(name: str) -> None:
    made = json_schema(_schema(name))

    (loss,) = made.losses
    assert loss.startswith("value: ")
    assert loss.removeprefix("value: ") in made.document["properties"]["value"]["description"]


def test_the_comparison_notices_a_looser_document() -> None:
    loose = {"type": "object", "properties": {"value": {"type": "string", "format": "email"}}}

    looser, _ = _differences("email", loose)

    assert "a@b" in looser
