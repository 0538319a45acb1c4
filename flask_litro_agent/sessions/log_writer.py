"""The end of one log file, in the hands of the one writer who holds its lease.

A group is one ``write``. When the disk took less, whole lines stand and the torn rest is cut, at the latest before the
next append. A flush that failed ends the writer: the kernel may have dropped what it could not write, and says so once.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence

from flask_litro_agent import events
from flask_litro_agent.contracts import Entry, SessionKey
from flask_litro_agent.errors import LeaseLost, StoreError
from flask_litro_agent.sessions.disk import Disk
from flask_litro_agent.sessions.folder import Folder
from flask_litro_agent.sessions.line import Header, named, stored
from flask_litro_agent.sessions.log_file import LogFile
from flask_litro_agent.sessions.log_index import Position
from flask_litro_agent.sessions.logs import Logs, stamp_at

__all__ = ["LogWriter"]


class LogWriter:
    """Appends to one log; not safe from two threads. ``fsync`` is ``turn``, ``always`` or ``never``."""

    def __init__(self, key: SessionKey, folder: Folder, logs: Logs, disk: Disk, *, fsync: str) -> None:
        self._key = key
        self._path = folder.log(key)
        self._root = folder.root
        self._logs = logs
        self._disk = disk
        self._fsync = fsync
        self._log: LogFile | None = None
        self._inode = 0
        self._end = Position(0, 0)
        self._is_named = True
        self._has_failed = False

    def append(self, entries: Sequence[Entry]) -> None:
        """Store the group; StoreError when it did not arrive whole, LeaseLost after a failed flush."""
        if self._has_failed:
            raise LeaseLost(f"{named(self._key)}: an earlier flush failed, so this writer has ended")
        data = b"".join(map(stored, entries))
        try:
            log = self._settled()
            self._check_order(entries)
            if not self._end.offset:
                data = Header(self._key, time.time_ns() // 1_000_000).encode() + data
                self._is_named = False
            self._write(log, data)
            self._end = Position(entries[-1].seq, self._end.offset + len(data))
            self._flush(log, entries)
        except OSError as error:
            raise StoreError(f"{named(self._key)} could not be written: {error.strerror}") from error

    @property
    def is_usable(self) -> bool:
        """Whether every flush so far has succeeded."""
        return not self._has_failed

    def close(self) -> None:
        """Close the file; a later append opens what stands at its path then."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def _settled(self) -> LogFile:
        """Return the open log, its end known and nothing torn behind it."""
        if self._log is None:
            return self._opened(os.O_CREAT)
        stamp = stamp_at(self._path)
        if stamp is None or stamp.inode != self._inode:
            raise StoreError(f"{named(self._key)}: its log is gone from its place")
        return self._log if stamp.size == self._end.offset else self._opened()

    def _opened(self, creation: int = 0) -> LogFile:
        """Open the log (again), read to its last whole line, and cut what is torn behind it."""
        log = self._logs.open(self._key, flags=os.O_RDWR | os.O_APPEND | creation)
        if log is None:
            raise StoreError(f"{named(self._key)}: the folder of its log is gone")
        self.close()
        self._log, self._inode = log, log.inode
        self._end = self._logs.end_of(self._key, log)
        if log.size > self._end.offset:
            self._disk.truncate(log.fd, self._end.offset)
        return log

    def _check_order(self, entries: Sequence[Entry]) -> None:
        for wanted, entry in enumerate(entries, self._end.seq + 1):
            if entry.seq != wanted:
                raise StoreError(f"{named(self._key)}: the next entry is {wanted}, not {entry.seq}")

    def _write(self, log: LogFile, data: bytes) -> None:
        try:
            taken = self._disk.write(log.fd, data)
            if taken != len(data):
                raise StoreError(f"{named(self._key)}: the disk took {taken} of {len(data)} bytes")
        except (OSError, StoreError):
            with contextlib.suppress(OSError, StoreError):
                self._opened()  # cuts; if the disk refuses that too, the next append begins with it
            raise

    def _flush(self, log: LogFile, entries: Sequence[Entry]) -> None:
        if self._fsync == "never":
            return
        if self._fsync == "turn" and events.DURABLE.isdisjoint(entry.kind for entry in entries):
            return
        try:
            self._disk.sync(log.fd)
            self._sync_names()
        except BaseException:  # also a greenlet that is killed here never hears how the flush ended
            self._has_failed = True
            raise

    def _sync_names(self) -> None:
        """Make the name of a new log durable, and that of its folder."""
        if not self._is_named:
            for folder in (os.path.dirname(self._path), self._root):
                self._disk.sync_folder(folder)
            self._is_named = True
