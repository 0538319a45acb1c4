"""How a refusal is said: a code, and a sentence that a model may read and that gives nothing away."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Final

from flask_litro_agent.core import output
from flask_litro_agent.core.outcome import Refused
from flask_litro_agent.errors import AgentError, InvalidArguments
from flask_litro_agent.tools import Tool

__all__ = ["failure", "forbidden", "invalid", "unknown_tool"]

logger = logging.getLogger("flask_litro_agent.core.gate")

_MESSAGE_LIMIT: Final = 4 * 1024
_ERRORS_LIMIT: Final = 16 * 1024


def unknown_tool(agent: str, name: str, there: Iterable[str], origin: str) -> Refused:
    """There is no tool of this name, or none that may be used now."""
    logger.info("litro gate: unknown tool %.80r, asked by %s of agent %s", name, origin, agent)
    return Refused(
        "unknown_tool", f"no tool named {str(name)[:80]!r}; there is: {', '.join(there) or 'none'}"
    )


def forbidden(tool: Tool, origin: str) -> Refused:
    """The policies do not allow it."""
    logger.info("litro gate: forbidden tool %s, asked by %s", tool.name, origin)
    return Refused(
        "forbidden",
        f"this person may not use {tool.name}: it needs the permission {str(tool.permission)!r}",
    )


def invalid(error: InvalidArguments) -> Refused:
    """The schema does not take the arguments."""
    return Refused("invalid_input", str(error), _listed(error.errors))


def failure(name: str, error: BaseException, *, debug: bool) -> Refused:
    """Something was raised: its own words if it is an AgentError, else an id that the log has too."""
    match error:
        case output.TooLarge():
            return Refused("too_large", f"the output of {name} is too large: narrow the question")
        case output.NestedComponent():
            return Refused("nested_ui", f"{name}: {error}")
        case AgentError() if (told := _told(error)) is not None:
            return told
    error_id = secrets.token_hex(4)
    logger.error("litro gate: tool %.80r failed, error %s", name, error_id, exc_info=error)
    detail = _detail(error) if debug else ""
    return Refused("failed", f"{name} failed (error {error_id}){detail}")


def _told(error: AgentError) -> Refused | None:
    """Return a tool's own sentence; None when it is none that JSON can say."""
    try:
        message = output.plain(error.message, limit=_MESSAGE_LIMIT)
    except Exception:
        return None
    return Refused("failed", str(message), _listed(error.errors) if error.errors else None)


def _detail(error: BaseException) -> str:
    text = str(error)[:300].encode("utf-8", "replace").decode().replace("\x00", "\ufffd")
    return f": {type(error).__name__}: {text}"


def _listed(errors: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the messages of the fields as plain JSON, as long as they can be listed."""
    try:
        listed: Mapping[str, Any] = output.plain(errors, limit=_ERRORS_LIMIT)
    except Exception:
        return {"_schema": ["There are too many errors to list, or JSON cannot say them."]}
    return listed
