"""Instructions: the system prompt that stands in a text file beside ``agent.py``.

The text is data: it is never formatted, compiled or rendered. A change of the file takes effect at the next turn,
without a restart.
"""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

from flask_litro_agent.errors import ConfigurationError

__all__ = ["MAX_BYTES", "InstructionsFile"]

MAX_BYTES = 256 * 1024

logger = logging.getLogger(__name__)
_Version = tuple[int, int, int]


class InstructionsFile:
    """A file of instructions, read again whenever it changed.

    An ``optional`` file may be missing and is empty then. ``within`` is the folder that the file must not lead out of
    by a symbolic link. The first reading is at once; ConfigurationError says why it failed.
    """

    def __init__(self, path: Path, *, within: Path, optional: bool = False) -> None:
        self.path = path
        self._within = within
        self._optional = optional
        version = _version(path)
        self._seen = (version, self._read(version))

    def text(self) -> str:
        """Return the text as the file is now; when it is gone or cannot be read, its last good text."""
        version = _version(self.path)
        seen, text = self._seen
        # some editors take a file away for a moment while they save it
        if version is None or version == seen:
            return text
        try:
            text = self._read(version)
        except ConfigurationError as error:
            logger.warning("instructions %s: %s; the last good text stays in force", self.path, error)
        self._seen = (version, text)
        return text

    def _read(self, version: _Version | None) -> str:
        if version is None and self._optional and not self.path.is_symlink():
            return ""
        if not Path(os.path.realpath(self.path)).is_relative_to(os.path.realpath(self._within)):
            raise ConfigurationError("is a symbolic link that leads out of the agents folder")
        try:
            return _decode(_bytes(self.path))
        except OSError as error:
            raise ConfigurationError(f"cannot be read: {error.strerror}") from error


def _version(path: Path) -> _Version | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _bytes(path: Path) -> bytes:
    if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for its writer
        raise ConfigurationError("is not a regular file")
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _decode(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise ConfigurationError(f"is larger than {MAX_BYTES // 1024} KiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(f"is not UTF-8 (line {line})") from error
