"""What a tool that changes something may say of itself, and the contract that its approval relies on."""

from __future__ import annotations

import dataclasses
import enum
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from marshmallow import EXCLUDE, Schema, fields, validate

from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.tools import DEFAULT_TTL, Change, Mode, Tool, ToolContext, tool, tool_contract
from tests.gate_bench import ANN


class Order(Schema):
    number = fields.Integer(required=True)


def change(params: dict[str, Any], ctx: ToolContext) -> None:
    """Change nothing."""


def declare(**changes: Any) -> Tool:
    given = {"description": "x", "permission": "orders:edit", "mode": Mode.PROPOSE, "params": Order}
    return tool(**given | changes)(change)


def faults(**changes: Any) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        declare(**changes)
    return [fault.split("'change': ")[1] for fault in caught.value.faults]


def preview(params: dict[str, Any], ctx: ToolContext) -> list[Change]:
    return []


async def late(*args: Any) -> None:
    """Answer some time."""


FUNCTIONS = ("preview", "as_of", "inverse", "reconcile", "labels")


def test_a_write_tool_is_what_was_declared() -> None:
    given = dict.fromkeys(FUNCTIONS, preview)
    made = declare(ttl=60, four_eyes=True, **given)
    assert (made.ttl, made.four_eyes) == (60, True)
    assert [getattr(made, name) for name in FUNCTIONS] == [preview] * len(FUNCTIONS)


def test_nothing_of_it_must_be_said() -> None:
    made = declare()
    assert (made.ttl, made.four_eyes) == (DEFAULT_TTL, False) == (300, False)
    assert [getattr(made, name) for name in FUNCTIONS] == [None] * len(FUNCTIONS)


@pytest.mark.parametrize("ttl", [0, -1, 1.5, True, "300", None])
def test_a_ttl_is_a_whole_number_of_seconds(ttl: Any) -> None:
    assert faults(ttl=ttl) == [f"ttl must be a whole number of seconds from 1, not {ttl!r}"]


@pytest.mark.parametrize("value", [1, None, "yes"])
def test_four_eyes_is_said_plainly(value: Any) -> None:
    assert faults(four_eyes=value) == ["four_eyes must be True or False"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_stands_beside_a_tool_is_a_function(name: str) -> None:
    assert faults(**{name: "yes"}) == [f"{name} must be a function"]
    assert faults(**{name: late}) == [f"{name} is 'async def'; write 'def'"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_read_tool_has_none_of_it(name: str) -> None:
    sentence = f"{name} is for a tool that changes something, and this one has Mode.READ"
    assert faults(mode=Mode.READ, **{name: preview}) == [sentence]


def test_a_read_tool_needs_no_four_eyes() -> None:
    sentence = "four_eyes is for a tool that changes something, and this one has Mode.READ"
    assert faults(mode=Mode.READ, four_eyes=True) == [sentence]


def test_a_tool_does_not_print_the_functions_beside_it() -> None:
    assert "function preview" not in repr(declare(**dict.fromkeys(FUNCTIONS, preview)))


def test_a_change_is_a_value() -> None:
    made = Change("Price", "1.00", "2.00")
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.after = "3.00"  # type: ignore[misc]


def test_a_context_without_a_proposal_has_no_approver() -> None:
    ctx = ToolContext(actor=ANN, agent="desk")
    assert (ctx.approver, ctx.proposal_id, ctx.idempotency_key, ctx.as_of) == (None, None, None, None)


# --- the contract ---


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Shade(enum.Enum):
    RED = 1
    BLUE = 2


class Own(fields.String):
    """Reads in its own way."""


def even(value: int) -> bool:
    return value % 2 == 0


def odd(value: int) -> bool:
    return value % 2 == 1


FIELDS = {
    "integer": fields.Integer(),
    "strict": fields.Integer(strict=True),
    "as string": fields.Integer(as_string=True),
    "required": fields.Integer(required=True),
    "nullable": fields.Integer(allow_none=True),
    "default": fields.Integer(load_default=1),
    "other default": fields.Integer(load_default=2),
    "callable default": fields.Integer(load_default=lambda: 1),
    "attribute": fields.Integer(attribute="other"),
    "name": fields.Integer(data_key="number"),
    "range": fields.Integer(validate=validate.Range(1, 5)),
    "other range": fields.Integer(validate=validate.Range(1, 6)),
    "exclusive": fields.Integer(validate=validate.Range(1, 5, max_inclusive=False)),
    "even": fields.Integer(validate=even),
    "odd": fields.Integer(validate=odd),
    "float": fields.Float(),
    "nan": fields.Float(allow_nan=True),
    "decimal": fields.Decimal(),
    "places": fields.Decimal(places=2),
    "rounding": fields.Decimal(places=2, rounding="ROUND_UP"),
    "string": fields.String(),
    "own": Own(),
    "pattern": fields.String(validate=validate.Regexp("a+")),
    "flags": fields.String(validate=validate.Regexp("a+", flags=re.IGNORECASE)),
    "one of": fields.String(validate=validate.OneOf(["a", "b"])),
    "other of": fields.String(validate=validate.OneOf(["a", "c"])),
    "boolean": fields.Boolean(),
    "truthy": fields.Boolean(truthy={"si"}),
    "enum": fields.Enum(Colour),
    "other enum": fields.Enum(Shade),
    "by value": fields.Enum(Colour, by_value=True),
    "date": fields.Date(),
    "format": fields.Date(format="%d.%m.%Y"),
    "list": fields.List(fields.Integer()),
    "strict list": fields.List(fields.Integer(strict=True)),
    "dict": fields.Dict(values=fields.Integer()),
    "strict dict": fields.Dict(values=fields.Integer(strict=True)),
    "pair": fields.Tuple((fields.Integer(), fields.Integer())),
    "strict pair": fields.Tuple((fields.Integer(), fields.Integer(strict=True))),
    "nested": fields.Nested(Order),
    "many": fields.Nested(Order, many=True),
    "only": fields.Nested(Order, exclude=("number",)),
    "inner": fields.Nested(Schema.from_dict({"number": fields.Integer(strict=True)}, name="Order")),
    "excluding": fields.Nested(Order, unknown=EXCLUDE),
}


def contract(field: fields.Field[Any], **changes: Any) -> str:
    return tool_contract(declare(params=Schema.from_dict({"value": field}, name="Params"), **changes))


def test_every_way_to_read_arguments_is_another_contract() -> None:
    """D8: also where the documents that a model sees are the same."""
    contracts = {name: contract(field) for name, field in FIELDS.items()}
    same = [
        (one, other)
        for one in contracts
        for other in contracts
        if one < other and contracts[one] == contracts[other]
    ]
    assert same == []


@pytest.mark.parametrize("name", FIELDS)
def test_the_same_declaration_is_the_same_contract(name: str) -> None:
    assert contract(FIELDS[name]) == contract(FIELDS[name])


@pytest.mark.parametrize("change", [{"mode": Mode.EXECUTE}, {"permission": "orders:all"}])
def test_mode_and_permission_are_in_the_contract(change: dict[str, Any]) -> None:
    assert contract(fields.Integer()) != contract(fields.Integer(), **change)


@pytest.mark.parametrize(
    "change", [{"description": "y"}, {"ttl": 1}, {"preview": preview}, {"four_eyes": True}, {"shows": "call"}]
)
def test_what_decides_nothing_about_the_arguments_is_not(change: dict[str, Any]) -> None:
    assert contract(fields.Integer()) == contract(fields.Integer(), **change)


class Tree(Schema):
    """Nests itself."""

    name = fields.String(metadata={"description": "x"})
    leaves = fields.List(fields.Nested(lambda: Tree(exclude=("leaves",))))
    below = fields.Nested(lambda: Tree(only=("name", "below")), allow_none=True)


def test_a_schema_that_nests_itself_has_a_contract() -> None:
    assert len(tool_contract(declare(params=Tree))) == 64


CHILD = """
from marshmallow import Schema, fields, validate
from flask_litro_agent.tools import Mode, tool, tool_contract

class Params(Schema):
    kind = fields.String(validate=validate.OneOf({"a", "b", "c", "d"}))
    sure = fields.Boolean(truthy={"yes", "si", "oui"}, falsy={"no", "non"})
    seen = fields.Raw(load_default=object)
    made = fields.Raw(load_default=lambda: 1, dump_default=object())

@tool(description="x", permission="p", mode=Mode.PROPOSE, params=Params)
def change(params, ctx):
    return 1

print(tool_contract(change))
"""


def test_a_contract_is_the_same_in_every_process() -> None:
    """Neither the order of a set nor an address is in it: a proposal of one worker is approved in another."""
    root = str(Path(__file__).parent.parent)
    told = {
        subprocess.run(
            [sys.executable, "-c", CHILD],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": root},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(told) == 1
