"""A tool's output as plain JSON: what becomes what, what is refused, and that the cap holds while it is read."""

import collections
import datetime
import decimal
import enum
import json
import tracemalloc
import uuid
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_litro_agent import strict_json, ui
from flask_litro_agent.core.output import NestedComponent, NotPlain, TooLarge, plain

LIMIT = 256 * 1024
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=20,
)


class Colour(enum.Enum):
    RED = "red"


class Size(enum.IntEnum):
    BIG = 2


class Shout(str):
    def __str__(self):
        return "another text"


class Liar(int):
    def __int__(self):
        raise RuntimeError("canary")


@given(JSON)
def test_json_comes_back_as_it_was(value):
    assert plain(value, limit=LIMIT) == value


@given(JSON)
def test_the_copy_shares_nothing_that_can_change(value):
    copy = plain(value, limit=LIMIT)
    if isinstance(value, (list, dict)):
        assert copy is not value


@given(JSON, st.integers(1, 200))
def test_what_passes_the_cap_is_no_longer_than_the_cap_says(value, limit):
    """The count is an estimate that is never too low for texts, lists and objects, and near for numbers."""
    try:
        copy = plain(value, limit=limit)
    except TooLarge:
        return
    assert len(strict_json.encode(copy)) <= limit + 1


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (decimal.Decimal("12.90"), "12.90"),
        (datetime.date(2026, 11, 30), "2026-11-30"),
        (datetime.datetime(2026, 11, 30, 12, 5, tzinfo=datetime.UTC), "2026-11-30T12:05:00+00:00"),
        (datetime.time(12, 5), "12:05:00"),
        (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (Colour.RED, "red"),
        (Size.BIG, 2),
        ((1, (2,)), [1, [2]]),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (collections.OrderedDict(a=1), {"a": 1}),
        (Shout("text"), "text"),
        (True, True),
        (None, None),
        (-0.5, -0.5),
    ],
    ids=repr,
)  # fmt: skip
def test_what_python_has_beside_json_is_said_in_json(value, read):
    copy = plain(value, limit=LIMIT)
    assert copy == read
    assert json.loads(json.dumps(copy)) == copy
    assert type(copy) in (str, int, float, bool, type(None), list, dict)


@pytest.mark.parametrize(
    "value",
    [b"x", bytearray(b"x"), {1, 2}, object(), lambda: 1, 1j, float("nan"), float("inf"), {1: "a"}, {None: 1},
     "nul \x00", "half \ud800", {"\x00": 1}, 10**1001, range(3), iter([1])],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_json_cannot_say_is_refused(value):
    """I5."""
    with pytest.raises(NotPlain):
        plain(value, limit=LIMIT)


def test_a_value_that_contains_itself_is_refused():
    """I5."""
    value = {}
    value["self"] = value
    with pytest.raises(NotPlain, match="contains itself"):
        plain(value, limit=LIMIT)


def test_the_refusal_says_where():
    with pytest.raises(NotPlain, match=r"the result\.orders\[1\]\.when is a complex"):
        plain({"orders": [{}, {"when": 1j}]}, limit=LIMIT)


def test_a_component_inside_a_value_is_refused_with_its_place():
    with pytest.raises(NestedComponent, match=r"the result\[0\] is ui\('x-card'"):
        plain([ui("x-card", data=1)], limit=LIMIT)


def test_a_text_over_the_cap_is_never_encoded():
    """Law 10: 100 MB cost nothing but themselves."""
    value = "x" * 100_000_000
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge):
            plain(value, limit=LIMIT)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


class Endless(list):
    """A list that never ends."""

    def __iter__(self):
        while True:
            yield None


class EndlessMapping(collections.UserDict):
    def items(self):
        number = 0
        while True:
            number += 1
            yield str(number), number


@pytest.mark.parametrize("value", [Endless(), EndlessMapping()])
def test_a_value_without_an_end_is_too_large(value):
    """Law 10, I5."""
    with pytest.raises(TooLarge):
        plain(value, limit=LIMIT)


def test_escapes_count_as_they_are_written():
    with pytest.raises(TooLarge):
        plain("\x01" * 40, limit=200)
    assert plain("x" * 40, limit=200) == "x" * 40


def test_what_a_value_raises_while_it_is_read_passes_through():
    """I5: the gate makes a failed call of it."""
    with pytest.raises(RuntimeError, match="canary"):
        plain(Liar(3), limit=LIMIT)


def test_sixty_four_levels_are_the_end():
    deep = "x"
    for _ in range(63):
        deep = [deep]
    assert plain(deep, limit=LIMIT) == deep
    with pytest.raises(NotPlain, match="64 levels"):
        plain([deep], limit=LIMIT)


def test_what_is_accepted_can_be_written_and_read_back():
    deep = 1
    for _ in range(63):
        deep = {"a": deep}
    assert strict_json.decode(strict_json.encode(plain(deep, limit=LIMIT))) == deep
