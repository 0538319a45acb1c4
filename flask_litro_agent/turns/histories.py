"""The histories that a process keeps between the turns of its sessions: so many, the latest ones."""

from __future__ import annotations

import threading
from collections import OrderedDict

from flask_litro_agent.contracts import SessionKey, SessionStore
from flask_litro_agent.turns.history import History

__all__ = ["Histories"]

_MOST = 256


class Histories:
    """Lends a session's history to the holder of its lease; safe from any thread."""

    def __init__(self, store: SessionStore, *, context_tokens: int) -> None:
        self._store = store
        self._context_tokens = context_tokens
        self._lock = threading.Lock()
        self._kept: OrderedDict[SessionKey, History] = OrderedDict()

    def take(self, key: SessionKey, *, context_tokens: int | None = None) -> History:
        """Return the session's history, caught up with the log; it is not kept until it is given back.

        One that is kept with another budget than ``context_tokens`` is read anew; None takes any.
        """
        history = self.forget(key)
        if history is None or not self._serves(history, key, context_tokens):
            history = History(context_tokens=context_tokens or self._context_tokens)
        history.catch_up(self._store, key)
        return history

    def keep(self, key: SessionKey, history: History) -> None:
        """Keep the history for the session's next turn."""
        with self._lock:
            self._kept[key] = history
            while len(self._kept) > _MOST:
                self._kept.popitem(last=False)

    def forget(self, key: SessionKey) -> History | None:
        """Keep the history no longer; return it, if it was kept."""
        with self._lock:
            return self._kept.pop(key, None)

    def _serves(self, history: History, key: SessionKey, context_tokens: int | None) -> bool:
        same_budget = context_tokens in (None, history.context_tokens)
        return same_budget and history.seq <= self._store.last_seq(key)  # a log that went begins again
