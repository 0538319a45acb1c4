"""The ledger's pages: every proposal that there was, looked through, filtered, taken as a file; and the audit chain."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from flask import Response, request

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.outcome import Relation
from flask_litro_agent.core.proposals import Proposal, State
from flask_litro_agent.core.second_thoughts import anew
from flask_litro_agent.errors import NotFound
from flask_litro_agent.installation import Installation
from flask_litro_agent.tools import Mode
from flask_litro_agent.web.admin.entry import ADMIN, APPROVE, may
from flask_litro_agent.web.admin.ledger_export import FORMATS, written
from flask_litro_agent.web.admin.ledger_filter import Filter, read_filter
from flask_litro_agent.web.admin.moments import day_text
from flask_litro_agent.web.admin.people import People
from flask_litro_agent.web.admin.rendering import Rendering
from flask_litro_agent.web.admin.routes import Route
from flask_litro_agent.web.admin.states import Standing, standing_of, void_reason
from flask_litro_agent.web.admin.words import mark, say

__all__ = ["LedgerPages"]

logger = logging.getLogger(__name__)

_PAGE: Final = 50
_DAY_MS: Final = 86_400_000


_NAMES: Final = {
    State.PROPOSED: mark("Waiting"),
    State.CLAIMED: mark("Being carried out"),
    State.EXECUTED: mark("Carried out"),
    State.DISMISSED: mark("Dismissed"),
    State.VOID: mark("Void"),
    State.EXPIRED: mark("Expired"),
    State.UNKNOWN: mark("Outcome unknown"),
}


class Row(NamedTuple):
    """A proposal, where it stands in words, and how it can be proposed anew."""

    proposal: Proposal
    standing: Standing
    reason: str | None
    offer: Relation | None


class LedgerPages:
    """The pages about what was proposed."""

    def __init__(self, installed: Installation, rendering: Rendering) -> None:
        self._installed = installed
        self._rendering = rendering

    def routes(self) -> Iterator[Route]:
        """Yield the pages' routes."""
        yield Route("/ledger", "ledger", self.ledger, (ADMIN,))
        yield Route("/ledger.<form>", "ledger_file", self.file, (ADMIN,))

    def ledger(self, actor: Actor) -> Response:
        """Show a page of the rows that are asked for, newest first, and how many there are in each state."""
        asked, books = read_filter(request.args), self._installed.books
        if books is None:
            return self._rendering.page("no_books.html", actor, title=say("Ledger"))
        after, counts = request.args.get("after"), books.ledger.counts(asked.wanted)
        found, older = books.ledger.search(asked.wanted, after=after, limit=_PAGE)
        offers = may(self._installed, actor, APPROVE)
        return self._rendering.page(
            "ledger.html",
            actor,
            rows=[self._row(one, offers=offers) for one in found],
            older=older,
            is_first=after is None,
            counts=[(state, say(name), counts.get(state, 0)) for state, name in _NAMES.items()],
            people=People(self._installed.identity),
            filter=asked,
            **self._choices(asked),
        )

    def file(self, actor: Actor, form: str) -> Response:
        """Return the rows that are asked for as a file, written while it is sent."""
        books, wanted = self._installed.books, read_filter(request.args)
        if books is None or form not in FORMATS:
            raise NotFound("there is no such file")
        batches = written(books.ledger, wanted.wanted, FORMATS[form])
        logger.info("litro admin: %r takes the ledger as %s: %s", actor.id, form, wanted.query)
        response = Response(batches, mimetype=FORMATS[form].mimetype)
        name = f"ledger-{day_text(books.database.time() // _DAY_MS)}.{form}"
        response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
        return response

    def _choices(self, asked: Filter) -> dict[str, Any]:
        """Return what the form offers: what is there now, and what was asked for if it is gone."""
        agents = self._installed.agents
        tools = {
            tool.name
            for agent in agents.values()
            for tool in agent.tools.values()
            if tool.mode is not Mode.READ
        }
        return {
            "agents": sorted({*agents, asked.texts.get("agent", "")} - {""}),
            "tools": sorted({*tools, asked.texts.get("tool", "")} - {""}),
        }

    def _row(self, proposal: Proposal, *, offers: bool) -> Row:
        offer = anew(proposal, self._installed.tool_of(proposal)) if offers else None
        return Row(proposal, standing_of(proposal), void_reason(proposal), offer)
