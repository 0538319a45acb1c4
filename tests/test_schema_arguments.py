from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from marshmallow import Schema, ValidationError, fields, post_load, validate

from flask_litro_agent.errors import InvalidArguments
from flask_litro_agent.schemas import load_arguments


class Address(Schema):
    zip = fields.String(required=True)
    city = fields.String(load_default="Lisbon")
    note = fields.String(allow_none=True)


class Order(Schema):
    name = fields.String(required=True)
    count = fields.Integer(load_default=1)
    remark = fields.String(allow_none=True)
    address = fields.Nested(Address)
    addresses = fields.List(fields.Nested(Address))
    many = fields.Nested(Address, many=True)
    by_key = fields.Dict(values=fields.Nested(Address))
    pair = fields.Tuple((fields.String(), fields.Nested(Address)))
    free = fields.Dict()
    plucked = fields.Pluck(Address, "city")


def refused(schema: Schema, raw: object) -> dict[str, Any]:
    with pytest.raises(InvalidArguments) as caught:
        load_arguments(schema, raw)
    return dict(caught.value.errors)


def test_nulls_of_optional_fields_are_left_out() -> None:
    assert load_arguments(Order(), {"name": "a", "count": None, "address": None}) == {"name": "a", "count": 1}


def test_null_of_a_field_that_allows_it_stays() -> None:
    assert load_arguments(Order(), {"name": "a", "remark": None})["remark"] is None


def test_null_of_a_required_field_is_refused() -> None:
    assert refused(Order(), {"name": None}) == {"name": ["Field may not be null."]}


def test_null_of_an_unknown_name_is_refused() -> None:
    assert refused(Order(), {"name": "a", "nmae": None}) == {"nmae": ["Unknown field."]}


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        ({"address": {"zip": "1", "city": None, "note": None}}, lambda loaded: loaded["address"]),
        ({"addresses": [{"zip": "1", "city": None, "note": None}]}, lambda loaded: loaded["addresses"][0]),
        ({"many": [{"zip": "1", "city": None, "note": None}]}, lambda loaded: loaded["many"][0]),
        ({"by_key": {"k": {"zip": "1", "city": None, "note": None}}}, lambda loaded: loaded["by_key"]["k"]),
        ({"pair": ["x", {"zip": "1", "city": None, "note": None}]}, lambda loaded: loaded["pair"][1]),
    ],
)
def test_nulls_are_left_out_at_every_depth(raw: dict[str, Any], place: Any) -> None:
    loaded = load_arguments(Order(), {"name": "a", **raw})

    assert place(loaded) == {"zip": "1", "city": "Lisbon", "note": None}


@pytest.mark.parametrize("raw", [{"addresses": [None]}, {"by_key": {"k": None}}, {"many": [None]}])
def test_null_items_are_never_left_out(raw: dict[str, Any]) -> None:
    assert set(refused(Order(), {"name": "a", **raw})) == set(raw)


def test_nulls_in_open_objects_stay() -> None:
    assert load_arguments(Order(), {"name": "a", "free": {"x": None}})["free"] == {"x": None}


def test_null_of_a_required_field_of_a_partial_schema_is_left_out() -> None:
    assert load_arguments(Order(partial=True), {"name": None}) == {}


def test_data_keys_are_the_names_that_count() -> None:
    schema = Schema.from_dict({"value": fields.String(data_key="the-value")})

    assert load_arguments(schema(), {"the-value": None}) == {}
    assert refused(schema(), {"value": None}) == {"value": ["Unknown field."]}


def test_the_raw_arguments_are_not_changed() -> None:
    raw = {"name": "a", "count": None, "address": {"zip": "1", "city": None}}

    load_arguments(Order(), raw)

    assert raw == {"name": "a", "count": None, "address": {"zip": "1", "city": None}}


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (None, "null"),
        ([], "an array"),
        ("{}", "a string"),
        (True, "a boolean"),
        (1, "a number"),
        (b"", "bytes"),
    ],
)
def test_arguments_that_are_no_object_are_refused(raw: object, kind: str) -> None:
    assert refused(Order(), raw) == {"_schema": [f"Must be an object, not {kind}."]}


def test_every_fields_message_is_reported() -> None:
    errors = refused(Order(), {"count": "x", "addresses": [{"zip": "1"}, {"zip": 2, "bad": 3}]})

    assert errors == {
        "name": ["Missing data for required field."],
        "count": ["Not a valid integer."],
        "addresses": {"1": {"zip": ["Not a valid string."], "bad": ["Unknown field."]}},
    }


def test_messages_are_json_with_texts_for_names() -> None:
    class Lazy:
        def __str__(self) -> str:
            return "not now"

    field = fields.Integer(error_messages={"invalid": Lazy()})

    assert refused(Schema.from_dict({"value": fields.List(field)})(), {"value": ["x"]}) == {
        "value": {"0": ["not now"]}
    }


def test_a_message_of_the_whole_schema_is_reported() -> None:
    class Whole(Schema):
        @post_load
        def refuse(self, data: Any, **options: Any) -> Any:
            raise ValidationError("not together")

    assert refused(Whole(), {}) == {"_schema": ["not together"]}


def test_an_error_handler_may_raise_a_plain_list() -> None:
    class Handled(Schema):
        def handle_error(self, error: ValidationError, data: Any, **options: Any) -> None:
            raise ValidationError(["one", "two"])

    assert refused(Handled(), {"x": 1}) == {"_schema": ["one", "two"]}


def test_what_an_authors_validator_raises_passes_through() -> None:
    def broken(value: Any) -> None:
        raise KeyError("the author's")

    with pytest.raises(KeyError, match="the author's"):
        load_arguments(Schema.from_dict({"value": fields.Integer(validate=broken)})(), {"value": 1})


def test_a_schema_that_reads_itself_gets_its_nulls() -> None:
    class Own(Schema):
        def load(self, data: Any, **options: Any) -> Any:
            return data

    assert load_arguments(Own(), {"x": None}) == {"x": None}


class Tree(Schema):
    inner = fields.Nested(lambda: Tree())


@pytest.mark.parametrize("depth", [65, 5_000])
def test_arguments_that_are_too_deep_are_refused(depth: int) -> None:
    raw: dict[str, Any] = {}
    for _ in range(depth):
        raw = {"inner": raw}

    assert refused(Tree(), raw) == {"_schema": ["Must not be nested deeper than 64 levels."]}


def test_arguments_as_deep_as_the_decoder_lets_through_load() -> None:
    assert load_arguments(Tree(), json.loads('{"inner":' * 63 + "{}" + "}" * 63))


@pytest.mark.parametrize("digits", ["1e999999999", "-1e999999", "1e-999999"])
def test_a_decimal_that_would_fill_the_memory_is_refused(digits: str) -> None:
    schema = Schema.from_dict({"value": fields.List(fields.Decimal())})

    assert refused(schema(), {"value": [digits]}) == {"_schema": ["A number is out of range."]}


@pytest.mark.parametrize(
    "field", [fields.TimeDelta(), fields.DateTime(format="timestamp"), fields.DateTime(format="timestamp_ms")]
)
def test_whole_numbers_that_no_float_holds_are_refused(field: fields.Field[Any]) -> None:
    assert refused(Schema.from_dict({"value": field})(), {"value": 10**400}) == {
        "_schema": ["A number is out of range."]
    }


def test_a_length_counts_what_was_sent() -> None:
    schema = Schema.from_dict({"value": fields.List(fields.Raw(), validate=validate.Length(max=2))})

    assert load_arguments(schema(), {"value": [1, 2]}) == {"value": [1, 2]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from([*Order().fields, "other"]), JSON) | JSON)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_json_loads_or_is_refused_with_messages_that_are_json(raw: Any) -> None:
    errors = None
    try:
        load_arguments(Order(), raw)
    except InvalidArguments as error:
        errors = error.errors

    assert errors is None or errors
    assert json.loads(json.dumps(errors)) == errors
