"""The logs of one folder, as readers see them.

What this process has read of a log is remembered as an index of positions, so that a reader near the end does not
read the beginning again. A line that is not the next entry is dropped, with one warning a log.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from flask_litro_agent.contracts import Entry, SessionKey
from flask_litro_agent.errors import StoreError
from flask_litro_agent.sessions.disk import Disk
from flask_litro_agent.sessions.folder import Folder
from flask_litro_agent.sessions.line import Header, named
from flask_litro_agent.sessions.log_file import Block, LogFile
from flask_litro_agent.sessions.log_index import LogIndex, Position

__all__ = ["Logs", "Stamp", "stamp_at"]

_INDEXES = 1024
_BREATH = 1e-6  # gevent's sleep(0) lets no timer run
logger = logging.getLogger("flask_litro_agent.sessions")


class Stamp(NamedTuple):
    """What tells a log that has changed from one that has not; ``changed`` is in seconds since the epoch."""

    inode: int
    size: int
    changed: float


class Logs:
    """Reads; writes nothing. Safe from any thread."""

    def __init__(self, folder: Folder, disk: Disk) -> None:
        self._folder = folder
        self._disk = disk
        self._lock = threading.Lock()
        self._indexes: OrderedDict[str, LogIndex] = OrderedDict()

    def open(self, key: SessionKey, *, flags: int = os.O_RDONLY) -> LogFile | None:
        """Open a log, None when there is none; SessionDeleted for a tombstone, StoreError for a foreign file."""
        try:
            log = LogFile.open(self._folder.log(key), key, self._disk, flags=flags)
        except StoreError as error:
            logger.error("refused a session log: %s", ascii(str(error))[:800])
            raise
        except OSError as error:
            raise StoreError(f"{named(key)} cannot be read: {error.strerror}") from error
        return log and log.alive(key)

    def header(self, key: SessionKey) -> Header | None:
        """Return a log's first line, None for an unknown session; SessionDeleted for a tombstone."""
        log = self.open(key)
        if log is None:
            return None
        with log:
            return log.header

    def read(self, key: SessionKey, after: int, kinds: frozenset[str] | None) -> Iterator[Entry]:
        """Yield the entries after ``after`` that the file holds when the reading begins."""
        log = self.open(key)
        if log is None:
            return
        with log:
            for entries, end, _ in self._blocks(key, log, self._index(key, log).before(after)):
                first = end.seq - len(entries) + 1
                wanted = entries[after - first + 1 :] if after >= first else entries
                yield from wanted if kinds is None else (entry for entry in wanted if entry.kind in kinds)

    def last_seq(self, key: SessionKey) -> int:
        """Return the last entry's seq, 0 for an unknown session."""
        log = self.open(key)
        if log is None:
            return 0
        with log:
            return self.end_of(key, log).seq

    def end_of(self, key: SessionKey, log: LogFile) -> Position:
        """Return the position behind the last whole line."""
        at = self._index(key, log).last
        for block in self._blocks(key, log, at):
            at = block.end
        return at

    def stamp(self, key: SessionKey) -> Stamp | None:
        """Return the log's stamp, None when there is no log."""
        return stamp_at(self._folder.log(key))

    def _blocks(self, key: SessionKey, log: LogFile, at: Position) -> Iterator[Block]:
        if log.header is None:  # a new log whose first line was not whole when it was opened
            return
        index = self._index(key, log)
        try:
            for number, block in enumerate(log.blocks(at)):
                if number:
                    time.sleep(_BREATH)  # a long log must not hold up the event hub
                index.passed(block.end)
                if block.dropped and not index.has_warned:
                    index.has_warned = True
                    logger.warning(
                        "%s: dropped what is not entry %d of its log", named(key), block.end.seq + 1
                    )
                yield block
        except OSError as error:
            raise StoreError(f"{named(key)} cannot be read: {error.strerror}") from error

    def _index(self, key: SessionKey, log: LogFile) -> LogIndex:
        path, identity = self._folder.log(key), log.identity
        with self._lock:
            index = self._indexes.get(path)
            if index is None or index.identity != identity or index.last.offset > log.size:
                index = self._indexes[path] = LogIndex(identity, log.start)
            self._indexes.move_to_end(path)
            if len(self._indexes) > _INDEXES:
                self._indexes.popitem(last=False)
        return index


def stamp_at(path: str) -> Stamp | None:
    """Return the stamp of the log at a path, None when there is none."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return Stamp(status.st_ino, status.st_size, status.st_mtime)
