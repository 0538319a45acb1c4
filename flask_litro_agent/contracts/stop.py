"""A request to stop that can be heard anywhere."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

__all__ = ["Stop"]


class Stop:
    """A request to stop that can be heard anywhere: set once, never cleared, safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._next = 0

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self, *, wait: bool = True) -> None:
        """Ask to stop; every callback runs once, in this thread, and what one of them raises is dropped.

        With ``wait=False`` the callbacks run in a thread of their own: one that blocks holds up nobody.
        """
        with self._lock:
            self._event.set()
            callbacks, self._callbacks = list(self._callbacks.values()), {}
        if wait or not _runs_apart(callbacks):
            _run(callbacks)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until asked to stop, or for that many seconds; return whether it was asked."""
        return self._event.wait(seconds)

    def on(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Run the callback at the stop (at once if it has come); return a function that takes it back."""
        with self._lock:
            if not self._event.is_set():
                number, self._next = self._next, self._next + 1
                self._callbacks[number] = callback
                return lambda: self._forget(number)
        _quietly(callback)
        return lambda: None

    def _forget(self, number: int) -> None:
        with self._lock:
            self._callbacks.pop(number, None)


def _runs_apart(callbacks: Sequence[Callable[[], None]]) -> bool:
    """Run the callbacks, if there are any, in a thread of their own; False when none can be had."""
    if not callbacks:
        return True
    try:
        threading.Thread(target=_run, args=(callbacks,), daemon=True, name="litro-stop").start()
    except RuntimeError:
        return False
    return True


def _run(callbacks: Sequence[Callable[[], None]]) -> None:
    for callback in callbacks:
        _quietly(callback)


def _quietly(callback: Callable[[], None]) -> None:
    try:
        callback()
    except Exception:  # a connection that is already gone cannot be shut down twice
        return
