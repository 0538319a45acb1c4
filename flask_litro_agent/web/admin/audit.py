"""The audit chain's page: who decided what, newest first, where the chain ends, and whether it is whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from flask import Response, request

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.audit import Audit, AuditRow, Head, Verification
from flask_litro_agent.errors import BadRequest
from flask_litro_agent.installation import Installation
from flask_litro_agent.web import guards
from flask_litro_agent.web.admin.entry import ADMIN
from flask_litro_agent.web.admin.moments import Moment, moment
from flask_litro_agent.web.admin.rendering import Rendering
from flask_litro_agent.web.admin.routes import Route
from flask_litro_agent.web.admin.words import say

__all__ = ["KINDS", "AuditPages"]

#: The kinds of rows that there are.
KINDS: Final = (
    *("approved", "executed", "unknown", "late", "dismissed", "void", "answered"),
    *("ceiling", "pruned", "token"),
)
_OF_NO_PROPOSAL: Final = ("ceiling", "pruned", "token")
_PAGE: Final = 50
_LAST: Final = 10**15 - 1
#: A longer chain is verified on the command line: a page must not hold a worker for seconds.
_MOST_VERIFIED: Final = 20_000
_ID: Final = re.compile(r"[0-9A-Za-z_-]{1,32}")
_HEAD: Final = re.compile(r"([0-9]{1,18}):([0-9a-f]{64})")


class Shown(NamedTuple):
    """A row as the page shows it; ``proposal_id`` is what it is about, if that is a proposal."""

    row: AuditRow
    at: Moment | None
    data: str
    proposal_id: str | None


class AuditPages:
    """The page about the chain."""

    def __init__(self, installed: Installation, rendering: Rendering) -> None:
        self._installed = installed
        self._rendering = rendering

    def routes(self) -> Iterator[Route]:
        """Yield the page's route."""
        yield Route("/audit", "audit", self.audit, (ADMIN,))

    def audit(self, actor: Actor) -> Response:
        """Show a page of rows; with ``verify`` also what reading the whole chain finds."""
        books = self._installed.books
        if books is None:
            return self._rendering.page("no_books.html", actor, title=say("Audit"))
        before = guards.query_number(request, "before", default=_LAST, low=1, high=_LAST)
        kind, chain = _kind(), books.audit
        found = chain.newest(kind=kind, before=before, limit=_PAGE + 1)
        head = chain.head()
        return self._rendering.page(
            "audit.html",
            actor,
            rows=list(map(_shown, found[:_PAGE])),
            mark=found[_PAGE - 1].seq if len(found) > _PAGE else None,
            is_first=before == _LAST,
            kind=kind,
            kinds=KINDS,
            head=head,
            can_verify=head.seq <= _MOST_VERIFIED,
            kept=request.args.get("head", ""),
            verified=_verified(chain, head) if "verify" in request.args else None,
        )


def _kind() -> str | None:
    kind = request.args.get("kind", "")
    if kind and kind not in KINDS:
        raise BadRequest(f"no kind named {kind[:40]!r}; there is: {', '.join(KINDS)}")
    return kind or None


def _verified(chain: Audit, end: Head) -> Verification:
    if end.seq > _MOST_VERIFIED:
        raise BadRequest(f"a chain of {end.seq} rows is verified by: flask litro audit verify")
    return chain.verify(_kept_head())


def _kept_head() -> Head | None:
    text = request.args.get("head", "").strip()
    match = _HEAD.fullmatch(text)
    if text and match is None:
        raise BadRequest("a head is a number, a colon and 64 hexadecimal digits, as 'audit head' prints it")
    return Head(int(match[1]), match[2]) if match else None


def _shown(row: AuditRow) -> Shown:
    data = "" if row.data is None else json.dumps(row.data, ensure_ascii=False, sort_keys=True)
    is_about_one = row.kind not in _OF_NO_PROPOSAL and _ID.fullmatch(row.subject)
    return Shown(row, _moment(row.at), data, row.subject if is_about_one else None)


def _moment(at: int | None) -> Moment | None:
    """Return the time; None for what somebody wrote over it."""
    try:
        return None if at is None else moment(at)
    except (OverflowError, ValueError, OSError):
        return None
