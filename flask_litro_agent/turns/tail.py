"""What one response sends of a session: stored lines, then the lines of the turn in flight as they come.

Replay equals live: both are the same bytes. The response never keeps a turn alive; a client that was cut, or whose
response reached its longest life, asks again from its last seq + 1.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter

from flask_litro_agent import events
from flask_litro_agent.contracts import Entry, SessionKey, SessionStore
from flask_litro_agent.errors import StoreError
from flask_litro_agent.turns.live import LiveTurn

__all__ = ["HEARTBEAT", "Tail"]

HEARTBEAT = b"\n"
_CHUNK_BYTES = 64 * 1024
_LOOK_SECONDS = 1.0


@dataclass(slots=True, kw_only=True)
class Tail:
    """One reader's way through a log.

    Ends after ``until`` (a replay), or after the first ``turn-end`` at or behind ``turn_from`` (a turn in flight);
    with neither it follows. ``gone`` tells whether the client has left. ``shown`` gives a stored entry's line as this
    reader may have it. Times are in seconds.
    """

    store: SessionStore
    key: SessionKey
    live: Callable[[SessionKey], LiveTurn | None]
    gone: Callable[[], bool]
    after: int
    until: int | None = None
    turn_from: int | None = None
    longest: float
    heartbeat: float
    shown: Callable[[Entry], bytes] = attrgetter("line")
    _spoke: float = field(default=0.0, init=False)
    _done: bool = field(default=False, init=False)

    def chunks(self) -> Iterator[bytes]:
        """Yield whole lines, as many at once as are there; a blank line where there is silence."""
        self._spoke = time.monotonic()
        end = self._spoke + self.longest
        try:
            if self.until is None and self.store.last_seq(self.key) <= self.after:
                yield HEARTBEAT  # the headers go out now, not with the first event
            while not self._done:
                wait = min(
                    _LOOK_SECONDS, end - time.monotonic(), self._spoke + self.heartbeat - time.monotonic()
                )
                yield from self._next(max(0.0, wait))
                if time.monotonic() >= end or self.gone():
                    return
        except StoreError:
            return  # the status line is long gone: the client sees a cut stream and asks again

    def _next(self, wait: float) -> Iterator[bytes]:
        live = None if self.until is not None else self.live(self.key)
        chunks = self._from_store(wait) if live is None else self._from_live(live, wait)
        silent = True
        for chunk in chunks:
            silent = False
            self._spoke = time.monotonic()
            yield chunk
        if silent and not self._done and time.monotonic() - self._spoke >= self.heartbeat:
            self._spoke = time.monotonic()
            yield HEARTBEAT

    def _from_live(self, live: LiveTurn, wait: float) -> Iterator[bytes]:
        batch = live.take(self.after, wait)
        if batch.behind:
            yield from self._missed(live, wait)
            return
        if batch.lines:
            self.after = batch.last
            yield batch.lines
        if batch.ended:
            if not live.finished:
                yield from self._stored()  # what a failed write left standing, if anything
            self._done = self.turn_from is not None
            if not self._done:
                live.wait_closed(_LOOK_SECONDS)

    def _missed(self, live: LiveTurn, wait: float) -> Iterator[bytes]:
        before = self.after
        yield from self._stored()
        if self.after == before:  # a damaged log does not have it either
            live.wait_closed(wait)

    def _from_store(self, wait: float) -> Iterator[bytes]:
        if self.until is not None:
            yield from self._stored()
            self._done = True
        elif self.store.wait(self.key, self.after, wait):
            yield from self._stored()
        else:
            yield from self._abandoned()

    def _abandoned(self) -> Iterator[bytes]:
        """A turn in flight elsewhere that stays silent: end when nobody holds its lease any more."""
        if self.turn_from is None or self.store.is_leased(self.key):
            return
        yield from self._stored()
        self._done = True

    def _stored(self) -> Iterator[bytes]:
        lines: list[bytes] = []
        size = 0
        for entry in self.store.read(self.key, after=self.after):
            if self.until is not None and entry.seq > self.until:
                break
            self.after = entry.seq
            lines.append(self.shown(entry))
            size += len(entry.line)
            if self.turn_from is not None and entry.kind == events.TURN_END and entry.seq >= self.turn_from:
                self._done = True
                break
            if size >= _CHUNK_BYTES:
                yield b"".join(lines)
                lines, size = [], 0
        if lines:
            yield b"".join(lines)
