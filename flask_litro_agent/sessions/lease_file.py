"""One session's lease: ``flock`` on a file beside the log, which the kernel gives back when its holder dies.

The file is never unlinked. Its text is fixed in width, ``{"epoch":3,"turn_id":"t1","token":"..."}`` padded with
spaces, so that any process can name the turn that holds it; ``token`` null says that the last holder let go.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import time
from dataclasses import dataclass

from flask_litro_agent import strict_json
from flask_litro_agent.contracts import Holder, Lease, SessionKey
from flask_litro_agent.errors import InvalidJSON, StoreError
from flask_litro_agent.sessions.disk import open_regular

__all__ = ["LeaseFile", "holder_of"]

_WIDTH = 1024
_TRIES = 10
_PAUSE = 0.005


@dataclass(frozen=True, slots=True)
class _State:
    epoch: int
    turn_id: str | None = None
    token: str | None = None


class LeaseFile:
    """A lock that is held: the open file and the lease that it stands for."""

    def __init__(self, fd: int, path: str, lease: Lease) -> None:
        self._fd = fd
        self._path = path
        self.lease = lease

    @classmethod
    def take(cls, path: str, key: SessionKey, turn_id: str | None) -> LeaseFile | None:
        """Take the lock, or return None: somebody else has it. Whoever only looks at it is waited for.

        Raises OSError when the folder is gone, StoreError when the lock cannot be used.
        """
        for _ in range(_TRIES):
            fd = open_regular(path, os.O_RDWR | os.O_CREAT)
            try:
                if _locked(fd, fcntl.LOCK_EX) and _stands_at(fd, path):
                    lease = _write_lease(fd, key, turn_id)
                    taken, fd = cls(fd, path, lease), -1
                    return taken
                if _is_held(fd):
                    return None
            finally:
                if fd >= 0:
                    os.close(fd)
            time.sleep(_PAUSE)
        return None

    def __del__(self) -> None:
        self.forget()  # a store that is dropped holds nothing any more

    @property
    def is_current(self) -> bool:
        """Whether the lock that is held is still the one that others would ask for."""
        return self._fd >= 0 and _stands_at(self._fd, self._path)

    def release(self) -> None:
        """Give the lock back; a second time nothing happens."""
        with contextlib.suppress(OSError, StoreError):
            _write(self._fd, _State(self.lease.epoch))
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        self.forget()

    def forget(self) -> None:
        """Close the file without unlocking it: in a forked child, whose parent goes on holding it."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def holder_of(path: str) -> Holder | None:
    """Return who holds the lock at a path, in any process; None when nobody does."""
    try:
        fd = open_regular(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        for _ in range(_TRIES):
            if not _is_held(fd):
                return None
            state = _read(fd)
            if state is not None and state.token:
                break
            time.sleep(0.001)  # the holder has the lock and is about to write who it is
    finally:
        os.close(fd)
    return Holder(state.turn_id, state.epoch) if state else Holder(None, 0)


def _locked(fd: int, how: int) -> bool:
    """Lock without waiting; return False when another's lock is in the way."""
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise StoreError(f"the lease cannot be locked: {error.strerror}") from error
    return True


def _is_held(fd: int) -> bool:
    """Whether a writer has the lock; one that only looks shares it."""
    if not _locked(fd, fcntl.LOCK_SH):
        return True
    fcntl.flock(fd, fcntl.LOCK_UN)
    return False


def _stands_at(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path, follow_symlinks=False))
    except OSError:
        return False


def _write_lease(fd: int, key: SessionKey, turn_id: str | None) -> Lease:
    lease = Lease(key, secrets.token_hex(16), _next_epoch(fd), turn_id)
    try:
        _write(fd, _State(lease.epoch, turn_id, lease.token))
    except OSError as error:
        raise StoreError(f"the lease cannot be written: {error.strerror}") from error
    return lease


def _next_epoch(fd: int) -> int:
    state = _read(fd)
    if state is not None:
        return state.epoch + 1
    if os.fstat(fd).st_size == 0:
        return 1
    return time.time_ns() // 1_000_000  # the count is lost: the clock is above any count


def _write(fd: int, state: _State) -> None:
    text = strict_json.encode({"epoch": state.epoch, "turn_id": state.turn_id, "token": state.token})
    if len(text) >= _WIDTH:
        raise StoreError("a turn id is too long to be written into a lease")
    if os.pwrite(fd, text.ljust(_WIDTH - 1) + b"\n", 0) != _WIDTH:
        raise StoreError("the lease could not be written whole")


def _read(fd: int) -> _State | None:
    try:
        value = strict_json.decode(os.pread(fd, _WIDTH, 0))
    except InvalidJSON:
        return None
    match value:
        case {"epoch": int(epoch), "turn_id": str() | None as turn_id, "token": str() | None as token}:
            return _State(epoch, turn_id, token)
    return None
