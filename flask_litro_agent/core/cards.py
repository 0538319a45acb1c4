"""The arguments of a proposal as a person reads them: made from the canonical bytes, and from nothing else.

Two proposals have the same text exactly when they have the same bytes. Numbers are the digits that stand in the bytes,
no float and no browser comes between; texts stand in quotes, so that ``"1"`` and ``1`` look different; nothing is left
out or cut.

    {"order": 7, "lines": [{"sku": "a", "cents": 5}, …]}   ──►   Line order 7 · Table lines (cents, sku)
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from flask_litro_agent import strict_json
from flask_litro_agent.core.visible import Visible, visible
from flask_litro_agent.schemas import pointer

__all__ = ["FILLED", "Group", "Line", "Part", "Table", "lines", "places", "value"]

#: The mark of a value that the model left out and the schema filled in.
FILLED: Final = "default"
Kind = Literal["text", "number", "boolean", "null", "empty"]
_MOST_COLUMNS: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One value that has no parts. ``path`` is a JSON pointer, ``label`` what the tool calls the thing it names."""

    path: str
    name: str
    kind: Kind
    text: str
    marks: tuple[str, ...] = ()
    label: Visible | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """An object or a list; the parts of a list are named by their number, from 1."""

    path: str
    name: str
    kind: Literal["object", "list"]
    parts: tuple[Part, ...]
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A list of objects of plain values; a cell is None where the row's object has no such name."""

    path: str
    name: str
    columns: tuple[Visible, ...]
    rows: tuple[tuple[Line | None, ...], ...]
    marks: tuple[str, ...] = ()
    kind: Literal["table"] = "table"


Part = Line | Group | Table


def lines(
    arguments: bytes, *, filled: Collection[str] = (), labels: Mapping[str, str] | None = None
) -> tuple[Part, ...]:
    """Return the parts of canonical arguments; ``filled`` and the names of ``labels`` are JSON pointers."""
    return _Reader(frozenset(filled), labels or {}).parts(_decoded(arguments), "")


def value(data: Any, name: str = "") -> Part:
    """Return any JSON value as a part: what a preview says, say."""
    return _Reader(frozenset(), {}).part(_decoded(strict_json.encode(data)), name, "")


def places(arguments: bytes) -> Iterator[str]:
    """Yield the JSON pointer of every value of an object that has no parts."""
    yield from filter(None, _leaves(_decoded(arguments), ""))


class _Number(NamedTuple):
    """The digits of a number as they are written."""

    digits: str


class _Reader:
    """Reads one value; what was filled in and what has a label is known by its path."""

    def __init__(self, filled: frozenset[str], labels: Mapping[str, str]) -> None:
        self._filled = filled
        self._labels = labels

    def parts(self, data: Mapping[str, Any], path: str) -> tuple[Part, ...]:
        return tuple(self.part(inner, name, pointer(path, name)) for name, inner in data.items())

    def part(self, data: Any, name: str, path: str) -> Part:
        shown = visible(name)
        match data:
            case dict() if data:
                marks = self._marks(path, shown)
                parts = self.parts(data, path)
                return Group(path=path, name=shown.text, kind="object", parts=parts, marks=marks)
            case list() if _is_table(data):
                return self._table(data, shown, path)
            case list() if data:
                marks = self._marks(path, shown)
                items = tuple(
                    self.part(item, str(index + 1), pointer(path, index)) for index, item in enumerate(data)
                )
                return Group(path=path, name=shown.text, kind="list", parts=items, marks=marks)
        return self._line(data, shown, path)

    def _table(self, data: list[dict[str, Any]], shown: Visible, path: str) -> Table:
        names = _columns(data)
        return Table(
            path=path,
            name=shown.text,
            columns=tuple(map(visible, names)),
            rows=tuple(self._row(row, names, pointer(path, index)) for index, row in enumerate(data)),
            marks=self._marks(path, shown),
        )

    def _row(self, row: dict[str, Any], names: list[str], path: str) -> tuple[Line | None, ...]:
        return tuple(
            self._line(row[name], Visible(visible(name).text), pointer(path, name)) if name in row else None
            for name in names
        )

    def _line(self, data: Any, name: Visible, path: str) -> Line:
        kind, shown = _plain(data)
        label = self._labels.get(path)
        return Line(
            path=path,
            name=name.text,
            kind=kind,
            text=shown.text,
            marks=self._marks(path, name, shown),
            label=None if label is None else visible(label),
        )

    def _marks(self, path: str, *shown: Visible) -> tuple[str, ...]:
        of_text = [mark for each in shown for mark in each.marks]
        return tuple(dict.fromkeys([FILLED] * (path in self._filled) + of_text))


def _plain(data: Any) -> tuple[Kind, Visible]:
    """Return a value without parts as text: the kinds cannot be taken for each other."""
    match data:
        case _Number(digits):
            return "number", Visible(digits)
        case str():
            shown = visible(data, breaks=True)
            return "text", Visible(f'"{shown.text}"', shown.marks)
        case bool():
            return "boolean", Visible("true" if data else "false")
        case None:
            return "null", Visible("null")
    return "empty", Visible("{}" if isinstance(data, dict) else "[]")


def _is_table(data: list[Any]) -> bool:
    return (
        len(data) > 1
        and all(isinstance(row, dict) and not any(map(_has_parts, row.values())) for row in data)
        and 0 < len(_columns(data)) <= _MOST_COLUMNS
    )


def _columns(data: list[dict[str, Any]]) -> list[str]:
    return sorted({name for row in data for name in row})


def _has_parts(data: Any) -> bool:
    return isinstance(data, (dict, list)) and bool(data)


def _leaves(data: Any, path: str) -> Iterator[str]:
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    if not _has_parts(data):
        yield path
    for name, each in inner:
        yield from _leaves(each, pointer(path, name))


def _decoded(data: bytes) -> Any:
    return json.loads(data, parse_int=_Number, parse_float=_Number)
