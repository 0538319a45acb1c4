"""The disk as the file store uses it: the few system calls that its promises rest on.

Every write of the store goes through one ``Disk``, so that a test can put a failing one in its place. Under gevent
a flush runs in the hub's native thread pool; what runs there is a leaf call that answers errors as values, because a
native thread must not log, lock or touch a queue.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import Any

from flask_litro_agent.errors import StoreError

__all__ = ["Disk", "open_regular"]

_flush = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync
_GUARDS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Disk:
    """Plain system calls; each raises OSError."""

    def read(self, fd: int, size: int, offset: int) -> bytes:
        """Return at most ``size`` bytes from ``offset``."""
        return os.pread(fd, size, offset)

    def write(self, fd: int, data: bytes) -> int:
        """Write once at the end of the file; return how many bytes the kernel took."""
        return os.write(fd, data)

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file to ``size`` bytes."""
        os.ftruncate(fd, size)

    def flush(self, fd: int) -> None:
        """Wait until the file's content is on the disk; may run in a native thread."""
        _flush(fd)

    def sync(self, fd: int) -> None:
        """Flush without holding up the event hub, where there is one."""
        pool = _native_threads()
        number = self._flush_error(fd) if pool is None else pool.apply(self._flush_error, (fd,))
        if number:
            raise OSError(number, os.strerror(number))

    def sync_folder(self, path: str) -> None:
        """Make the names in a folder durable."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.sync(fd)
        finally:
            os.close(fd)

    def _flush_error(self, fd: int) -> int:
        try:
            self.flush(fd)
        except OSError as error:
            return error.errno or errno.EIO
        return 0


def open_regular(path: str, flags: int) -> int:
    """Open a regular file and return its descriptor; never follow a link, never wait for a FIFO.

    Raises FileNotFoundError when there is none, StoreError for anything that is not a file of ours.
    """
    try:
        if not stat.S_ISDIR(os.lstat(os.path.dirname(path)).st_mode):
            raise StoreError(f"{os.path.dirname(path)} is not a folder")
        fd = os.open(path, flags | _GUARDS, 0o600)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(f"cannot open {path}: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise StoreError(f"{path} is not a regular file")
    return fd


def _native_threads() -> Any:
    """Return gevent's pool of native threads where threads are patched, else None."""
    if "gevent" not in sys.modules:
        return None
    from gevent import get_hub, monkey

    return get_hub().threadpool if monkey.is_module_patched("threading") else None
