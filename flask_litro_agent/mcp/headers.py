"""The headers that repeat what a request's body says, so that what stands between can route without reading it.

Whoever routes by a header must not be told another thing than the tool: where the two differ, the request is refused.
Names are compared as HTTP does, values exactly, after the spaces around them are taken off (RFC 9110, section 5.5).
A value that HTTP could not carry stands in ``=?base64?...?=``, as UTF-8.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, Final, Protocol

from flask_litro_agent.mcp.messages import HEADER_MISMATCH, ProtocolError

__all__ = ["VERSION", "Told", "check", "check_parameters", "value_of"]

VERSION: Final = "MCP-Protocol-Version"
_PARAMETER: Final = "Mcp-Param-"
_WRAPPED: Final = re.compile(r"=\?base64\?(.*)\?=")
_WHOLE: Final = re.compile(r"(-?[0-9]{1,1000})(?:\.0{1,100})?")


class Told(Protocol):
    """The headers of an HTTP request, whose names have no case."""

    def get(self, name: str, /) -> str | None: ...


def value_of(headers: Told, name: str) -> str | None:
    """Return a header's value as it was meant; None where there is none, and where it cannot be read."""
    written = headers.get(name)
    if written is None:
        return None
    text = written.strip(" \t")
    wrapped = _WRAPPED.fullmatch(text)
    return _unwrapped(wrapped[1]) if wrapped else text


def check(headers: Told, name: str, said: str) -> None:
    """Raise ProtocolError unless the header says what the body does."""
    if value_of(headers, name) != said:
        raise ProtocolError(HEADER_MISMATCH, f"the header {name} must be there and say what the body says")


def check_parameters(headers: Told, tokens: Mapping[str, str], arguments: Mapping[str, Any]) -> None:
    """Raise ProtocolError unless each argument that has a header is told by it, and no other one is.

    ``tokens`` has the end of the header's name, by argument. A null is an argument that is not there.
    """
    for argument, token in tokens.items():
        name, said = f"{_PARAMETER}{token}", arguments.get(argument)
        if said is None and headers.get(name) is None:
            continue
        if said is None or not _agree(value_of(headers, name), said):
            raise ProtocolError(
                HEADER_MISMATCH, f"the header {name} and the argument {argument} must say the same"
            )


def _agree(told: str | None, said: object) -> bool:
    match said:
        case None:
            return False
        case bool():
            return told == ("true" if said else "false")
        case int():
            digits = _WHOLE.fullmatch(told or "")
            return digits is not None and int(digits[1]) == said
    return told == str(said)


def _unwrapped(payload: str) -> str | None:
    """Return the text; None for what no encoder writes: then two readers could take it for two things."""
    try:
        data = base64.b64decode(payload, validate=True)
        text = data.decode()
    except (binascii.Error, ValueError):
        return None
    return text if base64.b64encode(data).decode() == payload else None
