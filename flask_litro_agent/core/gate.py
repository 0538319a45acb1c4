"""The one gate: every call of a tool, from wherever it comes, is decided and run here.

The order never changes: the exact name among the agent's tools, else ``unknown_tool``; the actor's permission, by
every policy, else ``forbidden``; the arguments by the schema, else ``invalid_input``; then the run, under its
caps. Chat, code, terminal and tests differ only in ``origin``.
"""

from __future__ import annotations

import copy
import inspect
import logging
import secrets
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from flask_litro_agent import schemas
from flask_litro_agent.contracts import Actor, Policy, Stop, Verdict
from flask_litro_agent.core import execution, output
from flask_litro_agent.errors import AgentError, ConfigurationError, InvalidArguments
from flask_litro_agent.settings import Limits
from flask_litro_agent.tools import Mode, Tool, ToolContext, UIResult

__all__ = ["AgentGate", "CallSite", "Gate", "Outcome", "Ran", "Refused"]

logger = logging.getLogger(__name__)

_PROGRESS_LIMIT = 16 * 1024
_MOST_PROGRESS = 1000
_NAME_LIMIT = 256
_MESSAGE_LIMIT = 4 * 1024
_ERRORS_LIMIT = 16 * 1024


@dataclass(frozen=True, slots=True)
class Ran:
    """The tool ran: its value as plain JSON, and the component to show when it returned one."""

    value: Any
    component: UIResult | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """The tool gave no value: one of ``events.TOOL_ERROR_CODES``, and a sentence that the model may read."""

    code: str
    message: str
    errors: Mapping[str, Any] | None = None


Outcome = Ran | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSite:
    """Where in a session a call stands, who watches it, and the seconds that its caller has left."""

    session_id: str | None = None
    turn_id: str | None = None
    call_id: str | None = None
    progress: Callable[[Any], None] = field(default=lambda value: None, repr=False)
    stop: Stop = field(default_factory=Stop, repr=False)
    seconds: float = float("inf")


class Gate:
    """Decides every call; fixed once the app has started."""

    def __init__(
        self,
        tools: Mapping[str, Mapping[str, Tool]],
        limits: Mapping[str, Limits],
        policies: Sequence[Policy],
        *,
        around: Callable[[ToolContext], AbstractContextManager[None]],
        deciding: Callable[[], AbstractContextManager[object]] = nullcontext,
        execute: execution.Executor = execution.in_thread,
        debug: bool = False,
    ) -> None:
        """Take each agent's tools and limits.

        ``around`` gives the context in which a tool's function runs, ``deciding`` the one for policies and schemas.
        """
        faults = [_write_fault(agent, tool) for agent in tools for tool in tools[agent].values()]
        if any(faults):
            raise ConfigurationError(fault for fault in faults if fault)
        self._tools = tools
        self._limits = limits
        self._policies = tuple(policies)
        self._around = around
        self._deciding = deciding
        self._execute = execute
        self._debug = debug

    def call(
        self,
        agent: str,
        name: str,
        raw_arguments: object,
        *,
        actor: Actor,
        origin: str,
        site: CallSite | None = None,
    ) -> Outcome:
        """Decide the call and run the tool. Nothing a tool, a policy or a schema does is raised."""
        tool = self._tools.get(agent, {}).get(name)
        if tool is None:
            return self._unknown(agent, name, origin)
        try:
            with self._deciding():
                decided = self._decide(tool, raw_arguments, actor, origin)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a schema's sys.exit() must not end the caller's turn
            return self._failed(tool, error)
        if isinstance(decided, Refused):
            return decided
        return self._run(agent, tool, decided, actor, site or CallSite())

    def allows(self, agent: str, name: str, *, actor: Actor) -> bool:
        """Whether this actor may call the tool at all, before its arguments are known."""
        tool = self._tools.get(agent, {}).get(name)
        if tool is None:
            return False
        with self._deciding():
            return self._allowed(actor, tool, None)

    def tools(self, agent: str) -> Mapping[str, Tool]:
        """Return the tools that the agent's model is shown."""
        return self._tools.get(agent, {})

    def within(self, execute: execution.Executor) -> Gate:
        """Return the same gate with another way to run the work that it has let through."""
        gate = copy.copy(self)
        gate._execute = execute
        return gate

    def _decide(
        self, tool: Tool, raw_arguments: object, actor: Actor, origin: str
    ) -> dict[str, Any] | Refused:
        """Return the arguments that the tool may run with."""
        if not self._allowed(actor, tool, None):
            return _forbidden(tool, origin)
        try:
            arguments = schemas.load_arguments(tool.params, raw_arguments)
        except InvalidArguments as error:
            return Refused("invalid_input", str(error), _listed(error.errors))
        return arguments if self._allowed(actor, tool, arguments) else _forbidden(tool, origin)

    def _unknown(self, agent: str, name: str, origin: str) -> Refused:
        logger.info("litro gate: unknown tool %.80r, asked by %s of agent %s", name, origin, agent)
        there_is = ", ".join(self._tools.get(agent, {})) or "none"
        return Refused("unknown_tool", f"no tool named {str(name)[:80]!r}; there is: {there_is}")

    def _allowed(self, actor: Actor, tool: Tool, arguments: dict[str, Any] | None) -> bool:
        if not issubclass(type(actor), Actor):  # isinstance believes what an object says of its class
            return False
        effects = {_ask(policy, actor, tool, arguments) for policy in self._policies}
        return "allow" in effects and "deny" not in effects

    def _run(
        self, agent: str, tool: Tool, arguments: dict[str, Any], actor: Actor, site: CallSite
    ) -> Outcome:
        limits, abandoned = self._limits[agent], Stop()
        context = ToolContext(
            actor=_copied(actor),
            agent=agent,
            session_id=site.session_id,
            turn_id=site.turn_id,
            call_id=site.call_id,
            stop=abandoned,
        )
        work = self._work(tool, arguments, context, limits.max_output)
        began = time.monotonic()
        try:
            run = self._execute(work, min(limits.tool_seconds, site.seconds), site.stop, site.progress)
        finally:
            abandoned.set(wait=False)
        return self._outcome(tool, run, waited=time.monotonic() - began)

    def _work(
        self, tool: Tool, arguments: dict[str, Any], context: ToolContext, limit: int
    ) -> execution.Work:
        def work(report: Callable[[Any], None]) -> Ran:
            shown = replace(context, report=_Progress(report))
            with self._around(shown):
                value = tool.function(arguments, shown)
                if inspect.isgenerator(value):
                    value = _drain(value, shown)
                return _ran(value, limit)

        return work

    def _outcome(self, tool: Tool, run: execution.Run, *, waited: float) -> Outcome:
        match run:
            case execution.Finished(Ran() as ran):
                return ran
            case execution.Raised(error):
                return self._failed(tool, error)
            case execution.Left():
                return Refused("failed", f"{tool.name} was left behind: the turn was stopped")
            case _:
                return Refused("timeout", f"{tool.name} did not answer within {waited:.3g} seconds")

    def _failed(self, tool: Tool, error: BaseException) -> Refused:
        match error:
            case output.TooLarge():
                return Refused("too_large", f"the output of {tool.name} is too large: narrow the question")
            case output.NestedComponent():
                return Refused("nested_ui", f"{tool.name}: {error}")
            case AgentError() if (told := _told(error)) is not None:
                return told
        error_id = secrets.token_hex(4)
        logger.error("litro gate: tool %s failed, error %s", tool.name, error_id, exc_info=error)
        detail = _detail(error) if self._debug else ""
        return Refused("failed", f"{tool.name} failed (error {error_id}){detail}")


class AgentGate:
    """The gate for one agent, as a site's own code uses it: ``litro.gate("desk")``."""

    def __init__(self, gate: Gate, agent: str) -> None:
        self._gate = gate
        self._agent = agent

    def call(
        self,
        name: str,
        arguments: object,
        *,
        actor: Actor,
        origin: str = "code",
        site: CallSite | None = None,
    ) -> Outcome:
        """Call one of the agent's tools through the gate."""
        return self._gate.call(self._agent, name, arguments, actor=actor, origin=origin, site=site)

    def allows(self, name: str, *, actor: Actor) -> bool:
        """Whether the actor may call the tool: ask it before spending tokens."""
        return self._gate.allows(self._agent, name, actor=actor)


class _Progress:
    """Reports plain JSON, so much and no more."""

    def __init__(self, report: Callable[[Any], None]) -> None:
        self._report = report
        self._left = _MOST_PROGRESS

    def __call__(self, value: Any) -> None:
        self._left -= 1
        if self._left < 0:
            raise output.TooLarge
        self._report(output.plain(value, limit=_PROGRESS_LIMIT))


def _ask(policy: Policy, actor: Actor, tool: Tool, arguments: dict[str, Any] | None) -> str:
    try:
        verdict = policy.decide(_copied(actor), tool.facts, copy.deepcopy(arguments))
    except KeyboardInterrupt:
        raise
    except BaseException:
        logger.exception("litro gate: policy %s raised on %s: denied", type(policy).__name__, tool.name)
        return "deny"
    if type(verdict) is not Verdict or verdict.effect not in ("allow", "deny", "abstain"):
        logger.error("litro gate: policy %s gave no Verdict on %s: denied", type(policy).__name__, tool.name)
        return "deny"
    return verdict.effect


def _copied(actor: Actor) -> Actor:
    """Return the actor for foreign code, which cannot change by it who is asked about next."""
    return replace(actor, data=dict(actor.data))


def _drain(values: Generator[Any, Any, Any], context: ToolContext) -> Any:
    try:
        while True:
            context.progress(next(values))
    except StopIteration as end:
        return end.value
    finally:
        values.close()


def _ran(value: object, limit: int) -> Ran:
    if not isinstance(value, UIResult):
        return Ran(output.plain(value, limit=limit))
    data = output.plain(value.data, limit=limit)
    props = output.plain(value.props, limit=limit)
    component = output.plain(value.component, limit=_NAME_LIMIT)
    return Ran(data, UIResult(component, data, props))


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


def _forbidden(tool: Tool, origin: str) -> Refused:
    logger.info("litro gate: forbidden tool %s, asked by %s", tool.name, origin)
    return Refused(
        "forbidden",
        f"this person may not use {tool.name}: it needs the permission {str(tool.permission)!r}",
    )


def _write_fault(agent: str, tool: Tool) -> str | None:
    if tool.mode is Mode.READ:
        return None
    return (
        f"agent {agent}, tool {tool.name} ({tool.source}): mode {tool.facts.mode} needs the proposal ledger; "
        "the ledger arrives with the next release, until then a tool can only be Mode.READ"
    )
