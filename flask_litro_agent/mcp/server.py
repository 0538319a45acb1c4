"""One agent's tools as an MCP server: what each method answers.

It keeps nothing between two requests, so any process may answer any of them. A call of a tool is handed back as a
``Call``: who runs it decides where its progress goes, and when to stop waiting for it.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from flask_litro_agent.agents import LoadedAgent
from flask_litro_agent.contracts import Actor, Stop
from flask_litro_agent.core.gate import Gate
from flask_litro_agent.core.outcome import CallSite
from flask_litro_agent.mcp import headers, listing, revisions
from flask_litro_agent.mcp.headers import Told
from flask_litro_agent.mcp.messages import INVALID_PARAMS, METHOD_NOT_FOUND, ProtocolError, Request
from flask_litro_agent.mcp.results import INSTRUCTIONS, TextOf, call_result
from flask_litro_agent.tools import Mode

__all__ = ["Call", "Caller", "Server"]

Progress = Callable[[Any], None]

_SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
#: A list is true when it is read: the next one may be shorter, and a call is decided anew whatever was listed.
_NOT_KEPT: Final[Mapping[str, Any]] = {"ttlMs": 0, "cacheScope": "private"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whom the token names, as he is now, and how the token itself is called."""

    actor: Actor
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a tool that has yet to be decided and run. ``is_listed`` is False for a name that is no tool's now."""

    is_listed: bool
    run: Callable[[Progress, Stop], dict[str, Any]] = field(repr=False)


class Server:
    """Answers the requests to one agent; ``seconds`` is the longest run of a tool."""

    def __init__(self, agent: LoadedAgent, gate: Gate, *, seconds: float, text_of: TextOf) -> None:
        self._agent = agent
        self._gate = gate
        self._seconds = seconds
        self._text_of = text_of
        self._info = {"name": agent.name, "title": agent.title, "version": _version()}

    def answer(
        self, request: Request, told: Told, caller: Caller, *, is_modern: bool
    ) -> dict[str, Any] | Call:
        """Return the result, or the call that will have one; raise ProtocolError. ``told`` are the HTTP headers."""
        match request.method, is_modern:
            case "server/discover", True:
                return self._modern(self._discovered())
            case "initialize", False:
                return self._initialized(request.params)
            case "ping", False:
                return {}
            case "tools/list", _:
                listed = self._listed(request.params)
                return self._modern({**listed, **_NOT_KEPT}) if is_modern else listed
            case "tools/call", _:
                return self._call(request.params, told, caller, is_modern=is_modern)
        raise ProtocolError(METHOD_NOT_FOUND, "there is no such method here")

    def _modern(self, result: Mapping[str, Any]) -> dict[str, Any]:
        return {**result, "resultType": "complete", "_meta": {_SERVER_INFO: self._info}}

    def _discovered(self) -> dict[str, Any]:
        return {"supportedVersions": list(revisions.SUPPORTED), **self._introduced(), **_NOT_KEPT}

    def _initialized(self, params: Mapping[str, Any]) -> dict[str, Any]:
        asked = params.get("protocolVersion")
        if not isinstance(asked, str):
            raise ProtocolError(INVALID_PARAMS, "'protocolVersion' must be a text")
        agreed = asked if asked in revisions.HANDSHAKE else revisions.HANDSHAKE[0]
        return {"protocolVersion": agreed, "serverInfo": self._info, **self._introduced()}

    def _introduced(self) -> dict[str, Any]:
        changes = any(tool.mode is not Mode.READ for tool in self._gate.tools(self._agent.name).values())
        return {"capabilities": {"tools": {}}, **({"instructions": INSTRUCTIONS} if changes else {})}

    def _listed(self, params: Mapping[str, Any]) -> dict[str, Any]:
        name, visible = self._agent.name, self._gate.tools(self._agent.name)
        tools, cursor = listing.page(name, self._agent.tools, visible, params.get("cursor"))
        listed = {"tools": [listing.described(tool) for tool in tools]}
        return listed if cursor is None else {**listed, "nextCursor": cursor}

    def _call(self, params: Mapping[str, Any], told: Told, caller: Caller, *, is_modern: bool) -> Call:
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str):
            raise ProtocolError(INVALID_PARAMS, "'name' must be the name of a tool")
        if not isinstance(arguments, dict):
            raise ProtocolError(INVALID_PARAMS, "'arguments' must be an object")
        tool = self._gate.tools(self._agent.name).get(name)
        if tool is not None and is_modern:
            headers.check_parameters(told, listing.header_tokens(tool), arguments)

        def run(progress: Progress, stop: Stop) -> dict[str, Any]:
            site = CallSite(via=caller.token, progress=progress, stop=stop, seconds=self._seconds)
            outcome = self._gate.call(
                self._agent.name, name, arguments, actor=caller.actor, origin="mcp", site=site
            )
            result = call_result(outcome, self._text_of)
            return self._modern(result) if is_modern else result

        return Call(is_listed=tool is not None, run=run)


def _version() -> str:
    try:
        return importlib.metadata.version("flask-litro-agent")
    except importlib.metadata.PackageNotFoundError:  # run from its sources
        return "0"
