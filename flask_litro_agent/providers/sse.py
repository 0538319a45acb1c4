"""Server-sent events: bytes in, events out.

Follows the parsing rules of the WHATWG HTML standard (section 9.2.6), whatever way the bytes are cut, with these
differences, each for servers that exist: a block that the end of the stream cuts off is dispatched, NUL bytes
around a line are padding, a field named ``error`` is an event of that name, and lines that are no field at all are
kept in ``stray`` (a server that answers a stream with plain JSON). Work is linear in the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from flask_litro_agent.errors import LitroError

__all__ = ["Event", "EventStream", "StreamTooLarge"]

_BOM = b"\xef\xbb\xbf"
_FIELDS = frozenset({b"data", b"event", b"id", b"retry", b"error"})
_MIB = 1024 * 1024


class StreamTooLarge(LitroError):
    """A line, or the number of events, is over its cap."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name (``message`` when the stream gives none), its data, and the stream's last id."""

    name: str
    data: str
    id: str = ""


class EventStream:
    """A parser for one response body; ``max_line`` is in bytes, ``max_events`` counts dispatched events."""

    def __init__(self, *, max_line: int = 16 * _MIB, max_events: int = 250_000) -> None:
        self._max_line = max_line
        self._events_left = max_events
        self._pieces: list[bytes] = []  # of the line that has not ended yet
        self._size = 0
        self._start: bytes | None = (
            b""  # the first bytes, until it is known whether they are a byte order mark
        )
        self._after_cr = False
        self._name = ""
        self._data: list[str] = []
        self._id = ""
        self._stray: list[str] = []

    @property
    def stray(self) -> str:
        """The lines that were no field, joined by newlines."""
        return "\n".join(self._stray)

    def feed(self, data: bytes) -> list[Event]:
        """Return the events that these bytes complete; raise StreamTooLarge."""
        events: list[Event] = []
        for line in self._lines(self._without_bom(data)):
            self._take(line, events)
        return events

    def end(self) -> list[Event]:
        """Return what the end of the stream completes."""
        events: list[Event] = []
        start, self._start = self._start, None
        rest = b"".join(self._pieces) + (start or b"")
        self._pieces = []
        if rest:
            self._take(rest, events)
        self._dispatch(events)
        return events

    def _without_bom(self, data: bytes) -> bytes:
        if self._start is None:
            return data
        start = self._start + data
        if len(start) < len(_BOM) and _BOM.startswith(start):
            self._start = start
            return b""
        self._start = None
        return start.removeprefix(_BOM)

    def _lines(self, data: bytes) -> list[bytes]:
        """Return the lines that end in the data; keep the rest. CR, LF and CRLF end a line."""
        if not data:
            return []
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
        self._after_cr = data.endswith(b"\r")
        *lines, rest = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        if lines:
            lines[0] = b"".join([*self._pieces, lines[0]])
            self._pieces, self._size = [], 0
        self._pieces.append(rest)
        self._size += len(rest)
        if self._size > self._max_line or any(len(line) > self._max_line for line in lines):
            raise StreamTooLarge(f"a line is longer than {self._max_line} bytes")
        return lines

    def _take(self, line: bytes, events: list[Event]) -> None:
        padded, line = line, line.strip(b"\0")
        if not line:
            if not padded:
                self._dispatch(events)
            return
        field, colon, value = line.partition(b":")
        if field in _FIELDS:
            self._set(field, value.removeprefix(b" ").decode("utf-8", "replace"), events)
        elif field or not colon:
            self._stray.append(line.decode("utf-8", "replace"))

    def _set(self, field: bytes, value: str, events: list[Event]) -> None:
        match field:
            case b"data":
                self._data.append(value)
            case b"event":
                self._name = value
            case b"id" if "\0" not in value:
                self._id = value
            case b"error":
                self._dispatch(events)
                self._name, self._data = "error", [value]

    def _dispatch(self, events: list[Event]) -> None:
        name, data = self._name, self._data
        self._name, self._data = "", []
        if not data:
            return
        self._events_left -= 1
        if self._events_left < 0:
            raise StreamTooLarge("too many events")
        events.append(Event(name or "message", "\n".join(data), self._id))
