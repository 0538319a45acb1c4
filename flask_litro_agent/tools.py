"""Tools: what a site's developer declares, and what a tool's function is handed.

Permission, mode, description and parameters are always said; leaving one out raises while the file is loaded.
A tool is a value: only the gate (``core/gate.py``) calls its function.
"""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, final

from marshmallow import Schema

from flask_litro_agent.contracts import Actor, Stop, ToolFacts
from flask_litro_agent.errors import ConfigurationError

__all__ = [
    "NAME",
    "PUBLIC",
    "Mode",
    "Tool",
    "ToolContext",
    "ToolFunction",
    "ToolKit",
    "UIResult",
    "tool",
    "ui",
]

NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
Shows = Literal["result", "call", "nothing"]


class Mode(enum.IntEnum):
    """What a call may do, from least to most: look, ask for a change, ask for a change that may be direct."""

    READ = 1
    PROPOSE = 2
    EXECUTE = 3


_MODE_NAMES: Final[dict[Mode, Literal["read", "propose", "execute"]]] = {
    Mode.READ: "read",
    Mode.PROPOSE: "propose",
    Mode.EXECUTE: "execute",
}


@final
class _Public:
    """The permission that everybody holds; only a read tool may ask for it."""

    def __repr__(self) -> str:
        return "PUBLIC"


PUBLIC: Final = _Public()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a tool knows beside its arguments. There is no request: the turn may outlive it."""

    actor: Actor
    agent: str
    session_id: str | None = None
    turn_id: str | None = None
    call_id: str | None = None
    report: Callable[[Any], None] = field(default=lambda value: None, repr=False)
    stop: Stop = field(default_factory=Stop, repr=False)

    def progress(self, value: Any) -> None:
        """Show a JSON value while the tool runs (a ``tool-progress`` event); the model does not see it."""
        self.report(value)

    @property
    def stopped(self) -> bool:
        """Whether nobody waits for the result any more: return soon."""
        return self.stop.is_set


ToolFunction = Callable[[dict[str, Any], ToolContext], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool; made by ``@tool``. ``source`` is ``file:line`` for messages."""

    name: str
    description: str
    permission: str | _Public
    mode: Mode
    params: Schema
    function: ToolFunction = field(repr=False)
    shows: Shows = "result"
    source: str = ""

    @property
    def facts(self) -> ToolFacts:
        """What the tool declares, without its function: for policies and reports."""
        permission = None if isinstance(self.permission, _Public) else self.permission
        mode: Literal["read", "propose", "execute"] = _MODE_NAMES[self.mode]
        return ToolFacts(self.name, self.description, permission, mode)


def tool(
    *,
    description: str,
    permission: str | _Public,
    mode: Mode,
    params: type[Schema] | Schema,
    shows: Shows = "result",
) -> Callable[[ToolFunction], Tool]:
    """Declare the decorated function ``(params, ctx) -> value`` as a tool.

    ``params`` is a marshmallow schema; the function gets what it loads. The function returns a JSON value or a
    ``ui(...)``, or is a generator: each ``yield`` is progress, its return value the result. ``shows`` is what a
    person's browser gets beside what the model gets. Raise ConfigurationError for a declaration that cannot stand.
    """

    def declare(function: ToolFunction) -> Tool:
        source = _source(function)
        faults = list(_faults(function, description, permission, mode, params, shows))
        if faults:
            raise ConfigurationError(f"{source}: tool {_name(function)!r}: {fault}" for fault in faults)
        return Tool(
            name=_name(function),
            description=inspect.cleandoc(description),
            permission=permission,
            mode=mode,
            params=params() if isinstance(params, type) else params,
            function=function,
            shows=shows,
            source=source,
        )

    return declare


class ToolKit:
    """A group of tools that several agents share: ``Agent(tools=[*stock, ping])`` or ``Agent(tools=[stock])``."""

    def __init__(self, *tools: Tool) -> None:
        self._tools = list(tools)

    def tool(self, **declaration: Any) -> Callable[[ToolFunction], Tool]:
        """Declare a tool, as ``@tool`` does, and add it to the kit."""

        def add(function: ToolFunction) -> Tool:
            made: Tool = tool(**declaration)(function)
            self._tools.append(made)
            return made

        return add

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools)


@dataclass(frozen=True, slots=True)
class UIResult:
    """A component to show: the model gets ``data``, the page gets the component rendered with ``props``."""

    component: str
    data: Any
    props: Mapping[str, Any]


def ui(component: str, *, data: Any, **props: Any) -> UIResult:
    """Return a component as a tool's result; it must be the result itself, never a part of one."""
    return UIResult(component, data, props)


def _takes_two(function: ToolFunction) -> bool:
    # what counts is what is called: a site's own decorator may add an argument
    signature = inspect.signature(function, follow_wrapped=False)
    try:
        signature.bind(None, None)
    except TypeError:
        return False
    return True


def _name(function: ToolFunction) -> str:
    return str(getattr(function, "__name__", repr(function)))


def _source(function: ToolFunction) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)  # behind a site's own decorators
    return f"{code.co_filename}:{code.co_firstlineno}" if code else "(no file)"


def _faults(
    function: ToolFunction,
    description: object,
    permission: object,
    mode: object,
    params: object,
    shows: object,
) -> Iterator[str]:
    if not NAME.fullmatch(_name(function)):
        yield "the name must match [a-z][a-z0-9_]{0,63}"
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        yield "is 'async def'; tools are synchronous: write 'def'"
    if inspect.isfunction(function) and not _takes_two(function):
        yield f"takes {inspect.signature(function, follow_wrapped=False)}; a tool is called with (params, ctx)"
    if not (isinstance(description, str) and description.strip()):
        yield "description must be a text that tells the model what the tool does"
    if not (
        permission is PUBLIC or (isinstance(permission, str) and permission.strip() and "*" not in permission)
    ):
        yield "permission must be the name of one permission, such as 'orders:read', or PUBLIC"
    if not isinstance(mode, Mode):
        yield f"mode must be Mode.READ, Mode.PROPOSE or Mode.EXECUTE, not {mode!r}"
    elif permission is PUBLIC and mode is not Mode.READ:
        yield "PUBLIC may stand only on a tool with Mode.READ; name a permission"
    if not (isinstance(params, Schema) or (isinstance(params, type) and issubclass(params, Schema))):
        yield "params must be a marshmallow Schema (an empty one for no parameters)"
    elif isinstance(params, Schema) and params.many:
        yield "params must be one object; a Schema with many=True is a list"
    if shows not in ("result", "call", "nothing"):
        yield f"shows must be 'result', 'call' or 'nothing', not {shows!r}"
