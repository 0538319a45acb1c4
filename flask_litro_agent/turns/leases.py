"""Who writes to a session: taking its lease, and telling a turn that goes on from one that has just ended."""

from __future__ import annotations

import time

from flask_litro_agent import events
from flask_litro_agent.contracts import Lease, SessionKey, SessionStore
from flask_litro_agent.errors import NotFound, SessionBusy, SessionDeleted

__all__ = ["Leases"]

_NO_SESSION = "there is no such session"
_POLL = 0.02


class Leases:
    """Takes the leases of a store's sessions, for ``ttl`` seconds each."""

    def __init__(self, store: SessionStore, *, ttl: float) -> None:
        self._store = store
        self._ttl = ttl

    def take(
        self, key: SessionKey, turn_id: str | None = None, *, wait: float, patient: bool = False
    ) -> Lease:
        """Take the lease; wait for a writer without a turn, and for any writer when ``patient``.

        SessionBusy when it cannot be had in ``wait`` seconds, NotFound for a deleted session.
        """
        until = time.monotonic() + wait
        while True:
            try:
                lease = self._store.acquire(key, self._ttl, turn_id)
                running = None if lease else self.running(key)
            except SessionDeleted:
                raise NotFound(_NO_SESSION) from None
            if lease is not None:
                return lease
            if time.monotonic() >= until or (running and not patient):
                raise SessionBusy(running)
            time.sleep(_POLL)

    def last_seq(self, key: SessionKey) -> int:
        """Return the seq of the log's last event; NotFound for a session without one."""
        try:
            last = self._store.last_seq(key)
        except SessionDeleted:
            last = 0
        if not last:
            raise NotFound(_NO_SESSION)
        return last

    def last_kind(self, key: SessionKey) -> str | None:
        """Return the kind of the last event of a turn; None for an empty log. Decisions may stand behind it."""
        kind, last, back = None, self._store.last_seq(key), 1
        while kind is None and back < 2 * last:
            for entry in self._store.read(key, after=max(0, last - back)):
                kind = kind if entry.kind == events.PROPOSAL_SETTLED else entry.kind
            back *= 2
        return kind

    def running(self, key: SessionKey) -> str | None:
        """Return the turn that goes on; one whose turn-end is in the log is just giving the lease back."""
        holder = self._store.holder(key)
        if holder is None or self.last_kind(key) == events.TURN_END:
            return None
        return holder.turn_id if self._store.holder(key) == holder else None
