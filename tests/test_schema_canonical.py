from __future__ import annotations

import datetime as dt
import enum
import itertools
import json
import uuid
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from marshmallow import EXCLUDE, INCLUDE, Schema, fields, post_dump, post_load, pre_load, validate

from flask_litro_agent.errors import InvalidArguments
from flask_litro_agent.schemas import MAX_CANONICAL, canonicalise, write_schema_faults


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Line(Schema):
    sku = fields.String(required=True)
    count = fields.Integer(load_default=1)


class Order(Schema):
    text = fields.String()
    count = fields.Integer(data_key="number")
    ratio = fields.Float()
    paid = fields.Boolean()
    price = fields.Decimal()
    rounded = fields.Decimal(places=2, as_string=True)
    day = fields.Date()
    at = fields.DateTime()
    clock = fields.Time()
    span = fields.TimeDelta()
    id = fields.UUID()
    colour = fields.Enum(Colour)
    code = fields.Enum(Colour, by_value=True)
    raw = fields.Raw(allow_none=True)
    free = fields.Dict()
    by_number = fields.Dict(keys=fields.Integer(), values=fields.Integer())
    pair = fields.Tuple((fields.String(), fields.Integer()))
    tags = fields.List(fields.String(), load_default=list)
    lines = fields.List(fields.Nested(Line))
    plucked = fields.Pluck(Line, "count", many=True)


def stripped(when: str) -> fields.String:
    """A field with ``pre_load=`` or ``post_load=``, which marshmallow has since 4.3."""
    field = fields.String()
    setattr(field, when, [str.strip])
    return field


def data_of(field: fields.Field[Any], value: Any) -> bytes:
    return canonicalise(Schema.from_dict({"value": field})(), {"value": value}).data


def value_of(field: fields.Field[Any], value: Any) -> Any:
    return canonicalise(Schema.from_dict({"value": field})(), {"value": value}).arguments["value"]


def refused(field: fields.Field[Any], value: Any) -> dict[str, Any]:
    with pytest.raises(InvalidArguments) as caught:
        data_of(field, value)
    return dict(caught.value.errors)


def test_names_are_sorted_and_nothing_is_spaced() -> None:
    made = canonicalise(Order(), {"text": "ü", "number": 2, "lines": [{"sku": "b"}]})

    assert made.data == '{"lines":[{"count":1,"sku":"b"}],"number":2,"tags":[],"text":"ü"}'.encode()
    assert made.arguments == {"text": "ü", "count": 2, "lines": [{"sku": "b", "count": 1}], "tags": []}


@pytest.mark.parametrize(
    ("field", "raw", "written"),
    [
        (fields.Decimal(), "12.50", '"12.50"'),
        (fields.Decimal(), 1.5, '"1.5"'),
        (fields.Decimal(), "1e3", '"1000"'),
        (fields.Decimal(places=2), "1.005", '"1.00"'),
        (fields.Decimal(as_string=True), "1e3", '"1000"'),
        (fields.Date(), "20260131", '"2026-01-31"'),
        (fields.DateTime(), "2026-01-31T09:30:00Z", '"2026-01-31T09:30:00+00:00"'),
        (fields.Time(), "09:30", '"09:30:00"'),
        (fields.UUID(), "8C7C2F5E3C524D3C9D4A5F0A6E2E8C11", '"8c7c2f5e-3c52-4d3c-9d4a-5f0a6e2e8c11"'),
        (fields.Boolean(), "off", "false"),
        (fields.Float(), 1, "1.0"),
        (fields.Float(), 0.1 + 0.2, "0.30000000000000004"),
        (fields.Integer(), 12345678901234567890, "12345678901234567890"),
        (fields.Integer(as_string=True), 5, '"5"'),
        (fields.Tuple((fields.String(), fields.Integer())), ["a", 1], '["a",1]'),
        (fields.Dict(keys=fields.Integer()), {"01": "x"}, '{"1":"x"}'),
        (fields.Enum(Colour, by_value=True), 1, "1"),
        (fields.Raw(), {"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}'),
    ],
)
def test_a_value_has_one_written_form(field: fields.Field[Any], raw: Any, written: str) -> None:
    assert data_of(field, raw) == f'{{"value":{written}}}'.encode()


@pytest.mark.parametrize("value", [3.7, 3.0, "3", "1_000", "٣", 1e3, True])
def test_integers_are_strict(value: Any) -> None:
    assert refused(fields.Integer(), value) == {"value": ["Not a valid integer."]}


@pytest.mark.parametrize(
    ("field", "value", "place"),
    [
        (fields.List(fields.Integer()), [1, 2.5], "value.1"),
        (fields.Dict(values=fields.Integer()), {"k": 2.5}, "value.k"),
        (fields.Tuple((fields.Integer(), fields.Integer())), [1, 2.5], "value.1"),
        (fields.Nested(Line), {"sku": "a", "count": 2.5}, "value.count"),
        (fields.Nested(Line, many=True), [{"sku": "a", "count": 2.5}], "value.0.count"),
        (fields.List(fields.Nested(Line)), [{"sku": "a", "count": 2.5}], "value.0.count"),
        (fields.Pluck(Line, "count", many=True), [2.5], "value.0"),
        (fields.Enum(Colour, by_value=fields.Integer), 1.5, "value"),
    ],
)
def test_integers_are_strict_at_every_depth(field: fields.Field[Any], value: Any, place: str) -> None:
    assert refused(field, value) == {place: ["Not a valid integer."]}


def test_one_and_one_point_zero_and_true_are_three_values() -> None:
    assert len({data_of(fields.Raw(), value) for value in (1, 1.0, True)}) == 3


def test_a_callable_default_is_computed_once() -> None:
    numbers = itertools.count(1)
    schema = Schema.from_dict({"value": fields.Integer(load_default=lambda: next(numbers))})()

    made = canonicalise(schema, {})

    assert made.data == b'{"value":1}'
    assert made.arguments == {"value": 1}
    assert canonicalise(schema, json.loads(made.data)).data == made.data
    assert next(numbers) == 2


def test_a_null_that_means_left_out_is_not_in_the_form() -> None:
    assert canonicalise(Order(), {"text": None}) == canonicalise(Order(), {})


def test_a_null_that_is_allowed_is_in_the_form() -> None:
    assert data_of(fields.String(allow_none=True), None) == b'{"value":null}'


def test_the_largest_form_is_16_kib() -> None:
    room = MAX_CANONICAL - len('{"value":""}')

    assert len(data_of(fields.String(), "x" * room)) == MAX_CANONICAL == 16_384
    assert "16385 bytes" in refused(fields.String(), "x" * (room + 1))["_schema"][0]


def test_the_size_counts_bytes() -> None:
    assert refused(fields.String(), "ü" * 8_190)


def test_what_is_read_differently_the_second_time_is_refused() -> None:
    class Longer(fields.String):
        def _serialize(self, value: Any, attr: Any, obj: Any, **options: Any) -> str:
            return f"{value}!"

    assert "gives another value" in refused(Longer(), "a")["_schema"][0]


def test_a_form_that_does_not_load_is_refused() -> None:
    class Masked(fields.String):
        def _serialize(self, value: Any, attr: Any, obj: Any, **options: Any) -> str:
            return "*"

    assert refused(Masked(validate=validate.Length(2)), "abc") == {
        "value": ["Shorter than minimum length 2."]
    }


@pytest.mark.parametrize(
    "value", [{1}, object(), float("nan"), Decimal("NaN"), {("a",): 1}, {1: 1, "1": 1}, b"x"]
)
def test_a_value_without_a_json_form_is_refused(value: Any) -> None:
    assert "no canonical form" in refused(fields.Raw(), value)["_schema"][0]


def test_a_lone_surrogate_is_refused() -> None:
    assert "no canonical form" in refused(fields.Raw(), "\ud800")["_schema"][0]


def test_arguments_that_do_not_load_are_refused_with_their_messages() -> None:
    with pytest.raises(InvalidArguments) as caught:
        canonicalise(Order(), {"day": "tomorrow", "other": 1})

    assert caught.value.errors == {"day": ["Not a valid date."], "other": ["Unknown field."]}


def exact(value: Any) -> Any:
    """The value with every type in it, so that 1, 1.0 and true differ, and 0.0 and -0.0."""
    if isinstance(value, dict):
        return {(type(name), name): exact(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value), [exact(inner) for inner in value]
    return type(value), repr(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, -0.0, 1.0, 1.5]) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=1), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "text": st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
    "number": st.integers(),
    "ratio": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-3, 3) | st.just("1e1"),
    "paid": st.sampled_from([True, False, "on", "off", 0, 1]),
    "price": st.decimals(allow_nan=False, allow_infinity=False, places=2).map(str) | st.sampled_from([1, 1.5, "1e2"]),
    "rounded": st.sampled_from(["1", "1.0", "1.005", 2, "-0"]),
    "day": st.dates().map(dt.date.isoformat),
    "at": st.datetimes(timezones=st.none() | st.just(dt.UTC)).map(dt.datetime.isoformat),
    "clock": st.times().map(dt.time.isoformat),
    "span": st.integers(0, 10**6) | st.sampled_from([0.5, "1.25"]),
    "id": st.uuids().map(str) | st.uuids().map(lambda made: made.hex.upper()),
    "colour": st.sampled_from(["RED", "BLUE"]),
    "code": st.sampled_from([1, 2, True]),
    "raw": JSON,
    "free": st.dictionaries(st.text("ab", max_size=2), JSON, max_size=2),
    "by_number": st.dictionaries(st.sampled_from(["1", "2", "-3"]), st.integers(0, 3), max_size=2),
    "pair": st.tuples(st.text(max_size=1).filter(lambda text: text.isprintable()), st.integers(0, 2)).map(list),
    "tags": st.lists(st.text("ab", max_size=1), max_size=2) | st.none(),
    "lines": st.lists(st.fixed_dictionaries({"sku": st.just("a")}, optional={"count": st.sampled_from([None, 1])})),
    "plucked": st.lists(st.integers(0, 3), max_size=2),
}  # fmt: skip
RAW = st.fixed_dictionaries({}, optional=VALUES)


@given(RAW)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_canonical_form_is_a_fixed_point(raw: dict[str, Any]) -> None:
    made = canonicalise(Order(), raw)

    again = canonicalise(Order(), json.loads(made.data))

    assert again.data == made.data
    assert exact(again.arguments) == exact(made.arguments)


def two_of(name: str) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(VALUES[name].map(lambda value: {name: value}), min_size=2, max_size=2)


@given(st.sampled_from(sorted(VALUES)).flatmap(two_of))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_equal_bytes_are_equal_arguments(pair: list[dict[str, Any]]) -> None:
    left, right = (canonicalise(Order(), raw) for raw in pair)

    assert (left.data == right.data) == (exact(left.arguments) == exact(right.arguments))


class Hooks(Schema):
    inner = fields.Nested(lambda: Hooks())

    @pre_load
    def before(self, data: Any, **options: Any) -> Any:
        return data

    @post_load
    def after(self, data: Any, **options: Any) -> Any:
        return data

    @post_dump
    def shown(self, data: Any, **options: Any) -> Any:
        return data


def test_hooks_are_faults_of_a_write_schema() -> None:
    assert [fault.partition(":")[0] for fault in write_schema_faults(Hooks())] == [
        "pre_load (before)",
        "post_load (after)",
        "post_dump (shown)",
    ]


@pytest.mark.parametrize(
    ("field", "word"),
    [
        (fields.String(load_only=True), "load_only"),
        (fields.String(dump_only=True), "dump_only"),
        (stripped("pre_load"), "pre_load"),
        (stripped("post_load"), "post_load"),
        (fields.Function(lambda obj: 1, int), "Function"),
        (fields.Integer(strict=True, as_string=True), "strict and as_string"),
    ],
)
@pytest.mark.parametrize(
    "place",
    [
        lambda field: field,
        lambda field: fields.List(field),
        lambda field: fields.Tuple((field,)),
        lambda field: fields.Dict(values=field),
    ],
)
def test_a_fault_of_a_write_schema_names_its_field(field: fields.Field[Any], word: str, place: Any) -> None:
    (fault,) = write_schema_faults(Schema.from_dict({"value": place(field)})())

    assert fault.startswith(f"value: {word}:")


@pytest.mark.parametrize("options", [{"serialize": "shout"}, {"deserialize": "shout"}])
def test_a_method_field_is_a_fault(options: dict[str, str]) -> None:
    class Params(Schema):
        value = fields.Method(**options)

        def shout(self, value: Any) -> Any:
            return value

    assert write_schema_faults(Params()) == ("value: Method: has no form that can be compared",)


def test_a_fault_of_a_nested_schema_names_the_path() -> None:
    inner = Schema.from_dict({"secret": fields.String(load_only=True, data_key="the-secret")})
    outer = Schema.from_dict({"lines": fields.List(fields.Nested(inner))})

    (fault,) = write_schema_faults(outer())

    assert fault.startswith("lines.the-secret: load_only")


def test_load_only_by_a_dotted_modifier_is_found() -> None:
    outer = Schema.from_dict({"line": fields.Nested(Line)})

    assert write_schema_faults(outer(load_only=("line.sku",)))[0].startswith("line.sku: load_only")


@pytest.mark.parametrize(
    "schema", [Line(unknown=INCLUDE), Schema.from_dict({"line": fields.Nested(Line, unknown=INCLUDE)})()]
)
def test_including_what_is_unknown_is_a_fault(schema: Schema) -> None:  # fmt: skip
    (fault,) = write_schema_faults(schema)

    assert "unknown=INCLUDE" in fault


def test_many_is_a_fault() -> None:
    assert write_schema_faults(Line(many=True))[0].startswith("many=True")


def test_a_schema_that_replaces_load_is_a_fault() -> None:
    class Own(Schema):
        def load(self, data: Any, **options: Any) -> Any:
            return data

    assert write_schema_faults(Own()) == ("Own replaces how marshmallow loads",)


@pytest.mark.parametrize("schema", [Order(), Line(unknown=EXCLUDE), Schema()])
def test_a_schema_with_a_canonical_form_has_no_faults(schema: Schema) -> None:
    assert write_schema_faults(schema) == ()


def test_a_uuid_in_a_raw_value_is_text() -> None:
    assert value_of(fields.Raw(), uuid.UUID(int=1)) == "00000000-0000-0000-0000-000000000001"
