"""The revisions of the protocol that are spoken here, and which one a request speaks.

The new one has no session: every request says its revision and what its client can do, in ``_meta`` and in headers.
The older ones begin with ``initialize``, and name the revision that was agreed on in a header, or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from flask_litro_agent.mcp import headers
from flask_litro_agent.mcp.headers import Told
from flask_litro_agent.mcp.messages import (
    INVALID_PARAMS,
    UNSUPPORTED_VERSION,
    ProtocolError,
    Request,
)

__all__ = ["HANDSHAKE", "MODERN", "SUPPORTED", "check_notification", "is_modern"]

MODERN: Final = ("2026-07-28",)
HANDSHAKE: Final = ("2025-11-25", "2025-06-18")
#: Newest first.
SUPPORTED: Final = (*MODERN, *HANDSHAKE)

_NAMES: Final = {"tools/call": "name"}
_REVISION: Final = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
_LONGEST: Final = 64


def is_modern(request: Request, told: Told) -> bool:
    """Whether the request has no handshake before it; raise ProtocolError for one that is neither kind.

    ``told`` are the HTTP request's headers.
    """
    if _is_of_a_handshake(request, told):
        _check_if_told(request, told)
        return False
    revision = _revision(request.meta)
    headers.check(told, headers.VERSION, revision)
    headers.check(told, "Mcp-Method", request.method)
    named = request.params.get(_NAMES.get(request.method, ""))
    if isinstance(named, str):
        headers.check(told, "Mcp-Name", named)
    if revision not in MODERN:
        raise _unsupported(revision)
    return True


def check_notification(told: Told) -> None:
    """Raise ProtocolError for a notification in a revision that is not spoken here."""
    revision = headers.value_of(told, headers.VERSION)
    if revision is not None and revision not in SUPPORTED:
        raise _unsupported(revision[:_LONGEST])


def _check_if_told(request: Request, told: Told) -> None:
    """Raise ProtocolError for headers that older revisions need not have, and that say another thing than the body."""
    said = {"Mcp-Method": request.method, "Mcp-Name": request.params.get(_NAMES.get(request.method, ""))}
    for name, value in said.items():
        if told.get(name) is not None:
            headers.check(told, name, value if isinstance(value, str) else "")


def _is_of_a_handshake(request: Request, told: Told) -> bool:
    if isinstance(request.meta, Mapping) and _REVISION in request.meta:
        return False
    revision = headers.value_of(told, headers.VERSION)
    return revision is None or revision in HANDSHAKE or request.method == "initialize"


def _revision(meta: object) -> str:
    """Return the revision that ``_meta`` names, if ``_meta`` has all that it must."""
    if not isinstance(meta, Mapping):
        raise ProtocolError(INVALID_PARAMS, f"'params._meta' must be an object with {_REVISION!r}")
    revision: Any = meta.get(_REVISION)
    if not isinstance(revision, str) or len(revision) > _LONGEST:
        raise ProtocolError(INVALID_PARAMS, f"'params._meta' must name the revision in {_REVISION!r}")
    if not isinstance(meta.get(_CAPABILITIES), Mapping):
        raise ProtocolError(INVALID_PARAMS, f"'params._meta' must have an object in {_CAPABILITIES!r}")
    return revision


def _unsupported(revision: str) -> ProtocolError:
    data = {"supported": list(SUPPORTED), "requested": revision}
    return ProtocolError(UNSUPPORTED_VERSION, "this revision of the protocol is not spoken here", data)
