"""Word that a turn shall stop: an empty file named after the turn, found by whichever process runs it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence

from flask_litro_agent.errors import StoreError
from flask_litro_agent.sessions.disk import open_regular
from flask_litro_agent.sessions.folder import Folder

__all__ = ["StopMarks"]

_LIFE = 24 * 3600.0


class StopMarks:
    """The marks of one folder; a mark older than a day says nothing any more."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def set(self, turn_id: str) -> None:
        """Leave a mark for this turn, and sweep the marks that nobody took away."""
        try:
            self._folder.prepare()
            fd = open_regular(self._folder.stop_mark(turn_id), os.O_WRONLY | os.O_CREAT)
        except OSError as error:
            raise StoreError(f"a stop could not be left for the turn: {error.strerror}") from error
        try:
            os.utime(fd)
        finally:
            os.close(fd)
        self._sweep()

    def which(self, turn_ids: Sequence[str]) -> frozenset[str]:
        """Return those of the turns that have a mark."""
        oldest = time.time() - _LIFE
        return frozenset(turn for turn in turn_ids if _changed(self._folder.stop_mark(turn)) > oldest)

    def clear(self, turn_id: str) -> None:
        """Take this turn's mark away."""
        with contextlib.suppress(OSError):
            os.unlink(self._folder.stop_mark(turn_id))

    def _sweep(self) -> None:
        oldest = time.time() - _LIFE
        with contextlib.suppress(OSError), os.scandir(self._folder.stops) as marks:
            for mark in marks:
                if _changed(mark.path) <= oldest:
                    os.unlink(mark.path)


def _changed(path: str) -> float:
    """Return the time of a file's last change in seconds since the epoch, 0 when there is none."""
    try:
        return os.stat(path, follow_symlinks=False).st_mtime
    except OSError:
        return 0.0
