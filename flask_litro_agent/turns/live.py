"""A running turn as this process's readers see it: the newest lines from memory, after they were stored."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from flask_litro_agent import events
from flask_litro_agent.contracts import Entry, SessionKey, Stop

__all__ = ["Batch", "LiveTurn"]

_KEEP_BYTES = 1024 * 1024


class Batch(NamedTuple):
    """Lines that follow a reader's position.

    ``behind`` asks the reader to catch up from the store; ``ended`` says that the turn will show nothing more.
    """

    lines: bytes
    last: int
    ended: bool = False
    behind: bool = False


class LiveTurn:
    """What the turn's thread shows and its readers take; the way to end it early."""

    def __init__(self, key: SessionKey, turn_id: str, actor_id: str, *, seconds: float) -> None:
        self.key = key
        self.turn_id = turn_id
        self.actor_id = actor_id
        self.deadline = time.monotonic() + seconds
        self.stop = Stop()
        self.ended_by: str | None = None
        self.first_seq = 0
        self._changed = threading.Condition()
        self._entries: deque[Entry] = deque()
        self._bytes = 0
        self._finished = False
        self._closed = False

    def show(self, entries: Sequence[Entry]) -> None:
        """Hand stored entries to every reader."""
        with self._changed:
            for entry in entries:
                self._entries.append(entry)
                self._bytes += len(entry.line)
            self._finished = entries[-1].kind == events.TURN_END
            while self._bytes > _KEEP_BYTES and len(self._entries) > 1:
                self._bytes -= len(self._entries.popleft().line)
            self._changed.notify_all()

    def close(self) -> None:
        """Tell every reader that nothing more comes."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def end(self, reason: str) -> None:
        """Ask the turn to end as soon as it can, waiting for nobody; the first reason given stands."""
        with self._changed:
            self.ended_by = self.ended_by or reason
        self.stop.set(wait=False)  # a provider's callback may block, and whoever asks has others to serve

    @property
    def finished(self) -> bool:
        """Whether its ``turn-end`` was shown."""
        return self._finished

    def wait_closed(self, seconds: float) -> bool:
        """Wait until the turn has ended; return whether it has."""
        with self._changed:
            return self._changed.wait_for(lambda: self._closed, seconds)

    def take(self, after: int, seconds: float) -> Batch:
        """Return every line after ``after`` that is there, waiting at most so many seconds for one."""
        with self._changed:
            if self._last <= after and not (self._finished or self._closed):
                self._changed.wait(seconds)
            if self._last <= after:
                return Batch(b"", after, ended=self._finished or self._closed)
            if self._entries[0].seq > after + 1:
                return Batch(b"", after, behind=True)
            lines = b"".join(self._entries[at].line for at in self._following(after))
            return Batch(lines, self._last, ended=self._finished or self._closed)

    @property
    def _last(self) -> int:
        return self._entries[-1].seq if self._entries else 0

    def _following(self, after: int) -> range:
        return range(after + 1 - self._entries[0].seq, len(self._entries))
