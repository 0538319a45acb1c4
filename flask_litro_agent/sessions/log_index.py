"""Where the entries of one log stand, as far as this process has read it: a bounded list of positions."""

from __future__ import annotations

import bisect
import threading
from collections import deque
from typing import NamedTuple

__all__ = ["LogIndex", "Position"]

_STRIDE = 64 * 1024
_MARKS = 512
_RECENT = 32


class Position(NamedTuple):
    """Between two lines: the last entry before it, and its offset in bytes."""

    seq: int
    offset: int


class LogIndex:
    """Positions that readers have passed. They stay true because a log only grows; safe from any thread."""

    def __init__(self, identity: tuple[int, ...], start: Position) -> None:
        self.identity = identity
        self.has_warned = False
        self._lock = threading.Lock()
        self._stride = _STRIDE
        self._marks = [start]
        self._recent = deque([start], maxlen=_RECENT)

    @property
    def last(self) -> Position:
        """The furthest position that anybody has passed."""
        return self._recent[-1]

    def before(self, seq: int) -> Position:
        """Return the best known position that has every entry after ``seq`` behind it."""
        with self._lock:
            for position in reversed(self._recent):
                if position.seq <= seq:
                    return position
            return self._marks[max(bisect.bisect_right(self._marks, seq, key=lambda mark: mark.seq) - 1, 0)]

    def passed(self, position: Position) -> None:
        """Remember a position, when it is further than the last."""
        with self._lock:
            if position.offset <= self._recent[-1].offset:
                return
            self._recent.append(position)
            if position.offset - self._marks[-1].offset >= self._stride:
                self._marks.append(position)
            if len(self._marks) > _MARKS:
                self._stride *= 2
                del self._marks[1::2]
