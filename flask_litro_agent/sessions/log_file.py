"""One log file, open for reading: its header, and its entries block by block.

A reader takes whole lines only; what stands behind the last newline is being written, or is torn. Each block begins
at a line, so that no line is ever put together from two reads between which a torn end was cut.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from flask_litro_agent.contracts import Entry, SessionKey
from flask_litro_agent.errors import SessionDeleted, StoreError
from flask_litro_agent.sessions.disk import Disk, open_regular
from flask_litro_agent.sessions.line import MAX_HEADER, MAX_LINE, Header, entries_of, named
from flask_litro_agent.sessions.log_index import Position

__all__ = ["Block", "LogFile"]

_BLOCK = 128 * 1024


class Block(NamedTuple):
    """Entries that were read in one go, the position behind them, and whether a line was dropped."""

    entries: list[Entry]
    end: Position
    dropped: bool


class LogFile:
    """An open log; a context manager that closes it. ``header`` is None while its line is not whole."""

    def __init__(self, fd: int, key: SessionKey, disk: Disk) -> None:
        self.fd = fd
        self._disk = disk
        self.header, self.start = self._read_header(key)

    @classmethod
    def open(cls, path: str, key: SessionKey, disk: Disk, *, flags: int = os.O_RDONLY) -> LogFile | None:
        """Open the key's log; None when there is none. StoreError when the file is not this key's log."""
        try:
            return cls(open_regular(path, flags), key, disk)
        except FileNotFoundError:
            return None

    def __enter__(self) -> LogFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a second time nothing happens."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def alive(self, key: SessionKey) -> LogFile:
        """Return itself; SessionDeleted (and closed) for a tombstone."""
        if self.header is not None and self.header.deleted is not None:
            self.close()
            raise SessionDeleted(f"{named(key)} was deleted")
        return self

    @property
    def size(self) -> int:
        return os.fstat(self.fd).st_size

    @property
    def inode(self) -> int:
        return os.fstat(self.fd).st_ino

    @property
    def identity(self) -> tuple[int, ...]:
        """What another file at the same path would not share."""
        status = os.fstat(self.fd)
        return (status.st_dev, status.st_ino, self.header.created if self.header else 0)

    def blocks(self, at: Position) -> Iterator[Block]:
        """Yield the whole lines between a position and the present end of the file."""
        end, wanted = self.size, _BLOCK
        while at.offset < end:
            block = self._disk.read(self.fd, min(wanted, end - at.offset), at.offset)
            whole = block.rfind(b"\n") + 1
            if whole:
                entries, dropped = entries_of(block[:whole], at.seq)
                at, wanted = Position(at.seq + len(entries), at.offset + whole), _BLOCK
                yield Block(entries, at, dropped)
            elif len(block) < wanted:
                return
            elif wanted < MAX_LINE:
                wanted *= 2
            elif behind := self._end_of_line(at.offset + wanted, end):
                at, wanted = Position(at.seq, behind), _BLOCK
                yield Block([], at, True)
            else:
                return

    def _end_of_line(self, offset: int, end: int) -> int | None:
        while offset < end and (block := self._disk.read(self.fd, min(_BLOCK, end - offset), offset)):
            if newline := block.find(b"\n") + 1:
                return offset + newline
            offset += len(block)
        return None

    def _read_header(self, key: SessionKey) -> tuple[Header | None, Position]:
        head, newline, _ = self._disk.read(self.fd, MAX_HEADER, 0).partition(b"\n")
        if not newline and len(head) < MAX_HEADER:
            return None, Position(0, 0)
        header = Header.decode(head)
        if header is None or header.key != key:
            raise StoreError(f"{named(key)}: the file at its place is not its log; it is left alone")
        return header, Position(0, len(head) + 1)
