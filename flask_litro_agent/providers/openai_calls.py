"""Tool calls of an OpenAI-compatible stream, put together from deltas.

The format gives each call an ``index`` and sends its ``id`` and name once. Servers leave out, repeat, reuse or change
each of the three, so an entry finds its call by what it says: its id, its index, whether it has a name, and whether
the call so far is whole.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from flask_litro_agent.contracts import ToolCallEvent
from flask_litro_agent.providers.arguments import Arguments
from flask_litro_agent.providers.identifiers import Names

__all__ = ["Calls"]

_OWN = frozenset({"index", "id", "type", "function"})


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: Arguments = field(default_factory=Arguments)
    extra: dict[str, Any] = field(default_factory=dict)


class Calls:
    """The calls of one answer, in the order in which they were opened."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._calls: list[_Call] = []
        self._by_index: dict[object, _Call] = {}
        self._by_id: dict[str, _Call] = {}

    def __len__(self) -> int:
        return len(self._named_or_filled())

    @property
    def are_complete(self) -> bool:
        return all(call.arguments.is_empty or call.arguments.is_complete for call in self._calls)

    @property
    def extras(self) -> list[dict[str, Any]]:
        """What else a server said beside each call, to be sent back with it; empty when nothing."""
        extras = [call.extra for call in self._named_or_filled()]
        return extras if any(extras) else []

    def take(self, entry: Mapping[str, Any], *, choice: object, is_first: bool = True) -> None:
        """Take one entry of ``delta.tool_calls``; ``is_first`` says that it is the first of its delta."""
        function = entry.get("function")
        function = function if isinstance(function, dict) else entry
        id, name, index = _word(entry.get("id")), _word(function.get("name")), _index(entry, choice)
        fragment = function.get("arguments")
        is_sibling = not is_first and bool(name) and not id and index is None
        call = (None if is_sibling else self._find(id, name, index, fragment)) or self._open(id)
        if index is not None:
            self._by_index[index] = call
        if id and not call.id:
            call.id = id
            self._by_id.setdefault(id, call)
        call.name = self._named(call.name, name)
        call.arguments.add(fragment)
        call.extra |= {key: value for key, value in entry.items() if key not in _OWN and value is not None}

    def events(self, *, is_cut: bool) -> Iterator[ToolCallEvent]:
        """Yield the calls; ``is_cut`` says that the answer broke off in the last one."""
        used: set[str] = set()
        calls = self._named_or_filled()
        for call in calls:
            id = call.id if call.id and call.id not in used else f"call_{uuid.uuid4().hex[:16]}"
            used.add(id)
            yield call.arguments.call(
                id, self._names.original(call.name), is_cut=is_cut and call is calls[-1]
            )

    def _named_or_filled(self) -> list[_Call]:
        return [call for call in self._calls if call.name or not call.arguments.is_empty]

    def _open(self, id: str) -> _Call:
        call = _Call(id)
        self._calls.append(call)
        if id:
            self._by_id[id] = call
        return call

    def _find(self, id: str, name: str, index: object, fragment: Any) -> _Call | None:
        """Return the call that an entry continues, or None when it opens one."""
        at_index = self._by_index.get(index) if index is not None else None
        call = self._with_id(id, name, index, at_index) if id else at_index or self._last(name, index)
        return None if call and name and self._is_another(call, id, name, fragment) else call

    def _with_id(self, id: str, name: str, index: object, at_index: _Call | None) -> _Call | None:
        known = self._by_id.get(id)
        if known is None:  # a new call, unless the id came late or changes in every delta
            is_open = at_index and (not at_index.id or not (name or at_index.arguments.is_complete))
            return at_index if is_open else None
        if at_index is not None and at_index.id == id:
            return at_index
        return None if name and index is not None and at_index is None else known

    def _last(self, name: str, index: object) -> _Call | None:
        """Return the call that was opened last, unless a name under a new index opens one."""
        return None if (name and index is not None) or not self._calls else self._calls[-1]

    def _is_another(self, call: _Call, id: str, name: str, fragment: Any) -> bool:
        """Whether an entry with a name is a call of its own, although its id or index is this call's."""
        if name != call.name and name in self._names and call.name in self._names:
            return True
        if not fragment or not call.arguments.is_complete or call.arguments.repeats(fragment):
            return False
        is_whole = Arguments.of(fragment).is_complete
        return not call.arguments.is_placeholder or (is_whole and id != call.id)

    def _named(self, name: str, piece: str) -> str:
        """Return the name with another piece of it: repeated, grown, or the next piece."""
        if not piece or piece == name or name in self._names:
            return name
        return piece if piece.startswith(name) else name + piece


def _word(value: Any) -> str:
    return value if isinstance(value, str) and value.lower() not in ("", "null", "none") else ""


def _index(entry: Mapping[str, Any], choice: object) -> object:
    index = entry.get("index")
    return (choice, str(index)) if isinstance(index, (int, str)) and index != "" else None
