from __future__ import annotations

import copy
import enum
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from marshmallow import Schema, fields, validate

from flask_litro_agent.schemas import anthropic_strict, json_schema, load_arguments, openai_strict

#: OpenAI, "Structured Outputs", supported schemas.
OPENAI_KEYWORDS = {
    "$defs", "$ref", "additionalProperties", "anyOf", "description", "enum", "exclusiveMaximum",
    "exclusiveMinimum", "format", "items", "maxItems", "maximum", "minItems", "minimum", "multipleOf",
    "pattern", "properties", "required", "type",
}  # fmt: skip
OPENAI_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
#: Anthropic, "Structured outputs", JSON Schema limitations.
ANTHROPIC_KEYWORDS = {
    "$defs", "$ref", "additionalProperties", "anyOf", "const", "default", "description", "enum", "format",
    "items", "minItems", "pattern", "properties", "required", "type",
}  # fmt: skip


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Item(Schema):
    sku = fields.String(required=True, validate=validate.Length(3, 20))
    count = fields.Integer(load_default=1, validate=validate.Range(1, 99))
    parts = fields.List(fields.Nested(lambda: Item(exclude=("parts",))), metadata={"description": "Parts."})


class Order(Schema):
    items = fields.List(fields.Nested(Item), required=True, validate=validate.Length(1, 10))
    main = fields.Nested(Item, required=True, metadata={"description": "The main item."})
    gift = fields.Nested(Item, allow_none=True)
    note = fields.String(allow_none=True, validate=validate.Regexp("(?!x)[a-z]"))
    colour = fields.Enum(Colour)
    price = fields.Decimal(places=2)
    due = fields.DateTime()
    site = fields.Url()
    ip = fields.IP()
    tags = fields.List(fields.String(validate=validate.NoneOf(["x"])), load_default=list)
    kind = fields.Constant("order")


def strict_order() -> dict[str, Any]:
    strict = openai_strict(json_schema(Order()).document)
    assert strict is not None
    return strict


def anthropic_order() -> dict[str, Any]:
    (strict,) = anthropic_strict([json_schema(Order()).document])
    assert strict is not None
    return strict


def schemas_in(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for keyword in ("properties", "$defs"):
        for part in node.get(keyword, {}).values():
            yield from schemas_in(part)
    for part in [*node.get("anyOf", ()), *node.get("prefixItems", ())]:
        yield from schemas_in(part)
    for keyword in ("items", "additionalProperties"):
        if isinstance(node.get(keyword), dict):
            yield from schemas_in(node[keyword])


def test_strict_uses_only_published_keywords() -> None:
    for node in schemas_in(strict_order()):
        assert set(node) <= OPENAI_KEYWORDS
        assert node.get("format", "date") in OPENAI_FORMATS
        assert "(?!" not in node.get("pattern", "")


def test_every_strict_schema_has_a_type() -> None:
    for node in schemas_in(strict_order()):
        assert node.keys() & {"type", "anyOf", "$ref"}


def test_the_walk_notices_a_keyword_that_is_not_published() -> None:
    plain = json_schema(Order()).document

    assert any(set(node) - OPENAI_KEYWORDS for node in schemas_in(plain))


def test_strict_objects_are_closed_and_require_every_name() -> None:
    objects = [node for node in schemas_in(strict_order()) if "properties" in node]

    assert len(objects) == 3
    for node in objects:
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])


def test_strict_references_stand_alone() -> None:
    references = [node for node in schemas_in(strict_order()) if "$ref" in node]

    assert references
    assert all(set(node) == {"$ref"} for node in references)
    assert strict_order()["properties"]["main"] == {
        "anyOf": [{"$ref": "#/$defs/Item"}],
        "description": "The main item.",
    }


def test_strict_says_optional_by_null() -> None:
    properties = strict_order()["properties"]

    assert properties["price"]["type"] == ["string", "null"]
    assert properties["colour"] == {"type": ["string", "null"], "enum": ["RED", "BLUE", None]}
    assert properties["gift"] == {"anyOf": [{"$ref": "#/$defs/Item"}, {"type": "null"}]}
    assert properties["kind"]["enum"] == ["order", None]
    assert properties["items"]["type"] == "array"


def test_strict_moves_what_is_unsupported_into_the_description() -> None:
    strict = strict_order()

    assert strict["$defs"]["Item"]["properties"]["sku"]["description"] == (
        "At least 3 characters. At most 20 characters."
    )
    assert strict["properties"]["tags"]["description"] == "Default: []."
    assert strict["properties"]["tags"]["items"]["description"] == 'Not: {"enum": ["x"]}.'
    assert strict["properties"]["note"]["description"] == "Matches ^(?!x)[a-z]."
    assert "Format: uri." in strict["properties"]["site"]["description"]


def test_strict_documents_pass_the_metaschema() -> None:
    Draft202012Validator.check_schema(strict_order())


def test_arguments_that_fit_the_strict_document_load_after_their_nulls_are_dropped() -> None:
    arguments = dict.fromkeys(strict_order()["properties"])
    arguments |= {"items": [{"sku": "abc", "count": None, "parts": None}]}
    arguments |= {"main": {"sku": "abc", "count": 2, "parts": [{"sku": "abc", "count": None}]}}
    assert Draft202012Validator(strict_order()).is_valid(arguments)

    loaded = load_arguments(Order(), arguments)

    assert loaded["items"] == [{"sku": "abc", "count": 1}]
    assert loaded["tags"] == []
    assert loaded["gift"] is None
    assert "price" not in loaded


@pytest.mark.parametrize(
    "field",
    [
        fields.Dict(),
        fields.Dict(values=fields.String()),
        fields.Raw(),
        fields.Raw(allow_none=True),
        fields.Tuple((fields.String(),)),
        fields.Function(deserialize=str),
        fields.List(fields.Dict()),
        fields.Nested(Item, unknown="include"),
        fields.String(validate=validate.OneOf([1])),
    ],
)
def test_open_untyped_and_tuple_values_cannot_be_strict(field: fields.Field[Any]) -> None:
    document = json_schema(Schema.from_dict({"value": field})()).document

    assert openai_strict(document) is None
    assert anthropic_strict([document]) == [None]


def test_an_array_at_the_root_cannot_be_strict() -> None:
    document = json_schema(Item(many=True)).document

    assert openai_strict(document) is None
    assert anthropic_strict([document]) == [None]


def test_more_enum_values_than_the_published_limit_cannot_be_strict() -> None:
    choices = [str(number) for number in range(600)]
    fits = Schema.from_dict({"a": fields.String(validate=validate.OneOf(choices))})
    exceeds = Schema.from_dict(
        {name: fields.String(validate=validate.OneOf(choices)) for name in ("a", "b")}
    )  # fmt: skip

    assert openai_strict(json_schema(fits()).document) is not None
    assert openai_strict(json_schema(exceeds()).document) is None


def test_a_schema_without_fields_is_strict() -> None:
    assert openai_strict(json_schema(Schema()).document) == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
        "required": [],
    }


def test_profiles_leave_the_document_as_it_is() -> None:
    document = json_schema(Order()).document
    before = copy.deepcopy(document)

    openai_strict(document)
    anthropic_strict([document])

    assert document == before


def test_the_anthropic_form_uses_only_published_keywords() -> None:
    for node in schemas_in(anthropic_order()):
        assert set(node) <= ANTHROPIC_KEYWORDS
        assert node.get("format", "uri") in OPENAI_FORMATS | {"uri"}
        assert node.get("minItems", 1) <= 1


def test_the_anthropic_form_says_null_by_any_of() -> None:
    nodes = list(schemas_in(anthropic_order()))

    assert not any(isinstance(node.get("type"), list) for node in nodes)
    assert {"type": "null"} in nodes[0]["properties"]["note"]["anyOf"]


def test_the_anthropic_form_keeps_optional_names_optional() -> None:
    strict = anthropic_order()

    assert strict["required"] == ["items", "main"]
    assert strict["$defs"]["Item"]["properties"]["count"] == {
        "type": "integer",
        "default": 1,
        "description": "At least 1. At most 99.",
    }


def test_anthropic_objects_are_closed() -> None:
    objects = [node for node in schemas_in(anthropic_order()) if "properties" in node]

    assert len(objects) == 3
    assert all(node["additionalProperties"] is False for node in objects)


@pytest.mark.parametrize(
    ("field", "keywords"),
    [
        (fields.String(allow_none=True), {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (
            fields.Enum(Colour, allow_none=True),
            {"anyOf": [{"type": "string", "enum": ["RED", "BLUE"]}, {"type": "null"}]},
        ),
        (
            fields.List(fields.String(), allow_none=True, validate=validate.Length(2)),
            {
                "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
                "description": "At least 2 items.",
            },
        ),
    ],
)
def test_the_anthropic_form_of_a_field(field: fields.Field[Any], keywords: dict[str, Any]) -> None:
    document = json_schema(Schema.from_dict({"value": field})()).document
    (strict,) = anthropic_strict([document])

    assert strict is not None
    assert strict["properties"]["value"] == keywords


def test_the_anthropic_form_passes_the_metaschema() -> None:
    Draft202012Validator.check_schema(anthropic_order())


class Person(Schema):
    name = fields.String(required=True)
    friend = fields.Nested(lambda: Person())


class Couple(Schema):
    one = fields.Nested(Person)


@pytest.mark.parametrize("schema", [Person, Couple])
def test_a_schema_that_contains_itself_is_strict_for_openai_alone(schema: type[Schema]) -> None:
    document = json_schema(schema()).document

    assert openai_strict(document) is not None
    assert anthropic_strict([document]) == [None]


def _documents(number: int, **named: fields.Field[Any]) -> list[dict[str, Any]]:
    return [json_schema(Schema.from_dict(dict(named))()).document] * number


@pytest.mark.parametrize(
    ("fits", "field"),
    [
        (20, fields.String(required=True)),
        (8, fields.Nested({"a": fields.String(), "b": fields.String()})),
        (16, fields.String(required=True, allow_none=True)),
    ],
)
def test_one_anthropic_request_has_room_for_so_many_strict_tools(fits: int, field: fields.Field[Any]) -> None:
    """20 tools, 24 optional parameters (here three a tool), 16 parameters of several types."""
    forms = anthropic_strict(_documents(21, value=field))

    assert [form is not None for form in forms] == [True] * fits + [False] * (21 - fits)


def test_a_document_without_room_takes_none_from_those_behind_it() -> None:
    large = _documents(1, **{f"n{number}": fields.String() for number in range(25)})
    small = _documents(1, value=fields.String())

    assert [form is not None for form in anthropic_strict([*large, *small])] == [False, True]
