"""The arguments of a proposal as a person reads them: nothing unseen, nothing cut, no value like another."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flask_litro_agent.core import cards
from flask_litro_agent.core.cards import Group, Line, Table
from flask_litro_agent.core.visible import Visible
from flask_litro_agent.schemas import MAX_CANONICAL
from tests.test_digests import JSON, TEXT, wording


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def lines(arguments: dict[str, Any], **options: Any) -> tuple[cards.Part, ...]:
    return cards.lines(canonical(arguments), **options)


def line(value: Any, **options: Any) -> Line:
    (found,) = lines({"value": value}, **options)
    assert isinstance(found, Line)
    return found


def read_back(part: cards.Part) -> Any:
    """Return the value that a part shows; its texts must have nothing escaped."""
    match part:
        case Line(kind="text", text=text):
            return text[1:-1].replace("↵\n", "\n")
        case Line(text=text):
            return json.loads(text)
        case Group(kind="object", parts=parts):
            return {inner.name: read_back(inner) for inner in parts}
        case Group(parts=parts):
            return [read_back(inner) for inner in parts]
        case Table(columns=columns, rows=rows):
            return [
                {column.text: read_back(cell) for column, cell in zip(columns, row, strict=True) if cell}
                for row in rows
            ]


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (1, "number", "1"), (1.0, "number", "1.0"), ("1", "text", '"1"'), (True, "boolean", "true"),
        ("true", "text", '"true"'), (None, "null", "null"), ("null", "text", '"null"'), ("", "text", '""'),
        ([], "empty", "[]"), ({}, "empty", "{}"), ("[]", "text", '"[]"'), (" a ", "text", '" a "'),
    ],
)  # fmt: skip
def test_a_value_looks_like_no_other(value: Any, kind: str, text: str) -> None:
    assert (line(value).kind, line(value).text) == (kind, text)


@pytest.mark.parametrize(
    "written",
    ["12345678901234567890", "0.30000000000000004", "1e3", "-0.0", "-0", "1E400", "12.90", "9" * 1000],
)
def test_a_number_is_the_digits_that_are_written(written: str) -> None:
    """E5: no float stands between the bytes and the card."""
    (found,) = cards.lines(b'{"value":%b}' % written.encode())
    assert isinstance(found, Line)
    assert (found.kind, found.text) == ("number", written)


@pytest.mark.parametrize("text", ["12.9", "1_000", "off", "1e3"])
def test_a_text_that_could_be_a_value_stands_in_quotes(text: str) -> None:
    """E5."""
    assert line(text).text == f'"{text}"'


def test_what_does_not_show_is_an_escape_with_a_mark() -> None:
    """E1: in a value, in a name, in a column and in a label."""
    assert line("a\u202e").text == '"a\\u202e"'
    assert line("a\u202e").marks == ("escaped",)
    (named,) = lines({"a\u200b": 1})
    assert (named.name, named.marks) == ("a\\u200b", ("escaped",))
    (table,) = lines({"rows": [{"a\ufeff": 1}, {"a\ufeff": 2}]})
    assert isinstance(table, Table)
    assert table.columns == (Visible("a\\ufeff", ("escaped",)),)
    assert line(7, labels={"/value": "Ann\u00ad"}).label == Visible("Ann\\u00ad", ("escaped",))


def test_line_breaks_are_seen_and_kept() -> None:
    assert line("Dear Ann,\nyours").text == '"Dear Ann,↵\nyours"'


def test_letters_of_several_scripts_are_marked() -> None:
    assert line("pаypal").marks == ("mixed scripts", "lookalike")


@pytest.mark.parametrize(
    "text", ["<img src=x onerror=alert(1)>", "</script>", "{{7*7}}", "[a](javascript:b)"]
)
def test_markup_is_text(text: str) -> None:
    """E4."""
    assert line(text) == Line(path="/value", name="value", kind="text", text=f'"{text}"')


def test_what_the_schema_filled_in_is_marked_at_every_depth() -> None:
    """E6."""
    given = {"a": 1, "lines": [{"n": 1, "s": 2}, {"n": 1, "s": 2}], "tags": ["x"], "o": {"p": 1}}
    a, rows, nested, tags = lines(given, filled=("/a", "/lines/1/s", "/tags", "/o/p"))
    assert a.marks == ("default",)
    assert isinstance(rows, Table)
    assert [[cell and cell.marks for cell in row] for row in rows.rows] == [[(), ()], [(), ("default",)]]
    assert tags.marks == ("default",)
    assert isinstance(nested, Group)
    assert nested.parts[0].marks == ("default",)


def test_a_label_stands_beside_its_value_and_never_for_it() -> None:
    """E7."""
    (found,) = lines({"customer": 42}, labels={"/customer": "Anna Berg"})
    assert isinstance(found, Line)
    assert (found.text, found.label) == ("42", Visible("Anna Berg"))


def test_two_hundred_changes_are_one_table() -> None:
    given = [{"sku": f"T-{number}", "cents": number} for number in range(200)]
    (table,) = lines({"changes": given})
    assert isinstance(table, Table)
    assert [column.text for column in table.columns] == ["cents", "sku"]
    assert [[cell and cell.text for cell in row] for row in table.rows][199] == ["199", '"T-199"']
    assert len(table.rows) == 200


def test_a_cell_that_is_not_there_is_no_null() -> None:
    (table,) = lines({"rows": [{"a": None, "b": 1}, {"b": 2}]})
    assert isinstance(table, Table)
    assert table.rows[0][0] == Line(path="/rows/0/a", name="a", kind="null", text="null")
    assert table.rows[1][0] is None


@pytest.mark.parametrize(
    "given",
    [
        [{"a": 1}], [{"a": 1}, 2], [{"a": 1}, {"b": [1]}], [{"a": {"b": 1}}, {"a": 1}], [{}, {}],
        [{str(number): 1 for number in range(13)}] * 2, [1, 2], [[1], [2]],
    ],
    ids=repr,
)  # fmt: skip
def test_any_other_list_is_a_list(given: Any) -> None:
    (found,) = lines({"rows": given})
    assert isinstance(found, Group)
    assert [part.name for part in found.parts] == [str(number + 1) for number in range(len(given))]


def test_every_value_of_300_names_and_of_a_long_list_is_there() -> None:
    """E2: what fits into the limit is shown whole."""
    assert len(lines({f"n{number}": number for number in range(300)})) == 300
    (found,) = lines({"values": [1] * 8000})
    assert isinstance(found, Group)
    assert len(found.parts) == 8000
    text = "x" * (MAX_CANONICAL - 100)
    assert line(text).text == f'"{text}"'


def test_a_place_is_a_json_pointer() -> None:
    given = {"a/b": {"c~": [1, {"d": []}]}, "e": "x"}
    assert list(cards.places(canonical(given))) == ["/a~1b/c~0/0", "/a~1b/c~0/1/d", "/e"]
    assert list(cards.places(b"{}")) == []


@pytest.mark.parametrize("given", [1, "x", None, [{"a": 1}, {"a": 2}], {"a": {"b": [1, 2.5]}}], ids=repr)
def test_any_value_can_be_shown_as_a_part(given: Any) -> None:
    assert read_back(cards.value(given)) == given


@given(st.dictionaries(st.text("abc", max_size=3), JSON, max_size=4))
@example({"a": [{"x": 1}, {"y": None}]})
def test_a_card_shows_every_value_and_nothing_else(arguments: dict[str, Any]) -> None:
    """Read back, it is the arguments, unless something had to be escaped."""
    shown = lines(arguments)
    if not any("escaped" in mark for mark in _marks(shown)):
        assert canonical({part.name: read_back(part) for part in shown}) == canonical(arguments)


@given(st.dictionaries(TEXT, JSON, max_size=4), st.data())
def test_marks_and_labels_change_no_text(arguments: dict[str, Any], data: st.DataObject) -> None:
    there = list(cards.places(canonical(arguments)))
    some = st.lists(st.sampled_from(there), unique=True) if there else st.just([])
    filled, labelled = data.draw(some), data.draw(some)
    marked = lines(arguments, filled=filled, labels=dict.fromkeys(labelled, "x"))
    assert list(map(wording, marked)) == list(map(wording, lines(arguments)))


def _marks(parts: Any) -> list[tuple[str, ...]]:
    found = []
    for part in parts:
        match part:
            case Group(parts=inner):
                found += _marks(inner)
            case Table(columns=columns, rows=rows):
                found += [column.marks for column in columns]
                found += _marks([cell for row in rows for cell in row if cell])
        found.append(part.marks)
    return found
