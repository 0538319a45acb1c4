"""One pair of eyes on the ledger for everybody who listens in this process, open only while somebody does."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from flask_litro_agent.core.waiting import Pulse
from flask_litro_agent.errors import LedgerAway, Overloaded

__all__ = ["Watch"]

logger = logging.getLogger(__name__)

_PAUSE: Final = 1.5


class Watch:
    """Looks every ``pause`` seconds, in a thread of its own that ends with the last listener."""

    def __init__(self, look: Callable[[], Pulse], *, pause: float = _PAUSE) -> None:
        self._look = look
        self._pause = pause
        self._changed = threading.Condition()
        self._listeners = 0
        self._is_looking = False
        self._latest: Pulse | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Have it look on for the block."""
        with self._changed:
            self._listeners += 1
        try:
            self._look_for_them()
            yield
        finally:
            with self._changed:
                self._listeners -= 1
                self._changed.notify_all()

    def next(self, known: str | None, seconds: float) -> Pulse | None:
        """Return what is seen as soon as its mark is not the known one; None after so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_news(known), seconds)
            return self._latest if self._is_news(known) else None

    def _is_news(self, known: str | None) -> bool:
        return self._latest is not None and self._latest.mark != known

    def _look_for_them(self) -> None:
        """Start the thread that looks, unless there is one; Overloaded when the process cannot have another."""
        with self._changed:
            if self._is_looking:
                return
            try:
                threading.Thread(target=self._look_on, name="litro-watch", daemon=True).start()
            except RuntimeError:
                raise Overloaded("this process has no thread left to watch the ledger with") from None
            self._is_looking = True

    def _look_on(self) -> None:
        is_away = False
        while self._goes_on():
            try:
                self._see(self._look())
                is_away = False
            except Exception as error:  # whatever it is, the pages ask again by themselves
                if not is_away:
                    report = logger.warning if isinstance(error, LedgerAway) else logger.exception
                    report("litro admin: the ledger cannot be watched now: %s", error)
                is_away = True
            self._rest()

    def _see(self, pulse: Pulse) -> None:
        with self._changed:
            self._latest = pulse
            self._changed.notify_all()

    def _rest(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._listeners, self._pause)

    def _goes_on(self) -> bool:
        """Whether anybody listens; with nobody there it has seen nothing."""
        with self._changed:
            if not self._listeners:
                self._is_looking, self._latest = False, None
            return self._is_looking
