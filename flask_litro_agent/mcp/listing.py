"""The tools as a client lists them: always in the same order, a page at a time, with what the schema room writes.

A field with ``metadata={"mcp_header": "Region"}`` is told in the header ``Mcp-Param-Region`` too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from marshmallow import fields

from flask_litro_agent.core.proposals import sha256_of
from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.mcp.messages import INVALID_PARAMS, ProtocolError
from flask_litro_agent.schemas import json_schema
from flask_litro_agent.tools import Mode, Tool

__all__ = ["PAGE", "described", "header_tokens", "page"]

#: Most tools of one page.
PAGE: Final = 50

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_TOKEN: Final = re.compile(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*")  # servers drop or mix up any other
_PLAIN: Final = ("string", "integer", "boolean")


def described(tool: Tool) -> dict[str, Any]:
    """Return the tool as a client sees it; ConfigurationError when its schema or a header of it cannot stand."""
    described: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": _input_schema(tool),
        "annotations": _annotations(tool),
    }
    return described


def page(
    agent: str, there: Mapping[str, Tool], visible: Mapping[str, Tool], cursor: object
) -> tuple[list[Tool], str | None]:
    """Return the visible tools behind the cursor, at most PAGE, and the cursor of the next page.

    A cursor stands for a name in ``there``, the agent's tools whatever the ceiling; ProtocolError for any other.
    """
    begin = "" if cursor is None else _place(agent, there, cursor)
    rest = [visible[name] for name in sorted(visible) if name > begin]
    shown = rest[:PAGE]
    return shown, _cursor(agent, shown[-1].name) if len(rest) > PAGE else None


def header_tokens(tool: Tool) -> dict[str, str]:
    """Return the ends of the names of the headers that repeat arguments, by argument."""
    return {name: str(token) for name, token in _marked(tool)}


def _cursor(agent: str, name: str) -> str:
    return sha256_of(["cursor", agent, name])


def _place(agent: str, there: Mapping[str, Tool], cursor: object) -> str:
    for name in there:
        if _cursor(agent, name) == cursor:
            return name
    raise ProtocolError(INVALID_PARAMS, "there is no such cursor: begin again without one")


def _input_schema(tool: Tool) -> dict[str, Any]:
    document = json_schema(tool.params).document
    tokens = header_tokens(tool)
    if faults := list(_faults(tool, document)):
        raise ConfigurationError(faults)
    properties = {
        name: {**part, "x-mcp-header": tokens[name]} if name in tokens else part
        for name, part in document.get("properties", {}).items()
    }
    return {"$schema": _DIALECT, **document, **({"properties": properties} if properties else {})}


def _annotations(tool: Tool) -> dict[str, Any]:
    """Hints, by the mode: what a call may lead to once an operator has approved it counts too."""
    if tool.mode is Mode.READ:
        return {"readOnlyHint": True}
    return {"readOnlyHint": False, "destructiveHint": True}


def _marked(tool: Tool) -> Iterator[tuple[str, object]]:
    for attribute, field in tool.params.load_fields.items():
        if "mcp_header" in field.metadata:
            yield _name(attribute, field), field.metadata["mcp_header"]


def _name(attribute: str, field: fields.Field[Any]) -> str:
    return attribute if field.data_key is None else field.data_key


def _faults(tool: Tool, document: Mapping[str, Any]) -> Iterator[str]:
    seen: set[str] = set()
    for name, token in _marked(tool):
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            yield f"{name}: mcp_header must be the end of a header's name, such as 'Region', not {token!r}"
            continue
        if document["properties"][name].get("type") not in _PLAIN:
            yield f"{name}: mcp_header may stand on a text, a whole number or a truth value that may not be null"
        if token.lower() in seen:
            yield f"{name}: another field has the mcp_header {token!r} already"
        seen.add(token.lower())
