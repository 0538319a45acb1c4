"""Who decided what: rows of one hash chain, written in the transaction of what they tell.

Each row's hash covers the row and the hash before it, so that a changed, removed, swapped or inserted row shows.
Whoever could cut the newest rows and the counter with them is seen only by a head that was kept outside: ``head()``.
Refusals of a model's calls are plain rows beside the chain: they take none of its locks.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    LargeBinary,
    RowMapping,
    Select,
    cast,
    insert,
    select,
    true,
    update,
)

from flask_litro_agent import strict_json
from flask_litro_agent.core import tables
from flask_litro_agent.core.database import Database
from flask_litro_agent.core.proposals import sha256_of
from flask_litro_agent.errors import InvalidJSON, LedgerAway

__all__ = ["Audit", "AuditRow", "Head", "Verification"]

logger = logging.getLogger(__name__)

_NOTHING = "0" * 64
_GROUP = 500
#: As they are stored; SQLite's would-be bytes may be text by somebody else's hand, which a cast makes bytes again.
_COLUMNS = [
    cast(column, LargeBinary).label("data") if column.name == "data" else column for column in tables.audit.c
]


@dataclass(frozen=True, slots=True)
class Head:
    """The newest row's number and hash; written ``seq:hash``."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One row of the chain; ``at`` is in ms of the database's clock, None where a destroyed row has no time.

    ``data`` is None when what is stored can no longer be read.
    """

    seq: int
    at: int | None
    kind: str
    actor: str
    subject: str
    data: Mapping[str, Any] | None
    previous: str
    hash: str

    @property
    def is_destroyed(self) -> bool:
        """Whether somebody wrote over the row what we never write; ``verify`` also finds what still reads well."""
        return self.data is None or self.at is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """How many rows were read, where the chain ends, and a sentence for everything that is wrong."""

    rows: int
    head: Head
    faults: tuple[str, ...]


class Audit:
    """The chain in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(
        self, connection: Connection, *, kind: str, actor: str, subject: str, data: Mapping[str, Any]
    ) -> Head:
        """Add a row in the caller's transaction; other writers of the chain wait until it ends."""
        counter = select(tables.epoch.c.value).where(tables.epoch.c.id == tables.AUDIT).with_for_update()
        last = int(connection.execute(counter).scalar_one())
        previous = _hash_of(connection, last)
        at = int(connection.execute(select(self._database.now)).scalar_one())
        seq, text = last + 1, _text(data)
        head = Head(seq, sha256_of([seq, at, kind, actor, subject, text, previous]))
        row = {"seq": seq, "at": at, "kind": kind, "actor": actor, "subject": subject, "data": text.encode()}
        connection.execute(insert(tables.audit).values(**row, previous=previous, hash=head.hash))
        connection.execute(update(tables.epoch).where(tables.epoch.c.id == tables.AUDIT).values(value=seq))
        return head

    def head(self) -> Head:
        """Return where the chain ends; keep it outside, and ``verify`` sees a cut end too."""
        newest = select(tables.audit.c.seq, tables.audit.c.hash).order_by(tables.audit.c.seq.desc()).limit(1)
        row = self._database.read(lambda connection: connection.execute(newest).one_or_none())
        return Head(int(row.seq), str(row.hash)) if row else Head(0, _NOTHING)

    def rows(self, after: int = 0) -> Iterator[AuditRow]:
        """Yield the rows behind ``after``, oldest first."""
        return map(_row, self._stored(tables.audit.c.seq > after))

    def newest(
        self, *, kind: str | None = None, before: int | None = None, limit: int = 50
    ) -> list[AuditRow]:
        """Return so many rows, newest first: those of one kind, and those in front of the row ``before``."""
        query = select(*_COLUMNS).order_by(tables.audit.c.seq.desc()).limit(limit)
        if kind is not None:
            query = query.where(tables.audit.c.kind == kind)
        if before is not None:
            query = query.where(tables.audit.c.seq < before)
        return list(map(_row, self._group(query)))

    def about(self, subject: str) -> list[AuditRow]:
        """Return the rows about one subject, oldest first."""
        query = select(*_COLUMNS).where(tables.audit.c.subject == subject).order_by(tables.audit.c.seq)
        return list(map(_row, self._group(query.limit(_GROUP))))

    def verify(self, head: Head | None = None) -> Verification:
        """Read the whole chain; ``head`` is one that was kept outside."""
        faults: list[str] = []
        seen, last, previous = 0, 0, _NOTHING
        kept = head is None or head.seq == 0
        before = self._counted()  # rows may come while we read: the end lies between the two counts
        for row in self._stored(true()):
            faults += _faults(row, last, previous)
            seen, last, previous = seen + 1, row["seq"], row["hash"]
            if head is not None and last == head.seq:
                kept = previous == head.hash
        faults += _end_faults(last, before, self._counted())
        if not kept and head is not None:
            faults.append(
                f"row {head.seq} is not the one whose hash was kept: the chain was cut or rewritten"
            )
        return Verification(rows=seen, head=Head(last, previous), faults=tuple(faults))

    def refuse(
        self, *, agent: str, actor: str, session: str | None, tool: str, origin: str, code: str
    ) -> None:
        """Note that a model's call was refused; a database that is away is logged and stops nobody."""
        values = {
            "agent": agent,
            "actor": actor,
            "session": session,
            "tool": tool[:80],
            "origin": origin,
            "code": code,
        }
        statement = insert(tables.refusal).values(at=self._database.now, **values)
        try:
            self._database.write(lambda connection: connection.execute(statement).close())
        except LedgerAway as error:
            logger.warning("litro audit: a refusal was not noted: %s", error)

    def _stored(self, condition: ColumnElement[bool]) -> Iterator[RowMapping]:
        """Yield the rows as they are stored, oldest first and a group at a time."""
        ordered = select(*_COLUMNS).order_by(tables.audit.c.seq).limit(_GROUP)
        while found := self._group(ordered.where(condition)):
            yield from found
            condition = tables.audit.c.seq > found[-1]["seq"]

    def _group(self, statement: Select[Any]) -> Sequence[RowMapping]:
        return self._database.read(lambda connection: connection.execute(statement).mappings().all())

    def _counted(self) -> int:
        counter = select(tables.epoch.c.value).where(tables.epoch.c.id == tables.AUDIT)
        return int(self._database.read(lambda connection: connection.execute(counter).scalar_one()))


def _hash_of(connection: Connection, seq: int) -> str:
    found = connection.execute(
        select(tables.audit.c.hash).where(tables.audit.c.seq == seq)
    ).scalar_one_or_none()
    return _NOTHING if found is None else str(found)


def _text(data: Mapping[str, Any]) -> str:
    return json.dumps(data, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _row(row: RowMapping) -> AuditRow:
    at = row["at"]
    return AuditRow(**{**row, "at": at if isinstance(at, int) else None, "data": _data(bytes(row["data"]))})


def _data(stored: bytes) -> Mapping[str, Any] | None:
    """Return what a row says; None for what ``append`` has never written."""
    try:
        data = strict_json.decode(stored, depth=strict_json.STORED_DEPTH)
    except InvalidJSON:
        return None
    return data if isinstance(data, dict) else None


def _faults(row: RowMapping, last: int, previous: str) -> Iterator[str]:
    seq = row["seq"]
    if seq != last + 1:
        yield f"row {seq} follows row {last}: a row between them is gone"
    if row["previous"] != previous:
        yield f"row {seq} does not hang on row {last}"
    if not _has_its_hash(row):
        yield f"row {seq} was changed: its hash is not its own"


def _has_its_hash(row: RowMapping) -> bool:
    """Whether the hash is that of the stored bytes, whatever they would be read as."""
    try:
        text = bytes(row["data"]).decode()
    except UnicodeDecodeError:
        return False
    content = [*(row[name] for name in ("seq", "at", "kind", "actor", "subject")), text, row["previous"]]
    return bool(row["hash"] == sha256_of(content))


def _end_faults(last: int, before: int, after: int) -> Iterator[str]:
    """Compare the last row with how many were counted before and after it was read."""
    if last < before:
        yield f"the chain ends at row {last}, but {before} rows were written: its end is cut"
    if last > after:
        yield f"the chain ends at row {last}, but {after} rows were written: a row was added behind its end"
