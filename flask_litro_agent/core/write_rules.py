"""What a tool must not be if the app is to start: said for every tool of every agent, whatever the ceiling is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flask_litro_agent.core.protected import is_protected
from flask_litro_agent.schemas import write_schema_faults
from flask_litro_agent.tools import Mode, Tool

__all__ = ["is_protected_execute", "write_tool_faults", "writes"]

_SAY_PROTECTED = (
    "LITRO_PROTECTED_PERMISSIONS must be set, because a tool has Mode.EXECUTE: list the permissions, such as "
    "'payments:*', for which a tool may only propose; an empty list says that there are none"
)
_NO_LOADER = (
    "a tool changes something, so register an actor_loader (or identity=): without it nobody can be checked "
    "again when a proposal is approved"
)


def writes(tools: Mapping[str, Mapping[str, Tool]]) -> bool:
    """Whether any tool of any agent changes something: then there is a ledger."""
    return any(tool.mode is not Mode.READ for there in tools.values() for tool in there.values())


def is_protected_execute(tool: Tool, patterns: Sequence[str]) -> bool:
    """Whether the tool is more than its permission allows."""
    return tool.mode is Mode.EXECUTE and is_protected(str(tool.permission), patterns)


def write_tool_faults(
    tools: Mapping[str, Mapping[str, Tool]], *, protected: Sequence[str] | None, has_loader: bool
) -> Iterator[str]:
    """Yield a sentence for each thing that is wrong; ``protected`` is None when the site has not said it."""
    every = [(agent, tool) for agent, there in tools.items() for tool in there.values()]
    for agent, tool in every:
        place = f"agent {agent}, tool {getattr(tool, 'name', tool)} ({getattr(tool, 'source', '')})"
        yield from (f"{place}: {fault}" for fault in _faults(tool, protected or ()))
    if protected is None and any(tool.mode is Mode.EXECUTE for _, tool in every):
        yield _SAY_PROTECTED
    if not has_loader and writes(tools):
        yield _NO_LOADER


def _faults(tool: Tool, protected: Sequence[str]) -> Iterator[str]:
    if type(tool) is not Tool:  # a subclass could answer by its attributes one way now and another way later
        yield "is no tool as @tool makes it"
    elif type(tool.mode) is not Mode:
        yield "its mode is none of Mode.READ, Mode.PROPOSE and Mode.EXECUTE"
    elif tool.mode is not Mode.READ:
        yield from _write_faults(tool, protected)


def _write_faults(tool: Tool, protected: Sequence[str]) -> Iterator[str]:
    if not isinstance(tool.permission, str):
        yield "PUBLIC may stand only on a tool with Mode.READ; name a permission"
    elif is_protected_execute(tool, protected):
        yield f"the permission {tool.permission!r} is protected: such a tool may be Mode.PROPOSE, not Mode.EXECUTE"
    yield from (f"its params: {fault}" for fault in write_schema_faults(tool.params))
