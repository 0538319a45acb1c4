"""The ledger as a file: CSV for spreadsheets, NDJSON for programs, a batch of rows at a time.

A text that a spreadsheet would run as a formula gets an apostrophe in front, and so does a piece of one that is a cell
of its own where semicolons or tabs divide cells, as in many countries. Times are ISO 8601 in UTC, arguments and results
are JSON texts: in NDJSON the arguments are the bytes that ran, or would have run.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from flask_litro_agent.core.ledger import Ledger
from flask_litro_agent.core.proposals import Proposal
from flask_litro_agent.core.search import Wanted
from flask_litro_agent.web.admin.moments import moment

__all__ = ["FORMATS", "Format", "written"]

BATCH: Final = 500
#: What a spreadsheet takes for the beginning of a formula, or skips in front of one.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_PIECE: Final = re.compile(r"""([;\t\r\n][\s"]*)(?=[=+@\-\uff1d\uff0b\uff0d\uff20])""")
#: A spreadsheet reads a CSV file as UTF-8 when it begins with this mark.
_MARK: Final = b"\xef\xbb\xbf"
_COLUMNS: Final[dict[str, Callable[[Proposal], str | None]]] = {
    "id": lambda one: one.id,
    "created_at": lambda one: _time(one.created_at),
    "state": lambda one: one.state.value,
    "outcome": lambda one: one.outcome,
    "agent": lambda one: one.agent,
    "tool": lambda one: one.tool,
    "mode": lambda one: one.mode,
    "permission": lambda one: one.permission,
    "summary": lambda one: one.summary,
    "arguments": lambda one: one.arguments.decode(),
    "proposer": lambda one: one.proposer,
    "owner": lambda one: one.owner,
    "session": lambda one: one.session,
    "expires_at": lambda one: _time(one.expires_at),
    "decided_by": lambda one: one.decided_by,
    "claimed_at": lambda one: _time(one.claimed_at),
    "started_at": lambda one: _time(one.started_at),
    "settled_at": lambda one: _time(one.settled_at),
    "note": lambda one: one.note,
    "reason": lambda one: one.reason,
    "truth": lambda one: one.truth,
    "error_id": lambda one: one.error_id,
    "relation": lambda one: one.relation,
    "made_from": lambda one: one.made_from,
    "result": lambda one: None if one.result is None else json.dumps(one.result, ensure_ascii=False),
}


@dataclass(frozen=True, slots=True)
class Format:
    """How rows become bytes; ``head`` stands in front of the first."""

    mimetype: str
    head: bytes
    encode: Callable[[Sequence[Proposal]], bytes]


def written(ledger: Ledger, wanted: Wanted, form: Format) -> Iterator[bytes]:
    """Yield the file, newest row first. The first batch is read now, so that what is wrong is said in time."""
    first, mark = ledger.search(wanted, limit=BATCH)
    return _batches(ledger, wanted, form, first, mark)


def _batches(
    ledger: Ledger, wanted: Wanted, form: Format, rows: Sequence[Proposal], mark: str | None
) -> Iterator[bytes]:
    yield form.head
    yield form.encode(rows)
    while mark is not None:
        rows, mark = ledger.search(wanted, after=mark, limit=BATCH)
        yield form.encode(rows)


def _csv(rows: Sequence[Proposal]) -> bytes:
    return _lines([[_cell(read(row)) for read in _COLUMNS.values()] for row in rows])


def _ndjson(rows: Sequence[Proposal]) -> bytes:
    objects = ({name: read(row) for name, read in _COLUMNS.items()} for row in rows)
    return "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in objects).encode()


def _lines(cells: Sequence[Sequence[str]]) -> bytes:
    sheet = io.StringIO(newline="")
    csv.writer(sheet, lineterminator="\r\n").writerows(cells)
    return sheet.getvalue().encode()


def _cell(text: str | None) -> str:
    """Return a cell that shows the text and never runs it."""
    if text is None:
        return ""
    text = _PIECE.sub(r"\1'", text)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _time(ms: int | None) -> str | None:
    return None if ms is None else moment(ms).iso


FORMATS: Final = {
    "csv": Format("text/csv", _MARK + _lines([list(_COLUMNS)]), _csv),
    "ndjson": Format("application/x-ndjson", b"", _ndjson),
}
