"""One thread a process that keeps the leases of its turns, hears their stops and watches their clocks.

A turn that was told to end and does not, because foreign code holds its thread, is handed over to be ended without it.
The watcher lives while there is a turn to watch, so an idle process and a forked child have none.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from flask_litro_agent.contracts import SessionStore
from flask_litro_agent.errors import StoreError
from flask_litro_agent.turns.live import LiveTurn
from flask_litro_agent.turns.writer import SessionWriter

__all__ = ["Watcher"]

logger = logging.getLogger(__name__)

_POLL_SECONDS = 0.5
_LAST_SECONDS = 3.0


@dataclass(slots=True)
class _Watched:
    live: LiveTurn
    writer: SessionWriter
    renew_at: float
    overdue_at: float = math.inf


class Watcher:
    """Watches turns; ``renew_every`` is in seconds, ``overdue`` gets a turn that does not end when it is told to."""

    def __init__(
        self,
        store: SessionStore,
        *,
        renew_every: float,
        overdue: Callable[[LiveTurn, SessionWriter], None],
    ) -> None:
        self._store = store
        self._renew_every = renew_every
        self._overdue = overdue
        self._lock = threading.Lock()
        self._turns: dict[str, _Watched] = {}
        self._running = False

    def add(self, live: LiveTurn, writer: SessionWriter) -> None:
        """Watch this turn until ``remove``; RuntimeError when the process cannot have another thread."""
        with self._lock:
            self._turns[live.turn_id] = _Watched(live, writer, time.monotonic() + self._renew_every)
            if self._running:
                return
            self._running = True
        try:
            threading.Thread(target=self._run, daemon=True, name="litro-watcher").start()
        except RuntimeError:
            with self._lock:
                self._running = False
            raise

    def remove(self, live: LiveTurn) -> None:
        with self._lock:
            self._turns.pop(live.turn_id, None)

    def _run(self) -> None:
        while watched := self._current():
            try:
                self._look(watched)
            except Exception:
                logger.exception("litro watcher: one look failed; the next comes in %.1f s", _POLL_SECONDS)
            time.sleep(min(_POLL_SECONDS, self._renew_every / 2))

    def _current(self) -> list[_Watched]:
        with self._lock:
            if not self._turns:
                self._running = False
            return list(self._turns.values())

    def _look(self, watched: list[_Watched]) -> None:
        now = time.monotonic()
        for each in watched:
            if now >= each.live.deadline:
                each.live.end("limit")
            if now >= each.renew_at:
                each.renew_at = now + self._renew_every
                if not each.writer.renew():
                    each.live.end("lease_lost")
            if each.live.ended_by is not None:
                self._await_end(each, now)
        self._hear([each.live for each in watched])

    def _await_end(self, each: _Watched, now: float) -> None:
        each.overdue_at = min(each.overdue_at, now + _LAST_SECONDS)
        if now >= each.overdue_at:
            self._overdue(each.live, each.writer)

    def _hear(self, turns: list[LiveTurn]) -> None:
        try:
            stopped = self._store.stopped([live.turn_id for live in turns])
        except StoreError as error:
            logger.warning("litro watcher: cannot read stops: %s", error)
            return
        for live in turns:
            if live.turn_id in stopped:
                live.end("stopped")
