"""What a schema filled in: every value that the caller left out, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from marshmallow import Schema, fields

from flask_litro_agent.schemas import canonicalise
from flask_litro_agent.schemas.filled import pointer


class Price(Schema):
    cents = fields.Integer(required=True)
    currency = fields.String(load_default="EUR", data_key="cur")


class Line(Schema):
    sku = fields.String(required=True)
    amount = fields.Integer(load_default=1)
    price = fields.Nested(Price, load_default=None, allow_none=True)


class Order(Schema):
    number = fields.Integer(required=True)
    note = fields.String(load_default="none")
    tags = fields.List(fields.String(), load_default=list)
    lines = fields.List(fields.Nested(Line), load_default=list)
    more = fields.Nested(Line, many=True, load_default=list)
    pair = fields.Tuple((fields.Nested(Price), fields.Nested(Price)))
    prices = fields.Dict(fields.String(), fields.Nested(Price))
    skus = fields.List(fields.Pluck(Line, "sku"))
    shown = fields.String(dump_default="as it is")
    free = fields.Raw()


ALL = {"/note", "/tags", "/lines", "/more", "/shown"}
PRICE = {"cents": 1}


def filled(**more: Any) -> set[str]:
    """Return what is filled in beside the top level's defaults."""
    return set(canonicalise(Order(), {"number": 1, **more}).filled) - ALL


def test_a_default_that_was_left_out_is_filled_in() -> None:
    assert set(canonicalise(Order(), {"number": 1}).filled) == ALL


def test_a_value_that_was_given_is_not_also_when_it_is_the_default() -> None:
    given = {"number": 1, "note": "none", "tags": [], "lines": [], "more": [], "shown": "as it is"}
    assert canonicalise(Order(), given).filled == ()


def test_a_null_that_means_left_out_counts_as_left_out() -> None:
    assert "/note" in canonicalise(Order(), {"number": 1, "note": None}).filled


@pytest.mark.parametrize(
    ("more", "places"),
    [
        ({"lines": [{"sku": "a"}, {"sku": "b", "amount": 2}]},
         {"/lines/0/amount", "/lines/0/price", "/lines/1/price"}),
        ({"more": [{"sku": "a", "amount": 1, "price": PRICE}]}, {"/more/0/price/cur"}),
        ({"lines": ({"sku": "a", "amount": 1, "price": None},)}, set()),
        ({"pair": [PRICE, {"cents": 1, "cur": "USD"}]}, {"/pair/0/cur"}),
        ({"prices": {"a/b": PRICE, "c~": {"cents": 2, "cur": "EUR"}}}, {"/prices/a~1b/cur"}),
        ({"skus": ["a"]}, set()),
        ({"free": {"x": [{}]}}, set()),
    ],
)  # fmt: skip
def test_a_default_is_found_at_every_depth_by_its_written_name(more: Any, places: set[str]) -> None:
    assert filled(**more) == places


def test_a_callable_default_is_one_too() -> None:
    numbers = iter(range(5))
    made = canonicalise(Schema.from_dict({"at": fields.Integer(load_default=lambda: next(numbers))})(), {})
    assert (made.data, made.filled) == (b'{"at":0}', ("/at",))


def test_a_pointer_is_that_of_rfc_6901() -> None:
    assert pointer(pointer("", "a/b~"), 3) == "/a~1b~0/3"


LINES = st.lists(
    st.fixed_dictionaries({"sku": st.text("ab", min_size=1)}, optional={"amount": st.integers(0, 9)})
)


@given(LINES)
def test_what_was_given_and_what_was_filled_in_is_everything(lines: list[dict[str, Any]]) -> None:
    made = canonicalise(Order(), {"number": 1, "lines": lines})
    written = json.loads(made.data)["lines"]
    for index, line in enumerate(written):
        marked = {place.rpartition("/")[2] for place in made.filled if place.startswith(f"/lines/{index}/")}
        assert marked | set(lines[index]) == set(line)
        assert marked.isdisjoint(lines[index])
