"""What a plain form of the pages is answered with: the way back to its page, or a page that says why nothing was done.

A form names its page by a word, never by an address, and what the page's list was narrowed to. What was decided stands
in the ledger before any of this is drawn, and loading the page that follows again decides nothing.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from flask import Response, make_response, redirect, request, url_for
from werkzeug.datastructures import MultiDict

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.proposals import Proposal
from flask_litro_agent.core.waiting import FILTERS
from flask_litro_agent.errors import AgentError, BadRequest, SignInNeeded
from flask_litro_agent.identity import is_visitor_id
from flask_litro_agent.installation import Installation
from flask_litro_agent.web.admin.card_views import CardView, CardViews
from flask_litro_agent.web.admin.entry import ADMIN, APPROVE, may
from flask_litro_agent.web.admin.ledger_filter import read_text
from flask_litro_agent.web.admin.people import People
from flask_litro_agent.web.admin.rendering import Rendering
from flask_litro_agent.web.admin.words import mark, say

__all__ = ["STANDS", "FormAnswers", "Place", "lead_to"]

_PAGES: Final = {"inbox": "litro_admin.inbox", "proposal": "litro_admin.proposal"}
#: The fields of a form that say where it stands: its page, and the filters of that page's list.
STANDS: Final = ("back", *FILTERS)
_SIGNED_OUT: Final = mark("You are signed out. Nothing was decided: sign in, and look at it again.")


class Place(NamedTuple):
    """A page to lead to: its endpoint, and the query by which its list is narrowed."""

    endpoint: str
    query: dict[str, str]


class FormAnswers:
    """The answers of one app; a site whose pages are closed has none of them."""

    def __init__(self, installed: Installation, rendering: Rendering, cards: CardViews) -> None:
        self._installed = installed
        self._rendering = rendering
        self._cards = cards

    def place(self, stands: dict[str, str], actor: Actor) -> Place | None:
        """Return the page of a form with these fields of STANDS; None when it names none, or one closed to the actor.

        BadRequest for a page that is not there, and for a filter that no list can have.
        """
        back = stands.get("back")
        if back is None:
            return None
        if back not in _PAGES:
            raise BadRequest(f"'back' must be one of {', '.join(_PAGES)}")
        given = MultiDict(stands)
        narrowed = {name: value for name in FILTERS if (value := read_text(given, name))}
        return Place(_PAGES[back], narrowed if back == "inbox" else {}) if self._may_see(actor) else None

    def wants_page(self) -> bool:
        """Whether it is a browser that waits for an answer to its form."""
        return any(str(kind) == "text/html" for kind, _ in request.accept_mimetypes)

    def refusal(self, error: AgentError, proposal_id: str) -> Response:
        """Return a page with the reason, and with the proposal as it stands now."""
        actor = self._installed.identity.current()
        if is_visitor_id(actor.id):
            error = SignInNeeded(_SIGNED_OUT)
        sees = self._may_see(actor)
        response = self._rendering.page(
            "sorry.html",
            actor if sees else None,
            status=error.status,
            message=say(error.message),
            view=self._view(proposal_id, actor) if sees else None,
            sign_in=self._sign_in(proposal_id) if isinstance(error, SignInNeeded) else None,
        )
        response.headers.update(error.headers)
        return response

    def _may_see(self, actor: Actor) -> bool:
        return any(may(self._installed, actor, permission) for permission in (APPROVE, ADMIN))

    def _view(self, proposal_id: str, actor: Actor) -> CardView | None:
        """Return the card of a proposal that is there; a ledger that is away has none."""
        try:
            proposal = self._installed.gate.proposal(proposal_id, actor)
        except AgentError:
            return None
        (view,) = self._cards.of([proposal], actor, People(self._installed.identity))
        return view

    def _sign_in(self, proposal_id: str) -> str | None:
        return self._rendering.sign_in(url_for("litro_admin.proposal", proposal_id=proposal_id))


def lead_to(place: Place | None, proposal: Proposal) -> Response:
    """Return the answer that leads to a page by GET, and tells it what was decided; to the card where there is none."""
    if place is None:
        return make_response(redirect(url_for("litro.proposal", proposal_id=proposal.id), code=303))
    values: dict[str, Any] = {**place.query, "decided": proposal.id}
    if place.endpoint == _PAGES["proposal"]:
        values["proposal_id"] = proposal.id
    return make_response(redirect(url_for(place.endpoint, **values), code=303))
