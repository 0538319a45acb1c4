"""The sessions blueprint: start a turn, read, stop, list and delete."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from flask import Response, jsonify, request

from flask_litro_agent.contracts import Actor, SessionKey
from flask_litro_agent.errors import NotFound
from flask_litro_agent.installation import Installation
from flask_litro_agent.turns.tail import Tail
from flask_litro_agent.web import clients, guards
from flask_litro_agent.web.slots import Slot, Slots, refuse_one_at_a_time

__all__ = ["SessionViews"]

logger = logging.getLogger(__name__)

_MOST_SEQ = 10**15 - 1


class SessionViews:
    """The views of one app's sessions."""

    def __init__(self, installed: Installation, slots: Slots) -> None:
        self._installed = installed
        self._slots = slots

    def routes(self) -> Iterator[tuple[str, str, Callable[..., Any], Sequence[str]]]:
        """Yield (rule, endpoint, view, methods)."""
        session = "/agent/<agent>/<session>"
        yield session, "post", self.post, ["POST"]
        yield session, "get", self.get, ["GET"]
        yield session, "delete", self.delete, ["DELETE"]
        yield f"{session}/turn/<turn_id>", "stop", self.stop, ["DELETE"]
        yield "/agent/<agent>", "list", self.list, ["GET"]

    def post(self, agent: str, session: str) -> Response:
        """Start a turn and stream its events."""
        actor, key = self._enter(agent, session, changes=True)
        text = guards.read_text(request, limit=self._installed.settings.max_body)
        with self._slot(actor) as slot:
            turn = self._installed.start(key, text, actor=actor, origin="chat")
            tail = self._tail(key, after=turn.first_seq - 1, turn_from=turn.first_seq)
            return slot.keep(_stream(tail, turn.turn_id))

    def get(self, agent: str, session: str) -> Response:
        """Replay the log, and tail the turn in flight."""
        actor, key = self._enter(agent, session)
        first = guards.query_number(request, "from", default=1, low=1, high=_MOST_SEQ)
        follow = guards.query_number(request, "follow", default=0, low=0, high=1) == 1
        standing = self._installed.runner.standing(key)
        turn_id, last = standing.turn_id, standing.last_seq
        with self._slot(actor) as slot:
            if follow:
                tail = self._tail(key, after=first - 1)
            elif turn_id is None:
                tail = self._tail(key, after=first - 1, until=last)
            else:
                tail = self._tail(key, after=first - 1, turn_from=last)
            response = _stream(tail, turn_id or "idle")
            if request.method != "HEAD":  # which has no body, so that nobody would ever close it
                slot.keep(response)
        response.headers["Litro-Last-Seq"] = str(last)
        return response

    def stop(self, agent: str, session: str, turn_id: str) -> tuple[Response, int]:
        """Ask the running turn to stop, wherever it runs."""
        _, key = self._enter(agent, session, changes=True)
        if not self._installed.runner.stop(key, turn_id):
            raise NotFound("no such turn is running in this session")
        return jsonify(turn_id=turn_id, state="stopping"), 202

    def delete(self, agent: str, session: str) -> tuple[str, int]:
        """Stop the session's turn and delete the session for good."""
        _, key = self._enter(agent, session, changes=True)
        self._installed.runner.delete(key)
        return "", 204

    def list(self, agent: str) -> Response:
        """List the caller's sessions with this agent, newest first."""
        guards.check_fetch(request, self._installed.settings)
        guards.enter_agent(self._installed.agents, agent)
        limit = guards.query_number(request, "limit", default=50, low=1, high=200)
        owner = self._installed.identity.current().id
        page, cursor = self._installed.store.list(
            owner, agent=agent, after=request.args.get("after"), limit=limit
        )
        rows = [{"id": info.key.session, "created": info.created, "updated": info.updated} for info in page]
        return jsonify(sessions=rows, next=cursor)

    def _enter(self, agent: str, session: str, *, changes: bool = False) -> tuple[Actor, SessionKey]:
        guards.check_fetch(request, self._installed.settings)
        if changes:
            guards.check_header(request)
        guards.check_session_id(session)
        guards.enter_agent(self._installed.agents, agent)
        actor = self._installed.identity.current()
        return actor, SessionKey(agent, actor.id, session)

    def _slot(self, actor: Actor) -> Slot:
        refuse_one_at_a_time(request.environ)
        return self._slots.take(actor.id, request.environ)

    def _tail(
        self, key: SessionKey, *, after: int, until: int | None = None, turn_from: int | None = None
    ) -> Tail:
        settings = self._installed.settings
        return Tail(
            store=self._installed.store,
            key=key,
            live=self._installed.runner.live,
            gone=clients.watch(request.environ),
            after=after,
            until=until,
            turn_from=turn_from,
            longest=settings.stream_seconds,
            heartbeat=settings.heartbeat_seconds,
            shown=partial(self._installed.seals.line, key),
        )


def _stream(tail: Tail, turn: str) -> Response:
    response = Response(_logged(tail.chunks()), mimetype="application/x-ndjson")
    response.headers["X-Accel-Buffering"] = "no"
    response.headers["Litro-Turn"] = turn
    return response


def _logged(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the chunks; what else a store raises cuts the stream, and no server shows its stack in it."""
    try:
        yield from chunks
    except Exception:
        logger.exception("litro: a stream was cut by an error")
