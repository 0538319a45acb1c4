"""The page of one proposal: its card, what can be done about it now, and what happened to it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from flask import Response, request

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.proposals import is_proposal_id
from flask_litro_agent.errors import NotFound
from flask_litro_agent.installation import Installation
from flask_litro_agent.web.admin.card_views import CardView, CardViews
from flask_litro_agent.web.admin.decided import decided_one
from flask_litro_agent.web.admin.entry import ADMIN, APPROVE
from flask_litro_agent.web.admin.history import history_of
from flask_litro_agent.web.admin.people import People
from flask_litro_agent.web.admin.rendering import Rendering
from flask_litro_agent.web.admin.routes import Route

__all__ = ["ProposalPages"]


class ProposalPages:
    """The page to which every list and every message leads."""

    def __init__(self, installed: Installation, rendering: Rendering, cards: CardViews) -> None:
        self._installed = installed
        self._rendering = rendering
        self._cards = cards

    def routes(self) -> Iterator[Route]:
        """Yield the page's route."""
        yield Route("/proposals/<proposal_id>", "proposal", self.proposal, (APPROVE, ADMIN))

    def proposal(self, actor: Actor, proposal_id: str) -> Response:
        """Show the proposal as it stands now."""
        books = self._installed.books
        mark = books.waiting.pulse().mark if books else None  # first: what comes after it is news
        found = books.ledger.get(proposal_id) if books and is_proposal_id(proposal_id) else None
        if books is None or found is None:
            raise NotFound("there is no such proposal")
        people = People(self._installed.identity)
        (view,) = self._cards.of([found], actor, people)
        return self._rendering.page(
            "proposal.html",
            actor,
            view=view,
            mark=mark,
            people=people,
            history=history_of(found, books.audit.about(found.id), people),
            made_from=books.ledger.get(found.made_from) if found.made_from else None,
            made=books.waiting.made_from(found.id),
            decided=decided_one(self._installed, request.args.get("decided"), actor, people),
            result=_result(view),
        )


def _result(view: CardView) -> str | None:
    result = view.proposal.result
    return None if result is None else json.dumps(result, ensure_ascii=False, indent=2)
