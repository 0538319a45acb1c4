"""The one writer of a session: it numbers events, stores them, and only then shows them.

Store first, send second: ``show`` is never called with an entry that a reader of the log would not get.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from flask_litro_agent import events, strict_json
from flask_litro_agent.contracts import Entry, Lease, SessionStore
from flask_litro_agent.errors import LeaseLost, StoreError

__all__ = ["Draft", "SessionWriter", "Show"]

Show = Callable[[Sequence[Entry]], None]


class Draft(NamedTuple):
    """An event before it has a number; ``private`` is stored with it and never sent to a browser."""

    kind: str
    payload: Mapping[str, Any]
    private: Mapping[str, Any] | None = None


class SessionWriter:
    """Appends to one session under one lease. Used by one thread; ``renew`` and ``retire`` may come from another."""

    def __init__(self, store: SessionStore, lease: Lease, *, ttl: float, last_seq: int, show: Show) -> None:
        self.lease = lease
        self.seq = last_seq
        self._store = store
        self._ttl = ttl
        self._show = show
        self._renewed = time.monotonic()
        self._lost = False
        self._retired = False
        self._writing = threading.Lock()

    def write(self, *drafts: Draft) -> Sequence[Entry]:
        """Store the events as one append, then show them; LeaseLost or StoreError when nothing may be written."""
        with self._writing:
            self._check_duty()
            self._check_lease()
            now = time.time_ns() // 1_000_000
            entries = [_entry(self.seq + place, now, draft) for place, draft in enumerate(drafts, 1)]
            self._store.append(self.lease.key, entries, self.lease)
            self.seq = entries[-1].seq
            self._show(entries)
            return entries

    def catch_up(self) -> Sequence[Entry]:
        """After a failed append: show what of it stands in the log, and go on behind that."""
        with self._writing:
            self._check_duty()
            stands = list(self._store.read(self.lease.key, after=self.seq))
            if stands:
                self.seq = stands[-1].seq
                self._show(stands)
            return stands

    def retire(self) -> bool:
        """Refuse every later write, for a successor under the same lease; False while a write is under way."""
        if not self._writing.acquire(blocking=False):
            return False
        self._retired = True
        self._writing.release()
        return True

    def renew(self) -> bool:
        """Hold the lease for another ttl; False once it is lost, for good."""
        if self._lost:
            return False
        began = time.monotonic()
        try:
            held = self._store.renew(self.lease)
        except StoreError:
            return True  # unknown: the two-thirds rule decides
        if held:
            self._renewed = began
        else:
            self._lost = True
        return held

    def release(self) -> None:
        """Give the lease back."""
        self._store.release(self.lease)

    def _check_duty(self) -> None:
        if self._retired:
            raise LeaseLost("this writer was retired: a successor has ended its turn; nothing was written")

    def _check_lease(self) -> None:
        if self._lost or not (self._is_fresh() or (self.renew() and self._is_fresh())):
            raise LeaseLost("this writer's lease ran out or was taken over; nothing was written")

    def _is_fresh(self) -> bool:
        return time.monotonic() - self._renewed < self._ttl * 2 / 3


def _entry(seq: int, now: int, draft: Draft) -> Entry:
    private = None if draft.private is None else strict_json.encode(draft.private)
    return Entry(seq, draft.kind, events.encode(seq, now, draft.kind, draft.payload), private)
