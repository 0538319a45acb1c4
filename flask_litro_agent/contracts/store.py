"""The session log: the protocol ``SessionStore`` and its values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

__all__ = ["Entry", "Holder", "Lease", "SessionInfo", "SessionKey", "SessionStore"]


class SessionKey(NamedTuple):
    """A log's key. ``owner`` is the actor's id; ``session`` is the client's word, so never a file name."""

    agent: str
    owner: str
    session: str


class Entry(NamedTuple):
    """One event in the log: its line with the newline, and beside it JSON bytes that no browser ever gets."""

    seq: int
    kind: str
    line: bytes
    private: bytes | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to append to one session; ``epoch`` grows with every acquisition of that session."""

    key: SessionKey
    token: str
    epoch: int
    turn_id: str | None = None


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a session's lease now: the turn, or None for a writer without one (a deletion, say)."""

    turn_id: str | None
    epoch: int


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session in a list; the times are milliseconds since the Unix epoch."""

    key: SessionKey
    created: int
    updated: int


@runtime_checkable
class SessionStore(Protocol):
    """The session log. Every method may raise StoreError; a deleted session raises SessionDeleted."""

    def append(self, key: SessionKey, entries: Sequence[Entry], lease: Lease) -> None:
        """Store the entries, all or none a reader can tell apart; LeaseLost when the lease is not the current one.

        ``entries[0].seq`` is ``last_seq + 1``, and the rest follow without a gap. When this returns, every
        entry is readable by every process, also after ``kill -9`` of this one.
        """
        ...

    def read(self, key: SessionKey, after: int = 0, kinds: frozenset[str] | None = None) -> Iterator[Entry]:
        """Yield the entries with ``seq > after``, in order, of those kinds; nothing for an unknown session."""
        ...

    def wait(self, key: SessionKey, after: int, seconds: float) -> bool:
        """Wait until there may be an entry after ``after``, at most that long; True is a hint to read."""
        ...

    def acquire(self, key: SessionKey, ttl: float, turn_id: str | None = None) -> Lease | None:
        """Become the session's one writer for ``ttl`` seconds, or return None: somebody else is."""
        ...

    def renew(self, lease: Lease) -> bool:
        """Hold the lease for another ttl; False when it is no longer ours."""
        ...

    def release(self, lease: Lease) -> None:
        """Give the lease back; nothing happens when it is no longer ours."""
        ...

    def holder(self, key: SessionKey) -> Holder | None:
        """Return who holds the lease now, in any process."""
        ...

    def is_leased(self, key: SessionKey) -> bool:
        """Return whether anybody, in any process, holds the lease now."""
        ...

    def stop(self, key: SessionKey, turn_id: str) -> None:
        """Leave word that this turn shall stop; its process finds it by ``stopped``."""
        ...

    def stopped(self, turn_ids: Sequence[str]) -> frozenset[str]:
        """Return which of these turns somebody asked to stop."""
        ...

    def last_seq(self, key: SessionKey) -> int:
        """Return the last entry's seq, 0 for an unknown session."""
        ...

    def list(
        self, owner: str | None, *, agent: str | None = None, after: str | None = None, limit: int = 50
    ) -> tuple[Sequence[SessionInfo], str | None]:
        """Return one page of an owner's sessions, newest first, and the cursor of the next page or None.

        With ``owner`` None, of everybody's.
        """
        ...

    def delete(self, key: SessionKey, lease: Lease) -> None:
        """Remove the session's content for good and leave a tombstone; the id stays closed."""
        ...
