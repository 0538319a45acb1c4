"""A folder in memory for what the tests write, where the machine has one with room.

Stores and ledgers sync what they write, as they must, and a disk takes milliseconds for each; no test pulls a plug.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["SHORT", "use"]

_PLACE = Path("/dev/shm")
_ROOM = 3 * 1024**3


def _is_usable() -> bool:
    if not (_PLACE.is_dir() and os.access(_PLACE, os.W_OK)):
        return False
    found = os.statvfs(_PLACE)
    return found.f_bavail * found.f_frsize >= _ROOM and not found.f_flag & os.ST_NOEXEC


#: A folder whose path is short enough for a socket.
SHORT = _PLACE if _is_usable() else Path("/tmp")


def use() -> None:
    """Let temporary folders of this process and of its children be there, unless TMPDIR names another place."""
    if "TMPDIR" not in os.environ and _is_usable():
        os.environ["TMPDIR"] = str(_PLACE)
        tempfile.tempdir = str(_PLACE)
