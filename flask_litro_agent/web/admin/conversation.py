"""A session's log as an operator reads it: each event with every part of it as text.

Components are shown by their data, never by their html. What the person's browser did not get is labelled so; a
provider's own state (signed reasoning) is shown to nobody.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from flask_litro_agent import events, strict_json
from flask_litro_agent.contracts import Entry, SessionKey, SessionStore
from flask_litro_agent.core.visible import escape, is_seen

__all__ = ["Passage", "ShownEvent", "read_passage"]

#: Deltas and progress are left out: the message and the result that they lead to say the same.
_SHOWN: Final = frozenset(events.KINDS - {events.TEXT_DELTA, events.REASONING_DELTA, events.TOOL_PROGRESS})
#: Of these events' private parts an operator is told: a result that was not shown, and who decided.
_TOLD: Final = frozenset({events.TOOL_RESULT, events.PROPOSAL_SETTLED})
_MOST: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownEvent:
    """One event: when (ms since the epoch), what, and its payload; ``unshown`` is what the browser did not get."""

    seq: int
    at: int
    kind: str
    payload: Mapping[str, Any]
    unshown: Mapping[str, Any] = field(default_factory=dict)

    def text(self, *names: str) -> str:
        """Return what stands at the end of these names as text, JSON where it is none; empty when nothing does."""
        value: Any = self.payload
        for name in names:
            if not isinstance(value, Mapping) or name not in value:
                return ""
            value = value[name]
        return _text(value)

    def unshown_texts(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the text of each part that the browser did not get."""
        for name, value in self.unshown.items():
            yield name, _text(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A stretch of a log: its events, and the seqs that lead on from it; ``last`` is the log's own end."""

    events: tuple[ShownEvent, ...]
    first: int
    last: int
    before: int | None
    after: int | None


def read_passage(store: SessionStore, key: SessionKey, *, first: int, until: int | None) -> Passage:
    """Return at most 300 events from ``first`` on, as the log stood at ``until``; StoreError as for ``read``."""
    last = store.last_seq(key)
    end = last if until is None else min(until, last)
    found = list(islice(_shown(store.read(key, first - 1, _SHOWN)), _MOST + 1))
    there = [event for event in found if event.seq <= end]
    shown = tuple(there[:_MOST])
    return Passage(
        events=shown,
        first=first,
        last=last,
        before=shown[-2].seq if len(shown) > 1 else None,
        after=next((event.seq for event in found if event.seq > (shown[-1].seq if shown else end)), None),
    )


def _shown(entries: Iterable[Entry]) -> Iterator[ShownEvent]:
    for entry in entries:
        event = events.decode(entry.line)
        yield ShownEvent(
            seq=event.seq, at=event.ts, kind=event.kind, payload=_without_html(event), unshown=_unshown(entry)
        )


def _without_html(event: events.Event) -> Mapping[str, Any]:
    if event.kind != events.UI:
        return event.payload
    return {name: value for name, value in event.payload.items() if name not in ("html", "hydrate")}


def _unshown(entry: Entry) -> Mapping[str, Any]:
    if entry.private is None or entry.kind not in _TOLD:
        return {}
    value = strict_json.decode(entry.private, depth=strict_json.STORED_DEPTH)
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    plain = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return "".join(each if each == "\n" or is_seen(each) else escape(each) for each in plain)
