r"""One line of a log file, and the header line that every log begins with.

    {"litro":1,"agent":"demo","owner":"7","session":"s1","created":1796021904525}
    {"seq":1,"ts":1796021904525,"kind":"turn-start","payload":{...}}
    {"seq":2,"ts":1796021904530,"kind":"message","payload":{...}}<TAB>{...private part...}

A private part stands behind a tab, which JSON text never holds raw. A header with ``deleted`` (milliseconds, as
``created``) is a tombstone. What ``entry_of`` refuses is never written, so that a reader drops no line of ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from flask_litro_agent import events, strict_json
from flask_litro_agent.contracts import Entry, SessionKey
from flask_litro_agent.errors import InvalidJSON, StoreError

__all__ = ["MAX_HEADER", "MAX_LINE", "Header", "entries_of", "entry_of", "named", "stored"]

MAX_LINE = 8 * 1024 * 1024
MAX_HEADER = 16 * 1024
_KINDS = {kind.encode(): kind for kind in events.KINDS}
#: the usual line, a delta, told apart without decoding it; every other line is decoded
_DELTA = re.compile(events.FRAME + rb'"text":"(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt])*+"\}\}\n')
_NO_JSON = object()
_NOTHING = re.compile(rb"(?!)")


@dataclass(frozen=True, slots=True)
class Header:
    """A log's first line: whose log it is, since when, and whether it was deleted (ms since the epoch)."""

    key: SessionKey
    created: int
    deleted: int | None = None

    def encode(self) -> bytes:
        """Return the line; StoreError for a key that cannot be written as text."""
        value: dict[str, object] = {"litro": 1, **self.key._asdict(), "created": self.created}
        if self.deleted is not None:
            value["deleted"] = self.deleted
        try:
            line = strict_json.encode(value) + b"\n"
        except ValueError:
            raise StoreError(f"{named(self.key)}: its key is not text") from None
        if len(line) > MAX_HEADER or Header.decode(line) != self:
            raise StoreError(f"{named(self.key)}: its key cannot be stored")
        return line

    @classmethod
    def decode(cls, line: bytes) -> Header | None:
        """Return the header of a line, None when the line is none."""
        try:
            value = strict_json.decode(line)
        except InvalidJSON:
            return None
        match value:
            case {
                "litro": 1,
                "agent": str(agent),
                "owner": str(owner),
                "session": str(session),
                "created": int(created),
            }:
                deleted = value.get("deleted")
                return cls(
                    SessionKey(agent, owner, session), created, deleted if isinstance(deleted, int) else None
                )
        return None


def named(key: SessionKey) -> str:
    """Return how a message speaks of a session: escaped and short, whatever its id holds."""
    return f"session {ascii(key.session)[:80]} of agent {ascii(key.agent)[:80]}"


def stored(entry: Entry) -> bytes:
    """Return the entry as its line in the file; StoreError for one that no reader would take back."""
    behind = b"" if entry.private is None else b"\t" + entry.private
    line = entry.line.removesuffix(b"\n") + behind + b"\n"
    if len(line) > MAX_LINE or entries_of(line, entry.seq - 1) != ([entry], False):
        raise StoreError(f"entry {entry.seq} ({entry.kind!r:.40}) is not a line that can be read back")
    return line


def entries_of(block: bytes, seq: int) -> tuple[list[Entry], bool]:
    """Return the entries of whole lines that follow ``seq`` without a gap, and whether a line was dropped."""
    delta = (_DELTA if _is_utf8(block) else _NOTHING).fullmatch
    found: list[Entry] = []
    dropped = False
    for line in block.splitlines(keepends=True):
        if match := delta(line):
            digits, kind = match.groups()
            entry: Entry | None = Entry(int(digits), _KINDS.get(kind) or kind.decode(), line)
        else:
            entry = entry_of(line)
        if entry is None or entry.seq != seq + 1:
            dropped = True
            continue
        seq += 1
        found.append(entry)
    return found, dropped


def entry_of(line: bytes) -> Entry | None:
    """Return the entry of one line, None for a line that is not exactly one entry."""
    if len(line) > MAX_LINE or not line.endswith(b"\n") or b"\r" in line:
        return None
    event, tab, private = line[:-1].partition(b"\t")
    framed = events.frame(event)
    if framed is None or not _is_event(event) or (tab and not _is_private(private)):
        return None
    return Entry(*framed, event + b"\n", private if tab else None)


def _is_event(text: bytes) -> bool:
    value = _decoded(text)
    return isinstance(value, dict) and len(value) == 4 and isinstance(value.get("payload"), dict)


def _is_private(text: bytes) -> bool:
    return _decoded(text) is not _NO_JSON and b"\t" not in text


def _decoded(text: bytes) -> Any:
    try:
        return strict_json.decode(text, depth=strict_json.STORED_DEPTH)
    except InvalidJSON:
        return _NO_JSON


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True
