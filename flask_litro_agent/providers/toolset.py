"""A request's tools as every server accepts them: no name twice, and a schema that says it is an object."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from flask_litro_agent.contracts import ToolSpec

__all__ = ["declared", "object_schema"]


def declared(tools: Iterable[ToolSpec]) -> list[ToolSpec]:
    """Return the tools with their schemas as objects, of those with one name the first."""
    by_name: dict[str, ToolSpec] = {}
    for tool in tools:
        by_name.setdefault(tool.name, tool)
    return [dataclasses.replace(tool, parameters=object_schema(tool.parameters)) for tool in by_name.values()]


def object_schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema that says it is an object with properties, as servers demand."""
    schema = {name: value for name, value in parameters.items() if value is not None}
    schema["type"] = "object"
    if not isinstance(schema.get("properties"), Mapping):
        schema["properties"] = {}
    return schema
