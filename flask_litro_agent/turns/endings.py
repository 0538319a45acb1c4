"""Who is told that a turn has ended: after its ``turn-end`` stands in the log, beside the turn and never in its way."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from flask_litro_agent.contracts import SessionKey

__all__ = ["Endings", "OnTurnEnd", "TurnEnd"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd:
    """How a turn ended and what it used; ``model`` is the one that answered last, empty when none has said so."""

    key: SessionKey
    turn_id: str
    actor_id: str
    reason: str
    model: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int


OnTurnEnd = Callable[[TurnEnd], None]


class Endings:
    """Tells every listener of each end, in a thread of its own; what one raises is logged and the others still hear."""

    def __init__(self, listeners: Iterable[OnTurnEnd] = ()) -> None:
        self._listeners = tuple(listeners)
        self._lock = threading.Lock()
        self._telling: set[threading.Thread] = set()

    def announce(self, end: TurnEnd | None) -> None:
        """Tell of an end and wait for nobody; None is no end."""
        if end is None or not self._listeners:
            return
        thread = threading.Thread(target=self._tell, args=(end,), daemon=True, name="litro-turn-end")
        with self._lock:
            self._telling.add(thread)
        try:
            thread.start()
        except RuntimeError:  # the process cannot have another thread
            self._telling.discard(thread)
            logger.exception("litro turn %s: nobody was told of its end", end.turn_id)

    def drain(self, seconds: float) -> None:
        """Wait until everybody was told, so long and no longer."""
        until = time.monotonic() + seconds
        with self._lock:
            telling = list(self._telling)
        for thread in telling:
            thread.join(max(0.0, until - time.monotonic()))

    def _tell(self, end: TurnEnd) -> None:
        try:
            for listener in self._listeners:
                _tell_one(listener, end)
        finally:
            with self._lock:
                self._telling.discard(threading.current_thread())


def _tell_one(listener: OnTurnEnd, end: TurnEnd) -> None:
    try:
        listener(end)
    except BaseException:  # a site's receiver may even exit: its thread is ours
        logger.exception("litro turn %s: a listener of its end failed", end.turn_id)
