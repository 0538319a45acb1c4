"""What a session's log has about a call: where its turn begins, the person's message, and what the model said with it.

A log only grows, so a scene that was found once stays true, and a page of forty cards reads no log twice. That the log
still stands is asked every time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from flask_litro_agent import events
from flask_litro_agent.contracts import Entry, SessionKey, SessionStore

__all__ = ["LONGEST", "Scene", "Scenes"]

#: Characters of a text that a card has room for; one more is kept, to say that there are more.
LONGEST: Final = 1000
#: How many of a log's last events are looked at before all of them are.
_NEAR: Final = 256
_KEPT: Final = 1024
_ANSWERS: Final = frozenset({events.TOOL_RESULT, events.UI, events.PROPOSAL})
_READ: Final = _ANSWERS | {events.TURN_START, events.MESSAGE, events.TOOL_CALL}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The seqs of the turn's first event and of the person's message, and the beginnings of both texts."""

    first: int
    message: int | None
    words: str | None
    said: str | None


class Scenes:
    """The scenes of one store; keeps those that were found last. Safe from any thread."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[SessionKey, str], Scene] = OrderedDict()

    def of(self, key: SessionKey, *, turn: str, call_id: str) -> Scene | None:
        """Return the call's scene, None when the log has none; SessionDeleted and StoreError as for ``read``."""
        last, place = self._store.last_seq(key), (key, call_id)
        with self._lock:
            known = self._known.get(place)
        if known is not None and last:
            return known
        found = self._find(key, last, turn, call_id)
        if found is not None:
            self._keep(place, found)
        return found

    def _find(self, key: SessionKey, last: int, turn: str, call_id: str) -> Scene | None:
        near = max(0, last - _NEAR)
        found = _found(self._store.read(key, near, _READ), turn, call_id) if near else None
        return found or _found(self._store.read(key, 0, _READ), turn, call_id)

    def _keep(self, place: tuple[SessionKey, str], scene: Scene) -> None:
        with self._lock:
            self._known[place] = scene
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)


def _found(entries: Iterable[Entry], turn: str, call_id: str) -> Scene | None:
    """Return the call's scene, None when its turn does not begin within the entries."""
    first: int | None = None
    message = said = None
    for entry in entries:
        if entry.kind == events.TURN_START:
            first = entry.seq if _payload(entry).get("turn_id") == turn else None
            message = said = None
        elif first is None:
            continue
        elif entry.kind == events.MESSAGE:
            is_person = _payload(entry).get("role") == "user"
            message, said = (entry, None) if is_person else (message, entry)
        elif entry.kind in _ANSWERS:
            said = None  # what follows is another round
        elif _payload(entry).get("call_id") == call_id:
            return Scene(
                first=first,
                message=None if message is None else message.seq,
                words=_text(message),
                said=_text(said),
            )
    return None


def _text(entry: Entry | None) -> str | None:
    return None if entry is None else str(_payload(entry)["text"])[: LONGEST + 1]


def _payload(entry: Entry) -> dict[str, Any]:
    return dict(events.decode(entry.line).payload)
