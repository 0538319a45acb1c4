"""How many streamed responses may be open at once, in this process and for one actor."""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from flask import Response

from flask_litro_agent.errors import Overloaded

__all__ = ["Slot", "Slots", "refuse_one_at_a_time"]

_ONE_AT_A_TIME = (
    "this server's worker serves one request at a time (gunicorn's sync worker); "
    "start it with -k gevent or -k gthread"
)
_PLENTY = 500
_POOL = 4


class Slots:
    """Counts open streams; ``most`` None decides by the server that asks."""

    def __init__(self, *, most: int | None, most_per_actor: int) -> None:
        self._most = most
        self._most_per_actor = most_per_actor
        self._lock = threading.RLock()  # a response may be collected, and its slot given back, inside take
        self._open: Counter[str] = Counter()

    def take(self, actor_id: str, environ: Mapping[str, Any]) -> Slot:
        """Take a slot; Overloaded when there is none."""
        most = self._most or _suitable(environ)
        with self._lock:
            if self._open.total() >= most:
                raise Overloaded(f"{most} streams are open here, which is the most: ask again in a moment")
            if self._open[actor_id] >= self._most_per_actor:
                raise Overloaded(
                    f"{self._most_per_actor} of your streams are open, which is the most: close one"
                )
            self._open[actor_id] += 1
        return Slot(lambda: self._give_back(actor_id))

    def _give_back(self, actor_id: str) -> None:
        with self._lock:
            self._open[actor_id] -= 1
            if self._open[actor_id] <= 0:
                del self._open[actor_id]


class Slot:
    """A taken slot: given back at the end of the ``with`` block, unless a response keeps it until it is closed."""

    def __init__(self, give_back: Callable[[], None]) -> None:
        self._give_back: Callable[[], None] | None = give_back
        self._kept = False

    def keep(self, response: Response) -> Response:
        """Give the slot back when this response is closed, however far it was read, or dropped unsent."""
        self._kept = True
        response.call_on_close(self.give_back)
        weakref.finalize(response, self.give_back).atexit = False
        return response

    def give_back(self) -> None:
        """Give the slot back; a second time does nothing."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back()

    def __enter__(self) -> Slot:
        return self

    def __exit__(self, *raised: object) -> None:
        if raised[0] is not None or not self._kept:
            self.give_back()


def refuse_one_at_a_time(environ: Mapping[str, Any]) -> None:
    """Raise Overloaded in a gunicorn ``sync`` worker, which a single stream would keep from everybody else."""
    software = str(environ.get("SERVER_SOFTWARE", ""))
    if software.startswith("gunicorn") and not environ.get("wsgi.multithread"):
        raise Overloaded(_ONE_AT_A_TIME, retry_after=60)


def _suitable(environ: Mapping[str, Any]) -> int:
    """A stream costs a thread of a small pool under gthread and waitress, and nearly nothing elsewhere."""
    software = str(environ.get("SERVER_SOFTWARE", ""))
    pooled = software.startswith(("gunicorn", "waitress")) and not _is_cooperative()
    return _POOL if pooled else _PLENTY


def _is_cooperative() -> bool:
    return threading.Lock.__module__.startswith("gevent")
