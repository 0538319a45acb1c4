"""How many turns may run at once in this process, and of one actor."""

from __future__ import annotations

import threading
from collections import Counter

from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.errors import Overloaded

__all__ = ["Places"]


class Places:
    """Counts running turns by session."""

    def __init__(self, *, most: int, most_per_actor: int) -> None:
        self._most = most
        self._most_per_actor = most_per_actor
        self._lock = threading.Lock()
        self._taken: dict[SessionKey, str] = {}
        self._closed = False

    def take(self, key: SessionKey, actor_id: str) -> None:
        """Count a turn whose lease is held, so that who finds a session busy takes no place; Overloaded when full."""
        with self._lock:
            if self._closed:
                raise Overloaded("this server is shutting down: ask again in a moment", retry_after=2)
            running = len(self._taken)
            if running >= self._most:
                raise Overloaded(
                    f"{running} turns are running here, which is the most: ask again in a moment"
                )
            own = Counter(self._taken.values())[actor_id]
            if own >= self._most_per_actor:
                raise Overloaded(f"{own} of your turns are running, which is the most: wait for one to end")
            self._taken[key] = actor_id

    def leave(self, key: SessionKey) -> None:
        """Give the place back."""
        with self._lock:
            self._taken.pop(key, None)

    def close(self) -> None:
        """Let no turn begin any more."""
        self._closed = True
