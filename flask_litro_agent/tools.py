"""Tools: what a site's developer declares, and what a tool's function is handed.

Permission, mode, description and parameters are always said; leaving one out raises while the file is loaded.
A tool is a value: only the gate (``core/gate.py``) calls its function.
"""

from __future__ import annotations

import enum
import hashlib
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, final

from marshmallow import Schema

from flask_litro_agent.contracts import Actor, Stop, ToolFacts
from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.schemas.shape import shape

__all__ = [
    "DEFAULT_TTL",
    "NAME",
    "PUBLIC",
    "AsOf",
    "Change",
    "Inverse",
    "Labels",
    "Mode",
    "Preview",
    "Reconcile",
    "Tool",
    "ToolContext",
    "ToolFunction",
    "ToolKit",
    "UIResult",
    "tool",
    "tool_contract",
    "ui",
]

NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
#: Seconds that a proposal stays open unless its tool says otherwise.
DEFAULT_TTL: Final = 300
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
    """What a tool knows beside its arguments. There is no request: the turn may outlive it.

    ``actor`` is who asked. A tool that changes something runs once an ``approver`` has said so; then
    ``idempotency_key`` is the same for every look at its proposal, and ``as_of`` is what its ``as_of=`` returned.
    """

    actor: Actor
    agent: str
    session_id: str | None = None
    turn_id: str | None = None
    call_id: str | None = None
    approver: Actor | None = None
    proposal_id: str | None = None
    idempotency_key: str | None = None
    as_of: Any = None
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


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a preview: what is there, and what would be; each a JSON value."""

    label: str
    before: Any
    after: Any


Preview = Callable[[dict[str, Any], ToolContext], "Sequence[Change] | UIResult"]
AsOf = Callable[[dict[str, Any], ToolContext], Any]
Labels = Callable[[dict[str, Any], ToolContext], Mapping[str, str]]
Inverse = Callable[[dict[str, Any], Any], "tuple[str, Mapping[str, Any]] | None"]
Reconcile = Callable[[str], "bool | None"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool; made by ``@tool``. ``source`` is ``file:line`` for messages, ``ttl`` is in seconds."""

    name: str
    description: str
    permission: str | _Public
    mode: Mode
    params: Schema
    function: ToolFunction = field(repr=False)
    shows: Shows = "result"
    source: str = ""
    ttl: int = DEFAULT_TTL
    preview: Preview | None = field(default=None, repr=False)
    four_eyes: bool = False
    as_of: AsOf | None = field(default=None, repr=False)
    inverse: Inverse | None = field(default=None, repr=False)
    reconcile: Reconcile | None = field(default=None, repr=False)
    labels: Labels | None = field(default=None, repr=False)

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
    ttl: int = DEFAULT_TTL,
    preview: Preview | None = None,
    four_eyes: bool = False,
    as_of: AsOf | None = None,
    inverse: Inverse | None = None,
    reconcile: Reconcile | None = None,
    labels: Labels | None = None,
) -> Callable[[ToolFunction], Tool]:
    """Declare the decorated function ``(params, ctx) -> value`` as a tool.

    ``params`` is a marshmallow schema; the function gets what it loads. The function returns a JSON value or a
    ``ui(...)``, or is a generator: each ``yield`` is progress, its return value the result. ``shows`` is what a
    person's browser gets beside what the model gets. Raise ConfigurationError for a declaration that cannot stand.

    The rest is for a tool that changes something. ``ttl``: seconds for which its proposal stays open.
    ``preview(params, ctx)``: a list of ``Change(label, before, after)`` or a ``ui(...)``, computed once.
    ``four_eyes``: who proposed may not approve. ``as_of(params, ctx)``: a version (JSON) of what it will change; a
    proposal whose version has moved is void. ``inverse(params, result)``: the ``(tool name, arguments)`` that take
    it back, or None. ``reconcile(idempotency_key)``: whether it happened, by asking the other side, or None.
    ``labels(params, ctx)``: what the things are called that arguments name by an id, by argument name or by JSON
    pointer; the card shows them beside the ids.
    """

    def declare(function: ToolFunction) -> Tool:
        source = _source(function)
        faults = list(_faults(function, description, permission, mode, params, shows))
        asked = {"preview": preview, "as_of": as_of, "inverse": inverse, "reconcile": reconcile}
        asked |= {"labels": labels}
        faults += _write_faults(mode, ttl, four_eyes, asked)
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
            ttl=ttl,
            preview=preview,
            four_eyes=four_eyes,
            as_of=as_of,
            inverse=inverse,
            reconcile=reconcile,
            labels=labels,
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


def tool_contract(tool: Tool) -> str:
    """Return a digest of what an approval relies on: name, mode, permission, and how arguments are read.

    It is the same in every process that runs the same code, and another one after any change of these.
    """
    facts = tool.facts
    contract = [facts.name, facts.mode, facts.permission, shape(tool.params)]
    return hashlib.sha256(json.dumps(contract, sort_keys=True).encode()).hexdigest()


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
    if permission is not PUBLIC and not _is_one_permission(permission):
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


def _is_one_permission(permission: object) -> bool:
    """Whether it is a name; one with a space around it would slip past the list of the protected ones."""
    if not isinstance(permission, str) or not permission:
        return False
    return permission == permission.strip() and "*" not in permission


def _write_faults(
    mode: object, ttl: object, four_eyes: object, functions: Mapping[str, object]
) -> Iterator[str]:
    if not isinstance(ttl, int) or isinstance(ttl, bool) or ttl < 1:
        yield f"ttl must be a whole number of seconds from 1, not {ttl!r}"
    if not isinstance(four_eyes, bool):
        yield "four_eyes must be True or False"
    for name, function in functions.items():
        if function is not None and not callable(function):
            yield f"{name} must be a function"
        if inspect.iscoroutinefunction(function):
            yield f"{name} is 'async def'; write 'def'"
    if mode is Mode.READ:
        given = {**functions, "four_eyes": four_eyes or None}
        for name in (name for name, value in given.items() if value is not None):
            yield f"{name} is for a tool that changes something, and this one has Mode.READ"
