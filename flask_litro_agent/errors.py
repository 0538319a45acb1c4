"""Everything this package raises on purpose.

    LitroError
    ├── ConfigurationError         wrong at start-up: the app does not start; carries every fault found
    ├── InvalidJSON                bytes that are not strict JSON (also a ValueError)
    ├── InvalidArguments           arguments that a tool's schema refuses; carries the message of every field
    ├── NothingDone                raised by a write tool: it is certain that nothing was changed
    ├── StoreError                 the session store could not do it
    │   ├── LeaseLost              the writer is no longer the session's writer; nothing was written
    │   └── SessionDeleted         the session has a tombstone
    └── AgentError                 has a sentence, a name and an HTTP status that a client may see
        ├── BadRequest             400
        ├── SignInNeeded           401
        ├── TokenRefused           401, or 400 for a token in the address
        ├── Forbidden              403
        ├── NotFound               404
        ├── SessionBusy            409, names the turn that is running
        ├── ProposalClosed         409, the proposal is no longer open to this decision
        ├── BodyTooLarge           413
        ├── UnsupportedMediaType   415
        ├── Overloaded             503, says when to ask again
        └── LedgerAway             503, the ledger's database did not do it, or may not have

Only an ``AgentError`` reaches a client with its own words; whatever else is raised is answered as
"internal error" with an id that the log has too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = [
    "AgentError",
    "BadRequest",
    "BodyTooLarge",
    "ConfigurationError",
    "Forbidden",
    "InvalidArguments",
    "InvalidJSON",
    "LeaseLost",
    "LedgerAway",
    "LitroError",
    "NotFound",
    "NothingDone",
    "Overloaded",
    "ProposalClosed",
    "SessionBusy",
    "SessionDeleted",
    "SignInNeeded",
    "StoreError",
    "TokenRefused",
    "UnsupportedMediaType",
]


class LitroError(Exception):
    """The root of everything raised on purpose."""


class ConfigurationError(LitroError):
    """The app cannot start; ``faults`` has one sentence for each thing that is wrong."""

    def __init__(self, faults: str | Iterable[str]) -> None:
        self.faults: tuple[str, ...] = (faults,) if isinstance(faults, str) else tuple(faults)
        super().__init__("\n".join(self.faults))


class InvalidJSON(LitroError, ValueError):
    """Text that is not strict JSON; the message says what is wrong and never quotes the text."""


class InvalidArguments(LitroError):
    """Arguments that a schema refuses; ``errors`` is marshmallow's message tree, field by field."""

    def __init__(self, message: str, errors: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.errors = errors


class NothingDone(LitroError):
    """A write tool raises it when it is certain that it changed nothing: then the proposal failed, for sure."""


class StoreError(LitroError):
    """The session store could not read or write."""


class LeaseLost(StoreError):
    """Another writer has the session, or may have it: nothing of this append was written."""


class SessionDeleted(StoreError):
    """The session was deleted; its id stays closed."""


class AgentError(LitroError):
    """A condition with a sentence that a client may read."""

    status = 500

    def __init__(
        self, message: str, *, status: int | None = None, errors: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = type(self).status if status is None else status
        self.errors = errors

    @property
    def headers(self) -> dict[str, str]:
        """Headers that belong to the answer."""
        return {}


class BadRequest(AgentError):
    """The request says something that cannot be."""

    status = 400


class SignInNeeded(AgentError):
    """Nobody is signed in, or not freshly enough."""

    status = 401


class TokenRefused(AgentError):
    """An MCP client brought no token, or none that lets it in; ``reason`` is RFC 6750's word for it."""

    status = 401

    def __init__(self, message: str, *, reason: str | None = None, status: int | None = None) -> None:
        super().__init__(message, status=status)
        self.reason = reason

    @property
    def headers(self) -> dict[str, str]:
        challenge = 'Bearer realm="litro"'
        return {"WWW-Authenticate": f'{challenge}, error="{self.reason}"' if self.reason else challenge}


class Forbidden(AgentError):
    """This caller may not do this."""

    status = 403


class NotFound(AgentError):
    """There is no such thing, or none that this caller may see."""

    status = 404


class SessionBusy(AgentError):
    """A turn is running in this session."""

    status = 409

    def __init__(self, turn_id: str | None) -> None:
        super().__init__("a turn is running in this session" + (f": {turn_id}" if turn_id else ""))
        self.turn_id = turn_id

    @property
    def headers(self) -> dict[str, str]:
        return {"Litro-Turn": self.turn_id} if self.turn_id else {}


class BodyTooLarge(AgentError):
    """The body has more bytes than it may have."""

    status = 413


class UnsupportedMediaType(AgentError):
    """The body is not what the route reads."""

    status = 415


class Overloaded(AgentError):
    """A cap is reached; ``retry_after`` is in seconds."""

    status = 503

    def __init__(self, message: str, *, retry_after: int = 5) -> None:
        super().__init__(message)
        self.retry_after = retry_after

    @property
    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(self.retry_after)}


class ProposalClosed(AgentError):
    """The proposal expired, was handled, or is not what the form showed."""

    status = 409


class LedgerAway(AgentError):
    """The ledger's database did not do it, or nobody can say whether it did."""

    status = 503
