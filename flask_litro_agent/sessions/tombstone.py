"""A tombstone: a log that is nothing but a header with the time of its deletion, put in place in one step."""

from __future__ import annotations

import os
import time

from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.errors import StoreError
from flask_litro_agent.sessions.disk import Disk, open_regular
from flask_litro_agent.sessions.line import Header, named

__all__ = ["place_tombstone"]


def place_tombstone(path: str, key: SessionKey, created: int | None, disk: Disk) -> None:
    """Replace the log at a path by a tombstone.

    StoreError when it could not: then the log stands, or the tombstone does but may not outlast a power failure.
    """
    now = time.time_ns() // 1_000_000
    header = Header(key, created or now, deleted=now).encode()
    fresh = path + ".new"
    try:
        _write(fresh, header, disk)
        os.replace(fresh, path)
        disk.sync_folder(os.path.dirname(path))
    except OSError as error:
        raise StoreError(f"{named(key)} could not be deleted: {error.strerror}") from error


def _write(path: str, data: bytes, disk: Disk) -> None:
    fd = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        if disk.write(fd, data) != len(data):
            raise StoreError("the disk did not take a whole tombstone")
        disk.sync(fd)
    finally:
        os.close(fd)
