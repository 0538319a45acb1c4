"""One property: equal digests, bytes, texts of the card and arguments at the run are the same thing, typed.

1, 1.0 and true are three values, and so are "1" and null: for any JSON value, through any field that may stand.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from marshmallow import Schema, fields

from flask_litro_agent.core import cards
from flask_litro_agent.core.execution import inline
from flask_litro_agent.core.proposals import args_digest, digest_of
from flask_litro_agent.errors import InvalidArguments
from flask_litro_agent.schemas import Canonical, canonicalise
from tests.gate_bench import GateBench, Spy
from tests.ledger_bench import draft

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


class Params(Schema):
    value = fields.Raw(required=True, allow_none=True)
    tags = fields.List(fields.String(), load_default=list)
    count = fields.Integer(load_default=1)
    price = fields.Decimal(load_default=None, allow_none=True)


PARAMS = Params()


def typed(value: Any) -> Any:
    """Return a value that equals another one only when all types do, too; 0.0 and -0.0 are two."""
    match value:
        case dict():
            return "object", tuple(sorted((name, typed(item)) for name, item in value.items()))
        case list():
            return "array", tuple(typed(item) for item in value)
        case float():
            return "float", value, math.copysign(1.0, value)
    return type(value).__name__, repr(value)


def made(value: Any) -> Canonical:
    try:
        return canonicalise(PARAMS, {"value": value})
    except InvalidArguments:
        assume(False)
        raise


def wording(part: cards.Part | None) -> Any:
    """Return what a part of a card says, without its marks and labels."""
    match part:
        case cards.Line(name=name, kind=kind, text=text):
            return name, kind, text
        case cards.Group(name=name, kind=group, parts=parts):
            return name, group, tuple(map(wording, parts))
        case cards.Table(name=name, columns=columns, rows=rows):
            cells = tuple(tuple(map(wording, row)) for row in rows)
            return name, "table", tuple(column.text for column in columns), cells
    return None


def words(arguments: bytes) -> list[Any]:
    """Return what the card says of arguments."""
    return list(map(wording, cards.lines(arguments)))


def near(value: Any) -> st.SearchStrategy[Any]:
    """Return values that are easily taken for this one."""
    likely: list[Any] = [value, str(value), [value], {"value": value}]
    if isinstance(value, (bool, int, float)):
        likely += [int(value), float(value), bool(value)] if abs(value) < 2**60 else [value]
    if isinstance(value, dict):
        likely.append(dict(reversed(value.items())))
    return st.sampled_from(likely) | JSON


@given(JSON.flatmap(lambda value: st.tuples(st.just(value), near(value))))
@example((1, 1.0))
@example((1, True))
@example((0, False))
@example((0.0, -0.0))
@example((1, "1"))
@example((None, "null"))
@example(({"a": 1, "b": 2}, {"b": 2, "a": 1}))
@example(({"a": 1}, {"a": 1.0}))
@example(("é", "e\u0301"))
@example((10**16, float(10**16)))
@example(("\u202e", "\\u202e"))
@example(("\\\u202e", "\\\\u202e"))
@example(("a\nb", "a↵\nb"))
@example(([{"a": 1}, {"a": 2}], [{"a": 1}, {"a": 2.0}]))
@example(([{"a": None}, {"b": 1}], [{"a": None}, {"a": None, "b": 1}]))
@example(([], {}))
@example(('a", "b', ["a", "b"]))
def test_equal_digests_equal_bytes_and_equal_arguments_are_one(pair: tuple[Any, Any]) -> None:
    one, other = (made(value) for value in pair)
    same_bytes = one.data == other.data
    assert (words(one.data) == words(other.data)) is same_bytes
    assert (args_digest("change", one.data) == args_digest("change", other.data)) is same_bytes
    assert (typed(one.arguments) == typed(other.arguments)) is same_bytes
    assert (typed(pair[0]) == typed(pair[1])) is same_bytes
    assert (
        digest_of("p", replace(draft(), arguments=one.data))
        == digest_of("p", replace(draft(), arguments=other.data))
    ) is same_bytes


@given(JSON)
def test_what_was_stored_reads_as_what_was_proposed(value: Any) -> None:
    first = made(value)
    again = canonicalise(PARAMS, json.loads(first.data))
    assert again.data == first.data
    assert typed(again.arguments) == typed(first.arguments)
    assert typed(first.arguments["value"]) == typed(value)


def test_the_same_bytes_for_another_tool_are_another_digest() -> None:
    assert args_digest("change", b"{}") != args_digest("refund", b"{}")


COVERED = ["agent", "owner", "session", "proposer", "tool", "contract_digest", "preview", "as_of"]


@pytest.mark.parametrize("name", COVERED)
def test_the_digest_covers_everything_that_a_card_shows(name: str) -> None:
    assert digest_of("p", draft()) != digest_of("p", draft(**{name: "another"}))


def test_no_two_proposals_have_one_digest() -> None:
    assert digest_of("p1", draft()) != digest_of("p2", draft())


@pytest.mark.parametrize(
    "value", [1, 1.0, True, 0.0, -0.0, "1", None, 10**20, 0.1 + 0.2, {"b": [1, 1.0]}, "\u202e"]
)
def test_the_tool_runs_with_exactly_what_was_proposed(tmp_path: Any, value: Any) -> None:
    """Through the whole gate and the database, as they stand in production."""
    spy = Spy(lambda params, ctx: "done")
    bench = GateBench(tmp_path, spy.tool(params=Params))
    proposal = bench.propose(arguments={"value": value})
    bench.approve(proposal, gate=bench.gate.within(inline))
    ((params, _),) = spy.calls
    assert typed(params["value"]) == typed(value)
    assert args_digest("change", canonicalise(PARAMS, params).data) == proposal.args_digest


def test_values_that_differ_only_in_type_are_no_twins(tmp_path: Any) -> None:
    bench = GateBench(tmp_path, Spy().tool(params=Params))
    ids = {bench.propose(arguments={"value": value}).id for value in (1, 1.0, True, "1", None)}
    assert len(ids) == 5
