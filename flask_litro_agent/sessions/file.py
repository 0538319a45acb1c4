"""The file session store: one append-only file a session, for the workers of one machine.

It needs nothing but a folder on a local disk. The lease is a lock that the kernel frees when its holder dies, so it
outlives its ttl while its process lives; that a process which sleeps does not write late is up to the turn.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Iterator, Sequence

from flask_litro_agent.contracts import Entry, Holder, Lease, SessionInfo, SessionKey
from flask_litro_agent.errors import LeaseLost, StoreError
from flask_litro_agent.sessions.disk import Disk
from flask_litro_agent.sessions.folder import Folder
from flask_litro_agent.sessions.lease_file import LeaseFile, holder_of
from flask_litro_agent.sessions.line import Header, named
from flask_litro_agent.sessions.listing import list_sessions, owners_folders
from flask_litro_agent.sessions.log_writer import LogWriter
from flask_litro_agent.sessions.logs import Logs, Stamp
from flask_litro_agent.sessions.stop_marks import StopMarks
from flask_litro_agent.sessions.tombstone import place_tombstone

__all__ = ["FileStore"]

_SHORTEST_PAUSE = 0.02
_LONGEST_PAUSE = 0.25


class FileStore:
    """A ``SessionStore`` in a folder; ConfigurationError when the folder cannot carry one.

    ``fsync`` says when an append waits for the disk: ``turn`` (at what must last), ``always`` or ``never``.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, fsync: str = "turn", disk: Disk | None = None
    ) -> None:
        self._folder = Folder(path)
        self._fsync = fsync
        self._disk = disk or Disk()
        self._logs = Logs(self._folder, self._disk)
        self._stops = StopMarks(self._folder)
        self._held: dict[str, _Held] = {}
        _forget_in_children(self)

    @property
    def root(self) -> str:
        """The folder that holds everything."""
        return self._folder.root

    def append(self, key: SessionKey, entries: Sequence[Entry], lease: Lease) -> None:
        """Write the entries in one go; LeaseLost when the lease is not the one held here, StoreError when it failed."""
        held = self._holding(key, lease)
        with held.lock:
            held.check()
            if entries:
                held.writer.append(entries)

    def read(self, key: SessionKey, after: int = 0, kinds: frozenset[str] | None = None) -> Iterator[Entry]:
        """Yield the entries after ``after`` that stand in the log when the first one is asked for."""
        return self._logs.read(key, after, kinds)

    def wait(self, key: SessionKey, after: int, seconds: float) -> bool:
        """Wait until there is an entry after ``after``, looking at the file the less often the longer it is quiet."""
        deadline = time.monotonic() + seconds
        while True:
            stamp = self._logs.stamp(key)
            if self._logs.last_seq(key) > after:
                return True
            while self._logs.stamp(key) == stamp:
                if (left := deadline - time.monotonic()) <= 0:
                    return False
                time.sleep(min(_pause(stamp), left))

    def acquire(self, key: SessionKey, ttl: float, turn_id: str | None = None) -> Lease | None:
        """Take the session's lock, or return None; SessionDeleted for a deleted session."""
        Header(key, 0).encode()  # what could never be written is refused before it is locked
        self._logs.header(key)
        self._folder.make_owner(key.owner)
        try:
            taken = LeaseFile.take(self._folder.lock(key), key, turn_id)
        except OSError as error:
            raise StoreError(f"{named(key)} could not be leased: {error.strerror}") from error
        if taken is None:
            return None
        try:
            self._logs.header(key)  # it may have been deleted while we waited
        except StoreError:
            taken.release()
            raise
        self._held[taken.lease.token] = _Held(taken, self._writer(key))
        return taken.lease

    def renew(self, lease: Lease) -> bool:
        """Return whether the lock is still held here, and still the session's lock."""
        held = self._held.get(lease.token)
        return held is not None and held.file.is_current and held.writer.is_usable

    def release(self, lease: Lease) -> None:
        """Give the lock back, and take away the stop that was left for its turn."""
        held = self._held.pop(lease.token, None)
        if held is None:
            return
        with held.lock:
            held.writer.close()
            if lease.turn_id is not None:
                self._stops.clear(lease.turn_id)
            held.file.release()

    def holder(self, key: SessionKey) -> Holder | None:
        """Return who holds the lock, in any process of this machine."""
        return holder_of(self._folder.lock(key))

    def is_leased(self, key: SessionKey) -> bool:
        """Return whether anybody holds the lock."""
        return self.holder(key) is not None

    def stop(self, key: SessionKey, turn_id: str) -> None:
        """Leave word for the turn, in a file that its process looks for."""
        self._stops.set(turn_id)

    def stopped(self, turn_ids: Sequence[str]) -> frozenset[str]:
        """Return those of the turns that word was left for within the last day."""
        return self._stops.which(turn_ids)

    def last_seq(self, key: SessionKey) -> int:
        """Return the seq of the last whole entry, 0 for an unknown session."""
        return self._logs.last_seq(key)

    def list(
        self, owner: str | None, *, agent: str | None = None, after: str | None = None, limit: int = 50
    ) -> tuple[Sequence[SessionInfo], str | None]:
        """Return one page of an owner's sessions, or of everybody's; BadRequest for a cursor that no page gave."""
        folders = owners_folders(self._folder.root) if owner is None else [self._folder.of_owner(owner)]
        return list_sessions(folders, self._disk, owner=owner, agent=agent, after=after, limit=limit)

    def delete(self, key: SessionKey, lease: Lease) -> None:
        """Put a tombstone in the log's place; the lease stays held until it is released."""
        held = self._holding(key, lease)
        with held.lock:
            held.check()
            held.writer.close()
            header = self._logs.header(key)
            place_tombstone(self._folder.log(key), key, header.created if header else None, self._disk)

    def _holding(self, key: SessionKey, lease: Lease) -> _Held:
        held = self._held.get(lease.token)
        if held is None or lease.key != key or held.file.lease != lease:
            raise LeaseLost(f"{named(key)}: this lease is not held here")
        return held

    def _writer(self, key: SessionKey) -> LogWriter:
        return LogWriter(key, self._folder, self._logs, self._disk, fsync=self._fsync)

    def _forget(self) -> None:
        held, self._held = self._held, {}
        for each in held.values():
            each.file.forget()
            each.writer.close()
        self._logs = Logs(self._folder, self._disk)  # a thread of the parent may have held a lock in there


class _Held:
    """A lease that this process holds: its lock file, its writer, and who of the threads writes now."""

    def __init__(self, file: LeaseFile, writer: LogWriter) -> None:
        self.file = file
        self.writer = writer
        self.lock = threading.Lock()

    def check(self) -> None:
        """Raise LeaseLost unless the lock is still the session's lock."""
        if not self.file.is_current:
            raise LeaseLost(f"{named(self.file.lease.key)}: its lock is gone, and perhaps its folder")


def _pause(stamp: Stamp | None) -> float:
    """Return the seconds until the next look: a quarter of the time for which the log has been quiet."""
    quiet = time.time() - stamp.changed if stamp else 0.0
    return min(max(quiet / 4, _SHORTEST_PAUSE), _LONGEST_PAUSE)


def _forget_in_children(store: FileStore) -> None:
    """Let a forked child close the leases of its parent: they are the parent's alone."""
    reference = weakref.ref(store)

    def forget() -> None:
        if (living := reference()) is not None:
            living._forget()

    os.register_at_fork(after_in_child=forget)
