"""The sessions' pages: whose there are, one of them to read, and how it stood at any of its events.

Reading takes no lease and writes nothing, whatever state the session is in.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from flask import Response, request

from flask_litro_agent.contracts import Actor, SessionKey
from flask_litro_agent.errors import NotFound, SessionDeleted
from flask_litro_agent.installation import Installation
from flask_litro_agent.web import guards
from flask_litro_agent.web.admin.conversation import Passage, read_passage
from flask_litro_agent.web.admin.entry import ADMIN
from flask_litro_agent.web.admin.ledger_filter import read_text
from flask_litro_agent.web.admin.people import People
from flask_litro_agent.web.admin.rendering import Rendering
from flask_litro_agent.web.admin.routes import Route

__all__ = ["SessionPages"]

logger = logging.getLogger(__name__)

_PAGE = 50
_LAST = 10**14
_NONE = "there is no such session"


class SessionPages:
    """The pages about conversations."""

    def __init__(self, installed: Installation, rendering: Rendering) -> None:
        self._installed = installed
        self._rendering = rendering

    def routes(self) -> Iterator[Route]:
        """Yield the pages' routes."""
        one = "/sessions/<agent>/<session>"
        yield Route("/sessions", "sessions", self.sessions, (ADMIN,))
        yield Route(one, "session", self.session, (ADMIN,))
        yield Route(f"{one}.ndjson", "session_log", self.log, (ADMIN,))

    def sessions(self, actor: Actor) -> Response:
        """Show one page of everybody's sessions, or of one owner's, newest first."""
        owner, agent = (read_text(request.args, name) or None for name in ("owner", "agent"))
        found, mark = self._installed.store.list(
            owner, agent=agent, after=request.args.get("after"), limit=_PAGE
        )
        return self._rendering.page(
            "sessions.html",
            actor,
            sessions=found,
            people=People(self._installed.identity),
            names=list(self._installed.agents),
            owner=owner,
            agent=agent,
            mark=mark,
        )

    def session(self, actor: Actor, agent: str, session: str) -> Response:
        """Show a session's events, as they stood at ``until`` when that is given."""
        key = self._key(agent, session)
        first = guards.query_number(request, "from", default=1, low=1, high=_LAST)
        until = guards.query_number(request, "until", default=_LAST, low=1, high=_LAST)
        passage = self._read(key, first, None if until == _LAST else until)
        logger.info("litro admin: %r reads the session %r of %r", actor.id, session, key.owner)
        return self._rendering.page(
            "session.html",
            actor,
            key=key,
            owner_name=People(self._installed.identity).name(key.owner),
            passage=passage,
            until=None if until == _LAST else until,
            is_running=self._installed.store.is_leased(key),
        )

    def log(self, actor: Actor, agent: str, session: str) -> Response:
        """Return the log's lines, byte for byte as a browser gets them."""
        key = self._key(agent, session)
        self._check(key)
        logger.info("litro admin: %r takes the log of the session %r of %r", actor.id, session, key.owner)
        store, last = self._installed.store, self._installed.store.last_seq(key)
        lines = (entry.line for entry in store.read(key) if entry.seq <= last)
        response = Response(lines, mimetype="application/x-ndjson")
        response.headers["Content-Disposition"] = f'attachment; filename="{session}.ndjson"'
        return response

    def _key(self, agent: str, session: str) -> SessionKey:
        return SessionKey(agent, request.args.get("owner", ""), guards.check_session_id(session))

    def _read(self, key: SessionKey, first: int, until: int | None) -> Passage:
        self._check(key)
        return read_passage(self._installed.store, key, first=first, until=until)

    def _check(self, key: SessionKey) -> None:
        try:
            last = self._installed.store.last_seq(key)
        except SessionDeleted:
            last = 0
        if not last:
            raise NotFound(_NONE)
