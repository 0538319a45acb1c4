"""The inbox: what waits for a decision."""

from __future__ import annotations

from collections.abc import Iterator

from flask import Response

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.proposals import Proposal, State
from flask_litro_agent.installation import Installation
from flask_litro_agent.web.admin.entry import ADMIN, APPROVE
from flask_litro_agent.web.admin.rendering import Rendering
from flask_litro_agent.web.admin.routes import Route

__all__ = ["InboxPages"]

_WAITING = (State.PROPOSED, State.UNKNOWN)


class InboxPages:
    """The pages that a decision starts from."""

    def __init__(self, installed: Installation, rendering: Rendering) -> None:
        self._installed = installed
        self._rendering = rendering

    def routes(self) -> Iterator[Route]:
        """Yield the pages' routes."""
        yield Route("/", "inbox", self.inbox, (APPROVE, ADMIN))

    def inbox(self, actor: Actor) -> Response:
        """Show what waits."""
        return self._rendering.page("inbox.html", actor, proposals=self._waiting())

    def _waiting(self) -> list[Proposal]:
        books = self._installed.books
        return [] if books is None else books.ledger.find(states=_WAITING)[0]
