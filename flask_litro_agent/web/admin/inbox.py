"""The inbox: what waits for a decision, the most urgent first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from flask import Response, request

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.waiting import FILTERS, Board
from flask_litro_agent.installation import Installation
from flask_litro_agent.web.admin.card_views import CardViews
from flask_litro_agent.web.admin.decided import decided_one
from flask_litro_agent.web.admin.entry import ADMIN, APPROVE
from flask_litro_agent.web.admin.ledger_filter import read_text
from flask_litro_agent.web.admin.people import People
from flask_litro_agent.web.admin.rendering import Rendering
from flask_litro_agent.web.admin.routes import Route

__all__ = ["InboxPages"]

#: From so many cards on the page offers its filters.
_MANY: Final = 6
_NOTHING: Final = Board(
    read_at=0, unknown=(), open=(), expired=(), total=0, found=0, choices=dict.fromkeys(FILTERS, ())
)


class InboxPages:
    """The page that a decision starts from."""

    def __init__(self, installed: Installation, rendering: Rendering, cards: CardViews) -> None:
        self._installed = installed
        self._rendering = rendering
        self._cards = cards

    def routes(self) -> Iterator[Route]:
        """Yield the page's route."""
        yield Route("/", "inbox", self.inbox, (APPROVE, ADMIN))

    def inbox(self, actor: Actor) -> Response:
        """Show what waits."""
        filters = {name: value for name in FILTERS if (value := read_text(request.args, name))}
        books, people = self._installed.books, People(self._installed.identity)
        mark = None if books is None else books.waiting.pulse().mark  # first: what comes after it is news
        board = _NOTHING if books is None else books.waiting.board(**filters)
        return self._rendering.page(
            "inbox.html",
            actor,
            board=board,
            mark=mark,
            lists=self._lists(board, actor, people),
            filters=filters,
            has_filters=bool(filters) or board.total >= _MANY,
            people=people,
            decided=decided_one(self._installed, request.args.get("decided"), actor, people),
            has_books=books is not None,
        )

    def _lists(self, board: Board, actor: Actor, people: People) -> dict[str, Any]:
        rows = [*board.unknown, *board.open, *board.expired]
        views = iter(self._cards.of(rows, actor, people))
        named = {"unknown": board.unknown, "open": board.open, "expired": board.expired}
        return {name: [next(views) for _ in found] for name, found in named.items()}
