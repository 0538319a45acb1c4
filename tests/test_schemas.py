from __future__ import annotations

import datetime as dt
import enum
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from marshmallow import (
    EXCLUDE,
    INCLUDE,
    Schema,
    ValidationError,
    fields,
    pre_load,
    validate,
    validates,
    validates_schema,
)

from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.schemas import JSONSchema, json_schema


class Mood(enum.Enum):
    GOOD = 1
    BAD = "b"
    NONE = None


class Whole(enum.Enum):
    ONE = 1
    TWO = 2


class Child(Schema):
    id = fields.Integer(required=True)
    name = fields.String(required=True)
    secret = fields.String()


class Node(Schema):
    name = fields.String()
    secret = fields.String()
    parent = fields.Nested(lambda: Node(exclude=("secret", "parent")))


class Tree(Schema):
    label = fields.String(required=True)
    branches = fields.List(fields.Nested(lambda: Tree()))


def made(field: fields.Field[Any]) -> JSONSchema:
    return json_schema(Schema.from_dict({"value": field})())


def said(field: fields.Field[Any]) -> dict[str, Any]:
    """The property's keywords without its description."""
    keywords = dict(made(field).document["properties"]["value"])
    keywords.pop("description", None)
    return keywords


def losses(field: fields.Field[Any]) -> list[str]:
    return [loss.removeprefix("value: ") for loss in made(field).losses]


def stripped(when: str) -> fields.String:
    """A field with ``pre_load=`` or ``post_load=``, which marshmallow has since 4.3."""
    field = fields.String()
    setattr(field, when, [str.strip])
    return field


def is_even(value: int) -> None:
    """Must be even."""
    if value % 2:
        raise ValidationError("Must be even.")


@pytest.mark.parametrize(
    ("field", "keywords"),
    [
        (fields.Integer(validate=validate.Range(0, 9)), {"type": "integer", "minimum": 0, "maximum": 9}),
        (
            fields.Integer(validate=validate.Range(0, 9, min_inclusive=False, max_inclusive=False)),
            {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9},
        ),
        (
            fields.Integer(validate=[validate.Range(min=1), validate.Range(min=3), validate.Range(max=5)]),
            {"type": "integer", "minimum": 3, "maximum": 5},
        ),
        (
            fields.String(validate=validate.And(validate.Length(1, 5), validate.And(validate.Equal("abc")))),
            {"type": "string", "minLength": 1, "maxLength": 5, "enum": ["abc"]},
        ),
        (fields.String(validate=validate.NoneOf(["a"])), {"type": "string", "not": {"enum": ["a"]}}),
        (
            fields.List(fields.String(), validate=validate.ContainsOnly(["a", "b"])),
            {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        ),
        (
            fields.List(fields.String(), validate=validate.ContainsNoneOf(["a"])),
            {"type": "array", "items": {"type": "string", "not": {"enum": ["a"]}}},
        ),
        (
            fields.List(fields.Integer(validate=validate.Range(1)), validate=validate.Length(max=3)),
            {"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 3},
        ),
        (fields.String(validate=validate.Regexp(r"\d+\Z")), {"type": "string", "pattern": "^[0-9]+$"}),
        (
            fields.String(validate=[validate.Regexp("a"), validate.Regexp("b")]),
            {"type": "string", "pattern": "^a", "allOf": [{"pattern": "^b"}]},
        ),
        (
            fields.Tuple((fields.String(), fields.Integer())),
            {
                "type": "array",
                "prefixItems": [{"type": "string"}, {"type": "integer"}],
                "items": False,
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (
            fields.DateTime(format="timestamp"),
            {"type": "number", "minimum": 0, "exclusiveMaximum": 253402300800},
        ),
        (fields.Date(), {"type": "string", "format": "date"}),
        (fields.UUID(), {"type": "string", "format": "uuid"}),
        (fields.IPv4(), {"type": "string", "format": "ipv4"}),
        (fields.IPv6(), {"type": "string", "format": "ipv6"}),
        (fields.IP(), {"anyOf": [{"type": "string", "format": "ipv4"}, {"type": "string", "format": "ipv6"}]}),
        (
            fields.TimeDelta(precision="days", validate=validate.Range(min=dt.timedelta(1))),
            {"type": "number", "minimum": 1.0, "exclusiveMaximum": 1e9},
        ),
        (fields.Enum(Whole), {"type": "string", "enum": ["ONE", "TWO"]}),
        (fields.Enum(Whole, by_value=True), {"type": "integer", "enum": [1, 2]}),
        (fields.Enum(Mood, by_value=True), {"type": ["integer", "string", "null"], "enum": [1, "b", None]}),
        (fields.Enum(Whole, by_value=fields.Decimal), {"type": "string", "enum": ["1", "2"]}),
        (fields.Enum(Whole, validate=validate.OneOf([Whole.TWO])), {"type": "string", "enum": ["TWO"]}),
        (
            fields.String(validate=validate.OneOf(["a", "b"]), allow_none=True),
            {"type": ["string", "null"], "enum": ["a", "b", None]},
        ),
        (fields.String(validate=validate.OneOf({"b", "a"})), {"type": "string", "enum": ["a", "b"]}),
        (
            fields.Date(validate=validate.OneOf([dt.date(2026, 1, 31)])),
            {"type": "string", "format": "date", "enum": ["2026-01-31"]},
        ),
        (fields.Constant(3), {"type": "integer", "const": 3, "default": 3}),
        (fields.Constant(None), {"type": "null", "const": None, "default": None}),
        (fields.Dict(), {"type": "object"}),
        (
            fields.Dict(keys=fields.String(validate=validate.Length(2)), values=fields.Boolean()),
            {
                "type": "object",
                "propertyNames": {"type": "string", "minLength": 2},
                "additionalProperties": {"type": "boolean"},
            },
        ),
        (fields.Dict(validate=validate.Length(1)), {"type": "object", "minProperties": 1}),
        (fields.Raw(), {"type": ["string", "number", "boolean", "array", "object"]}),
        (fields.Boolean(truthy={"ja"}, falsy={"nein"}), {"type": "string", "enum": ["ja", "nein"]}),
        (fields.String(validate=validate.OneOf([1])), {"type": "string", "not": {}}),
    ],
)  # fmt: skip
def test_a_field_is_written_with_these_keywords(field: fields.Field[Any], keywords: dict[str, Any]) -> None:
    assert said(field) == keywords


@pytest.mark.parametrize(
    ("field", "default"),
    [
        (fields.String(load_default="x"), "x"),
        (fields.String(load_default=None), None),
        (fields.Date(load_default=dt.date(2026, 1, 31)), "2026-01-31"),
        (fields.Decimal(load_default=Decimal("1.50")), "1.50"),
        (fields.Enum(Whole, load_default=Whole.ONE), "ONE"),
        (fields.List(fields.String(), load_default=list), []),
        (fields.Nested(Child, load_default={"id": 1, "name": "a"}), {"id": 1, "name": "a"}),
    ],
)
def test_a_default_is_in_its_written_form(field: fields.Field[Any], default: Any) -> None:
    assert said(field)["default"] == default


def test_a_computed_default_is_told_and_never_frozen_into_the_document() -> None:
    field = fields.UUID(load_default=uuid.uuid4)

    assert "default" not in said(field)
    assert losses(field) == ["If it is left out, the tool computes it."]


@pytest.mark.parametrize(
    ("field", "name"),
    [
        (fields.DateTime(), "date-time"),
        (fields.AwareDateTime(), "date-time"),
        (fields.Email(), "email"),
        (fields.Url(), "uri"),
        (fields.Url(relative=True), "uri-reference"),
        (fields.String(validate=validate.Email()), "email"),
        (fields.String(validate=validate.URL()), "uri"),
    ],
)
def test_a_format_that_is_looser_than_the_field_has_a_pattern_too(
    field: fields.Field[Any], name: str
) -> None:
    assert said(field)["format"] == name
    assert said(field)["pattern"]


def test_a_decimal_is_text_so_that_no_float_rounds_it() -> None:
    assert said(fields.Decimal(places=2)) == {
        "type": "string",
        "pattern": r"^-?[0-9]{1,26}(?:\.[0-9]{1,2})?$",
    }


@pytest.mark.parametrize(
    ("field", "loss"),
    [
        (fields.Integer(validate=lambda value: None), "Checked by the tool."),
        (fields.Integer(validate=is_even), "Checked by is_even: Must be even."),
        (fields.String(validate=validate.Predicate("isalpha")), "Must pass isalpha()."),
        (fields.Decimal(validate=validate.Range(Decimal("0.01"))), "At least 0.01."),
        (fields.Date(validate=validate.Range(max=dt.date(2026, 1, 31), max_inclusive=False)), "Less than 2026-01-31."),
        (fields.String(validate=validate.Regexp(r"(a)\1")), "Must match re.compile('(a)\\\\1') from its start."),
        (fields.DateTime(format="%d %B %Y"), "Must have the format %d %B %Y (strptime)."),
        (stripped("pre_load"), "Changed by the tool before it is read."),
        (fields.Function(deserialize=int), "Read by Function in its own way."),
        (
            fields.UUID(validate=validate.NoneOf([uuid.UUID(int=1)])),
            "None of: 00000000-0000-0000-0000-000000000001, however it is written.",
        ),
        (fields.Dict(keys=fields.Float()), "Each name must be read by Float."),
        (fields.String(validate=validate.OneOf(range(5000))), "One of more than 1000 values that the tool knows."),
    ],
)  # fmt: skip
def test_what_json_schema_cannot_say_is_a_loss_and_in_the_description(
    field: fields.Field[Any], loss: str
) -> None:
    document = made(field).document

    assert losses(field) == [loss]
    assert loss in document["properties"]["value"]["description"]


def test_losses_follow_the_authors_description() -> None:
    field = fields.Integer(validate=is_even, metadata={"description": "How many."})

    assert made(field).document["properties"]["value"]["description"] == (
        "How many. Checked by is_even: Must be even."
    )


def test_losses_inside_of_lists_name_their_place() -> None:
    assert made(fields.List(fields.Integer(validate=is_even))).losses == (
        "value[]: Checked by is_even: Must be even.",
    )


def test_a_validator_class_with_its_own_call_is_not_taken_for_its_base() -> None:
    class Even(validate.Range):
        def __call__(self, value: Any) -> Any:
            return value

    field = fields.Integer(validate=Even(min=2))

    assert said(field) == {"type": "integer"}
    assert losses(field) == ["Checked by Even."]


def test_a_validator_class_that_only_sets_values_is_its_base() -> None:
    class Positive(validate.Range):
        def __init__(self) -> None:
            super().__init__(min=1)

    assert said(fields.Integer(validate=Positive())) == {"type": "integer", "minimum": 1}


def test_a_field_class_that_only_sets_options_is_its_base() -> None:
    class Money(fields.Decimal):
        def __init__(self, **options: Any) -> None:
            super().__init__(places=2, **options)

    assert losses(Money()) == []
    assert said(Money())["type"] == "string"


def test_a_field_class_that_reads_in_its_own_way_is_a_loss() -> None:
    class Trimmed(fields.String):
        def _deserialize(self, value: Any, attr: Any, data: Any, **options: Any) -> Any:
            return str(super()._deserialize(value, attr, data, **options)).strip()

    assert said(Trimmed()) == {"type": "string"}
    assert losses(Trimmed()) == ["Read by Trimmed in its own way."]


def test_hooks_of_a_schema_are_losses() -> None:
    class Hooked(Schema):
        number = fields.Integer()

        @pre_load
        def lower(self, data: Any, **options: Any) -> Any:
            return data

        @validates("number")
        def check_number(self, value: int, data_key: str) -> None: ...

        @validates_schema
        def check_all(self, data: Any, **options: Any) -> None: ...

    result = json_schema(Hooked())

    assert result.losses == (
        "number: Checked by check_number.",
        "(all): Changed by lower before it is read.",
        "(all): Checked by check_all.",
    )
    assert result.document["description"] == "Changed by lower before it is read. Checked by check_all."


def test_a_schema_class_that_replaces_load_is_an_open_object_and_a_loss() -> None:
    class Either(Schema):
        def load(self, data: Any, **options: Any) -> Any:
            return data

    result = json_schema(Either())

    assert result.document["type"] == "object"
    assert "additionalProperties" not in result.document
    assert result.losses == ("(all): Read by Either in its own way.",)


def test_names_are_data_keys_in_the_order_of_the_schema() -> None:
    class Ordered(Schema):
        zulu = fields.String(data_key="z-u", required=True)
        alpha = fields.String(required=True)
        mike = fields.String()

    document = json_schema(Ordered()).document

    assert list(document["properties"]) == ["z-u", "alpha", "mike"]
    assert document["required"] == ["z-u", "alpha"]


def test_dump_only_is_left_out_and_load_only_is_plain() -> None:
    class Sides(Schema):
        out = fields.String(dump_only=True)
        into = fields.String(load_only=True)

    assert json_schema(Sides()).document["properties"] == {"into": {"type": "string"}}


@pytest.mark.parametrize(("unknown", "closed"), [(None, True), (EXCLUDE, True), (INCLUDE, False)])
def test_unknown_names_are_closed_unless_included(unknown: str | None, closed: bool) -> None:
    document = json_schema(Child(unknown=unknown)).document

    assert document.get("additionalProperties") == (False if closed else None)


@pytest.mark.parametrize(
    ("partial", "required"), [(None, ["id", "name"]), (True, None), (("id",), ["name"])]
)  # fmt: skip
def test_partial_takes_names_out_of_required(partial: Any, required: list[str] | None) -> None:
    assert json_schema(Child(partial=partial)).document.get("required") == required


def test_partial_reaches_nested_schemas() -> None:
    outer = Schema.from_dict({"child": fields.Nested(Child)})

    document = json_schema(outer(partial=("child.id",))).document

    assert document["$defs"]["Child"]["required"] == ["name"]


def test_many_at_the_top_is_an_array() -> None:
    document = json_schema(Child(many=True)).document

    assert (document["type"], document["items"]) == ("array", {"$ref": "#/$defs/Child"})


def test_nested_schemas_with_other_modifiers_are_other_definitions() -> None:
    class Family(Schema):
        whole = fields.Nested(Child)
        again = fields.Nested(Child, metadata={"description": "Another."})
        some = fields.Nested(Child, only=("name",))
        rest = fields.Nested(Child, exclude=("secret",), allow_none=True)
        open = fields.Nested(Child, unknown=INCLUDE)
        many = fields.Nested(Child, many=True)
        listed = fields.List(fields.Nested(Child(only=("id",))))

    document = json_schema(Family()).document
    properties, definitions = document["properties"], document["$defs"]

    assert properties["whole"] == {"$ref": "#/$defs/Child"}
    assert properties["again"] == {"$ref": "#/$defs/Child", "description": "Another."}
    assert properties["many"] == {"type": "array", "items": {"$ref": "#/$defs/Child"}}
    assert properties["rest"] == {"anyOf": [{"$ref": "#/$defs/Child_3"}, {"type": "null"}]}
    assert list(definitions["Child_2"]["properties"]) == ["name"]
    assert list(definitions["Child_3"]["properties"]) == ["id", "name"]
    assert "additionalProperties" not in definitions["Child_4"]
    assert list(definitions["Child_5"]["properties"]) == ["id"]
    assert properties["listed"]["items"] == {"$ref": "#/$defs/Child_5"}


def test_only_with_a_dotted_name_reaches_the_nested_schema() -> None:
    outer = Schema.from_dict({"child": fields.Nested(Child), "other": fields.Nested(Child)})

    document = json_schema(outer(only=("child.id", "other"))).document

    assert list(document["$defs"]["Child"]["properties"]) == ["id"]
    assert list(document["$defs"]["Child_2"]["properties"]) == ["id", "name", "secret"]


def test_a_schema_that_nests_itself_refers_to_the_root() -> None:
    document = json_schema(Tree()).document

    assert document["properties"]["branches"]["items"] == {"$ref": "#"}
    assert "$defs" not in document


def test_fields_excluded_in_self_nesting_stay_out() -> None:
    document = json_schema(Node()).document

    assert document["properties"]["parent"] == {"$ref": "#/$defs/Node"}
    assert list(document["$defs"]["Node"]["properties"]) == ["name"]
    judge = Draft202012Validator(document)
    assert not judge.is_valid({"parent": {"secret": "x"}})
    assert judge.is_valid({"secret": "x", "parent": {"name": "y"}})


def test_fields_decided_at_run_time_are_not_mixed_up() -> None:
    class Choice(Schema):
        value = fields.String()

        def __init__(self, choices: list[str], **options: Any) -> None:
            super().__init__(**options)
            self.fields["value"].validators = [validate.OneOf(choices)]

    outer = Schema.from_dict(
        {"one": fields.Nested(lambda: Choice(["a"])), "two": fields.Nested(lambda: Choice(["b"]))}
    )
    definitions = json_schema(outer()).document["$defs"]

    assert definitions["Choice"]["properties"]["value"]["enum"] == ["a"]
    assert definitions["Choice_2"]["properties"]["value"]["enum"] == ["b"]
    assert json_schema(Choice(["c"])).document["properties"]["value"]["enum"] == ["c"]


def test_nesting_without_an_end_stops_with_a_loss() -> None:
    def deeper() -> dict[str, fields.Field[Any]]:
        return {"next": fields.Nested(deeper)}

    result = json_schema(Schema.from_dict(deeper())())

    assert len(result.losses) == 1
    assert "Nested deeper than 32 levels" in result.losses[0]


def test_pluck_is_the_plucked_field() -> None:
    assert said(fields.Pluck(Child, "name")) == {"type": "string"}
    assert said(fields.Pluck(Child, "id", many=True)) == {"type": "array", "items": {"type": "integer"}}
    assert said(fields.Pluck(Child, "id", allow_none=True)) == {"type": ["integer", "null"]}


def test_a_nested_name_that_leads_nowhere_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match=r"value: .*Nowhere"):
        made(fields.Nested("Nowhere"))


def test_definition_names_are_safe_in_a_reference() -> None:
    inner = Schema.from_dict({"x": fields.String()}, name="My/Thing ~1")

    document = made(fields.Nested(inner)).document

    assert document["properties"]["value"] == {"$ref": "#/$defs/My_Thing__1"}


@pytest.mark.parametrize("make", [Tree, lambda: Child(only=("id",)), lambda: Child(partial=True)])
def test_the_document_is_written_once_for_a_class_and_its_modifiers(make: Callable[[], Schema]) -> None:
    assert json_schema(make()) is json_schema(make())


def test_other_modifiers_are_another_document() -> None:
    variants = [Child(), Child(only=("id",)), Child(partial=True), Child(unknown=EXCLUDE), Child(many=True)]

    assert len({id(json_schema(variant)) for variant in variants}) == len(variants)
