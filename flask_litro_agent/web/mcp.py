"""The MCP endpoint of an agent: who may come in, then one message and its answer.

In this order: host, origin, the agent, the token, the agent's own ``access()``, the body. A request is let in by its
bearer token alone: no cookie and no session of the site is read here, and a token opens nothing else.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from flask import Response, request

from flask_litro_agent import strict_json
from flask_litro_agent.agents import LoadedAgent
from flask_litro_agent.core.tokens import PREFIX
from flask_litro_agent.errors import AgentError, NotFound, TokenRefused, UnsupportedMediaType
from flask_litro_agent.identity import note_token_actor
from flask_litro_agent.installation import Installation
from flask_litro_agent.mcp import messages, revisions
from flask_litro_agent.mcp.exchange import Exchange
from flask_litro_agent.mcp.messages import Notification, ProtocolError, Request
from flask_litro_agent.mcp.server import Call, Caller, Server
from flask_litro_agent.web import clients, guards
from flask_litro_agent.web.slots import Slots, refuse_one_at_a_time

__all__ = ["McpView"]

logger = logging.getLogger(__name__)

_EVENTS: Final = "text/event-stream"
_BEARER: Final = re.compile(r"Bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE)
_NO_TOKEN: Final = "this address needs a token: Authorization: Bearer <token>"
_BAD_TOKEN: Final = "this token lets nobody in here: it is wrong, expired or revoked, or for another agent"
_IN_ADDRESS: Final = (
    "a token must not stand in the address, which is logged: send it as a header, and revoke it"
)


class McpView:
    """The view of one app's agents that have ``mcp_server``."""

    def __init__(self, installed: Installation, slots: Slots) -> None:
        self._installed = installed
        self._slots = slots
        seconds = installed.settings.mcp_seconds
        self._servers = {
            name: Server(agent, installed.gate, seconds=seconds, text_of=installed.components.text)
            for name, agent in installed.agents.items()
            if agent.agent.mcp_server
        }

    def routes(self) -> Iterator[tuple[str, str, Callable[..., Any], Sequence[str]]]:
        """Yield (rule, endpoint, view, methods)."""
        yield "/mcp/<agent>", "mcp", self.post, ["POST"]

    def post(self, agent: str) -> Response:
        """Answer one message; every error that is not the agent's own is one of JSON-RPC."""
        try:
            return self._answer(agent)
        except ProtocolError as error:
            return _failed(error, error.request_id, error.status)
        except AgentError as error:
            refused = _json(messages.failed(None, messages.NOT_ALLOWED, error.message), error.status)
            refused.headers.update(error.headers)
            return refused

    def _answer(self, name: str) -> Response:
        caller = self._caller(self._enter(name))
        message = messages.read(self._body())
        match message:
            case Notification():
                revisions.check_notification(request.headers)
                return Response(status=202)
            case Request():
                return self._reply(self._servers[name], message, caller)

    def _enter(self, name: str) -> LoadedAgent:
        guards.check_host(request, self._installed.settings)
        guards.check_origin_list(request, self._installed.settings.mcp_origins)
        if name not in self._servers:
            raise NotFound("there is no such agent here")
        return self._installed.agents[name]

    def _caller(self, agent: LoadedAgent) -> Caller:
        """Return whom the token names today, if he may use the agent."""
        books = self._installed.books
        token = books.tokens.admit(_secret(), agent.name) if books else None
        actor = self._installed.identity.by_id(token.actor) if token else None
        if token is None or actor is None:
            logger.info("litro mcp: a token was refused at agent %s: %s", agent.name, token and token.id)
            raise TokenRefused(_BAD_TOKEN, reason="invalid_token")
        note_token_actor(actor)
        guards.enter_agent(self._installed.agents, agent.name)
        return Caller(actor=actor, token=token.label)

    def _body(self) -> bytes:
        if request.mimetype != "application/json":
            raise UnsupportedMediaType("the body must be application/json")
        if "Accept" in request.headers and not request.accept_mimetypes["application/json"]:
            raise AgentError("answers are application/json: the Accept header must take it", status=406)
        return guards.read_body(request, self._installed.settings.max_body)

    def _reply(self, server: Server, message: Request, caller: Caller) -> Response:
        try:
            is_modern = revisions.is_modern(message, request.headers)
        except ProtocolError as error:
            return _failed(error, message.id, error.status)
        try:
            answered = server.answer(message, request.headers, caller, is_modern=is_modern)
        except ProtocolError as error:
            # to a client that began with a handshake, an error of a method is an answer like any other
            return _failed(error, message.id, error.status if is_modern else 200)
        if isinstance(answered, Call):
            return self._run(message, answered, caller, is_modern=is_modern)
        return _json(messages.succeeded(message.id, answered), 200)

    def _run(self, message: Request, call: Call, caller: Caller, *, is_modern: bool) -> Response:
        gone = clients.watch(request.environ)
        streams = (
            call.is_listed and message.progress_token is not None and bool(request.accept_mimetypes[_EVENTS])
        )
        if streams:
            refuse_one_at_a_time(request.environ)
        with self._slots.take(caller.actor.id, request.environ) as slot:
            exchange = Exchange(message, call, reports=streams)
            exchange.start()
            if not streams:
                return _answered(exchange.answer(gone=gone), is_modern=is_modern)
            response = Response(self._frames(exchange, gone), mimetype=_EVENTS)
            response.headers["X-Accel-Buffering"] = "no"
            response.call_on_close(exchange.leave)
            return slot.keep(response)

    def _frames(self, exchange: Exchange, gone: Callable[[], bool]) -> Iterator[bytes]:
        heartbeat = self._installed.settings.heartbeat_seconds
        return map(_frame, exchange.messages(gone=gone, heartbeat=heartbeat))


def _secret() -> str:
    """Return the secret that the request brings in its header; TokenRefused where there is none, or one elsewhere."""
    if "access_token" in request.args or PREFIX.encode() in request.query_string:
        raise TokenRefused(_IN_ADDRESS, reason="invalid_request", status=400)
    header = request.headers.get("Authorization")
    if header is None:
        raise TokenRefused(_NO_TOKEN)
    bearer = _BEARER.fullmatch(header.strip())
    if bearer is None:
        raise TokenRefused(_NO_TOKEN, reason="invalid_request")
    return bearer[1]


def _failed(error: ProtocolError, request_id: str | int | None, status: int) -> Response:
    return _json(messages.failed(request_id, error.code, error.message, error.data), status)


def _answered(message: dict[str, Any] | None, *, is_modern: bool) -> Response:
    if message is None:  # nobody reads this
        return Response(status=499)
    code = message.get("error", {}).get("code")
    status = 200 if code is None or not is_modern else 400 if code == messages.INVALID_PARAMS else 500
    return _json(message, status)


def _json(message: Mapping[str, Any], status: int) -> Response:
    return Response(strict_json.encode(message), status=status, mimetype="application/json")


def _frame(message: dict[str, Any] | None) -> bytes:
    """Return one event of the stream; a comment where there is nothing to say."""
    return (
        b": still here\n\n"
        if message is None
        else b"event: message\ndata: %b\n\n" % strict_json.encode(message)
    )
