"""JSON-RPC 2.0 as MCP speaks it: a body is one request or one notification, and an answer is a result or an error.

An error says what is wrong and repeats nothing of what was sent, its id apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from flask_litro_agent import strict_json
from flask_litro_agent.errors import InvalidJSON

__all__ = [
    "HEADER_MISMATCH",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "NOT_ALLOWED",
    "PARSE_ERROR",
    "UNSUPPORTED_VERSION",
    "Notification",
    "ProtocolError",
    "Request",
    "failed",
    "note",
    "read",
    "succeeded",
]

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
HEADER_MISMATCH: Final = -32020
UNSUPPORTED_VERSION: Final = -32022
#: Ours, from the range that is left to implementations: who asks was not let in, or not now.
NOT_ALLOWED: Final = -32000

_LONGEST_TOKEN: Final = 256

RequestId = str | int
_STATUS: Final = {METHOD_NOT_FOUND: 404}
_ONE_MESSAGE: Final = "the body must be one JSON-RPC 2.0 request or notification with a method"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A message that is owed an answer."""

    id: RequestId
    method: str
    params: Mapping[str, Any]

    @property
    def meta(self) -> object:
        """The ``_meta`` of its parameters, whatever stands there."""
        return self.params.get("_meta")

    @property
    def progress_token(self) -> RequestId | None:
        """What the client wants to see beside each report of progress; None when it asks for none.

        A long one counts as none: it would be repeated in every report.
        """
        token = self.meta.get("progressToken") if isinstance(self.meta, Mapping) else None
        return token if _is_id(token) and len(str(token)) <= _LONGEST_TOKEN else None


@dataclass(frozen=True, slots=True)
class Notification:
    """A message that is owed no answer."""

    method: str


@dataclass(slots=True)
class ProtocolError(Exception):
    """A message that cannot be answered with a result; ``request_id`` is known where it could be read."""

    code: int
    message: str
    data: Mapping[str, Any] | None = None
    request_id: RequestId | None = field(default=None)

    @property
    def status(self) -> int:
        """The HTTP status that goes with the code."""
        return _STATUS.get(self.code, 400)


def read(body: bytes) -> Request | Notification:
    """Return the body's one message; raise ProtocolError."""
    try:
        value = strict_json.decode(body)
    except InvalidJSON as error:
        raise ProtocolError(PARSE_ERROR, f"the body is {error}") from None
    if not isinstance(value, dict):
        raise ProtocolError(INVALID_REQUEST, _ONE_MESSAGE)
    return _message(value)


def succeeded(request_id: RequestId, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer that has a result."""
    return {"jsonrpc": "2.0", "id": request_id, "result": dict(result)}


def failed(request_id: RequestId | None, code: int, message: str, data: Any = None) -> dict[str, Any]:
    """Return the answer that has an error."""
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


def note(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return a notification."""
    return {"jsonrpc": "2.0", "method": method, "params": dict(params)}


def _message(value: Mapping[str, Any]) -> Request | Notification:
    request_id, method, params = value.get("id"), value.get("method"), value.get("params", {})
    known = request_id if _is_id(request_id) else None
    if value.get("jsonrpc") != "2.0" or not isinstance(method, str):
        raise ProtocolError(INVALID_REQUEST, _ONE_MESSAGE, request_id=known)
    if not isinstance(params, dict):
        raise ProtocolError(INVALID_REQUEST, "'params' must be an object", request_id=known)
    if "id" not in value:
        return Notification(method)
    if known is None:
        raise ProtocolError(INVALID_REQUEST, "'id' must be a text or a whole number")
    return Request(id=known, method=method, params=params)


def _is_id(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))
