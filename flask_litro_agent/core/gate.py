"""The one gate: every call of a tool, from wherever it comes, is decided and run here.

The order never changes: the exact name among the agent's tools at or below the ceiling, else ``unknown_tool``; the
actor's permission, by every policy, else ``forbidden``; the arguments by the schema, else ``invalid_input``; then a
tool that reads is run, under its caps, and a tool that changes something becomes a proposal. Chat, code, terminal
and tests differ only in ``origin``. What a proposal asks for runs by ``approve`` alone, which one view calls.
"""

from __future__ import annotations

import copy
import inspect
import logging
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from flask_litro_agent import schemas
from flask_litro_agent.contracts import Actor, Policy, Stop
from flask_litro_agent.core import execution, output, refusals
from flask_litro_agent.core.approval import HANDLED, Approval
from flask_litro_agent.core.audit import Audit
from flask_litro_agent.core.ceiling import LevelSource
from flask_litro_agent.core.freshness import Freshness
from flask_litro_agent.core.hindrances import Hindrance, Hindrances
from flask_litro_agent.core.ledger import Ledger
from flask_litro_agent.core.operators import Operators, checked_note
from flask_litro_agent.core.outcome import CallSite, NeedsApproval, Outcome, Ran, Refused
from flask_litro_agent.core.proposals import Proposal
from flask_litro_agent.core.proposing import propose
from flask_litro_agent.core.second_thoughts import reconciled, repetition, reversal
from flask_litro_agent.core.verdicts import Verdicts, copied, permission_facts
from flask_litro_agent.core.wiring import Wiring
from flask_litro_agent.core.write_rules import write_tool_faults, writes
from flask_litro_agent.errors import (
    AgentError,
    ConfigurationError,
    Forbidden,
    InvalidArguments,
    NotFound,
    ProposalClosed,
)
from flask_litro_agent.settings import Limits
from flask_litro_agent.tools import Mode, Tool, ToolContext, UIResult

__all__ = ["AgentGate", "CallSite", "Gate", "NeedsApproval", "Outcome", "Ran", "Refused"]

logger = logging.getLogger(__name__)

_PROGRESS_LIMIT = 16 * 1024
_MOST_PROGRESS = 1000
_NAME_LIMIT = 256
_DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class _Call:
    """Who calls what, from where."""

    agent: str
    name: str
    actor: Actor
    origin: str
    site: CallSite


@dataclass(frozen=True, slots=True)
class _Allowed:
    """A tool that reads, and what it runs with."""

    tool: Tool
    arguments: dict[str, Any]


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
        ledger: Ledger | None = None,
        ceiling: LevelSource | None = None,
        audit: Audit | None = None,
        actor_loader: Callable[[str], Actor | None] | None = None,
        protected: Sequence[str] | None = None,
        four_eyes: Sequence[str] = (),
        max_ttl: int = _DAY,
        approval_freshness: int | None = None,
        policy_seconds: float = 5.0,
    ) -> None:
        """Take each agent's tools and limits; ConfigurationError has every tool that must not be there.

        ``around`` gives the context in which a tool's function runs, ``deciding`` the one for policies, schemas and
        the database. ``ledger``, ``audit`` and ``actor_loader`` may be missing where no tool changes anything;
        ``protected`` is None when the site has not said it. ``max_ttl`` and ``approval_freshness`` are in seconds, as
        is ``policy_seconds``, which all policies have together to answer one question.
        """
        faults = list(write_tool_faults(tools, protected=protected, has_loader=actor_loader is not None))
        if writes(tools) and ledger is None:
            faults.append("a tool changes something, and there is no ledger")
        if faults:
            raise ConfigurationError(faults)
        self._wiring = Wiring(
            tools=MappingProxyType({agent: MappingProxyType(dict(there)) for agent, there in tools.items()}),
            limits=limits,
            verdicts=Verdicts(tuple(policies), execution.KeptThreads(), deciding, policy_seconds),
            around=around,
            deciding=deciding,
            execute=execute,
            ledger=ledger,
            ceiling=ceiling,
            audit=audit,
            actor_loader=actor_loader or _nobody,
            protected=tuple(protected or ()),
            four_eyes=tuple(four_eyes),
            max_ttl=max_ttl,
            freshness=Freshness(approval_freshness),
        )
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
        """Decide the call; run the tool, or record what it would change. Nothing of all that is raised."""
        call = _Call(agent, name, actor, origin, site or CallSite())
        try:
            with self._wiring.deciding():
                decided = self._decide(call, raw_arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a schema's sys.exit() must not end the caller's turn
            return refusals.failure(name, error, debug=self._debug)
        return self._run(call, decided) if isinstance(decided, _Allowed) else decided

    def allows(self, agent: str, name: str, *, actor: Actor) -> bool:
        """Whether this actor may call the tool at all, before its arguments are known.

        Overloaded when there is no thread to ask the policies in.
        """
        with self._wiring.deciding():
            tool = self._visible(agent).get(name)
            return tool is not None and self._wiring.verdicts.decide(actor, tool.facts, None) == "allow"

    def admits(self, actor: Actor, permission: str) -> bool:
        """Whether this person holds a permission that is no tool's: by the site's loader of now and every policy."""
        facts = permission_facts(permission)
        with self._wiring.checking():
            found = [actor]
            if self._wiring.actor_loader is not _nobody:
                found.append(self._wiring.actor_loader(actor.id))  # type: ignore[arg-type]  # None is denied
            return all(self._wiring.verdicts.decide(each, facts, None) == "allow" for each in found)

    def tools(self, agent: str) -> Mapping[str, Tool]:
        """Return the tools that the agent's model is shown now: those at or below the ceiling."""
        with self._wiring.deciding():
            return self._visible(agent)

    def within(self, execute: execution.Executor) -> Gate:
        """Return the same gate with another way to run the work that it has let through."""
        gate = copy.copy(self)
        verdicts = replace(self._wiring.verdicts, execute=execute)
        gate._wiring = replace(self._wiring, execute=execute, verdicts=verdicts)
        return gate

    def proposal(self, proposal_id: str, actor: Actor) -> Proposal:
        """Return the proposal for its owner, its proposer or an operator; NotFound for anybody else."""
        with self._wiring.checking():
            return Operators(self._wiring, self._ledger()).proposal_of(proposal_id, actor)

    def check_freshness(self, authenticated_at: float | None) -> None:
        """Raise SignInNeeded when whoever asks has proved who he is too long ago to allow the agents more."""
        self._wiring.freshness.check(authenticated_at)

    def hindrances(
        self, proposals: Sequence[Proposal], operator: Actor, *, authenticated_at: float | None = None
    ) -> list[Hindrance | None]:
        """Say of each proposal why this operator may not approve it; None when nothing about him is in the way."""
        with self._wiring.checking():
            hindrances = Hindrances(self._wiring, self._ledger(), operator, authenticated_at)
            return [hindrances.of(proposal) for proposal in proposals]

    def approve(
        self, proposal_id: str, digest: str, operator: Actor, *, authenticated_at: float | None = None
    ) -> Proposal:
        """Check everything anew, run the proposal at most once, and return its row as it stands then.

        ``digest`` is what the operator's page showed, ``authenticated_at`` when he last proved who he is (seconds
        since the epoch). NotFound: there is no such proposal. Forbidden: this operator may not; the proposal stays
        open. SignInNeeded: he must prove anew who he is; it stays open. ProposalClosed: it expired, was handled, or
        is void from now on, as the message says. LedgerAway: the database did not do it, or nobody can say whether
        it did.
        """
        try:
            return Approval(self._wiring, self._ledger(), self._enter).carry_out(
                proposal_id, digest, operator, authenticated_at
            )
        except Forbidden:
            with self._wiring.deciding():
                self._wiring.note("", str(proposal_id), "forbidden", actor=operator, origin="approval")
            raise

    def dismiss(self, proposal_id: str, digest: str, operator: Actor, note: str | None = None) -> Proposal:
        """Say no: the proposal never runs. What is raised is as for ``approve``; BadRequest for the note."""
        kept = checked_note(note)
        ledger = self._ledger()
        with self._wiring.checking():
            Operators(self._wiring, ledger).proposal_for(proposal_id, operator)
        with self._wiring.deciding():
            dismissed = ledger.dismiss(proposal_id, digest, operator_id=operator.id, note=kept)
        if dismissed is None:
            raise ProposalClosed(HANDLED)
        return dismissed

    def answer(
        self, proposal_id: str, operator: Actor, *, happened: bool, note: str | None = None
    ) -> Proposal:
        """Take an operator's word for how an unknown proposal ended; ProposalClosed when it is not unknown."""
        kept = checked_note(note)
        ledger = self._ledger()
        with self._wiring.checking():
            Operators(self._wiring, ledger).proposal_for(proposal_id, operator)
        with self._wiring.deciding():
            answered = ledger.answer(proposal_id, happened=happened, operator_id=operator.id, note=kept)
        if answered is None:
            raise ProposalClosed("The outcome of this proposal is not unknown")
        return answered

    def reconcile(self, proposal_id: str, operator: Actor) -> Proposal:
        """Ask the tool's ``reconcile`` how an unknown proposal ended; it stays unknown when that cannot say either."""
        with self._wiring.checking():
            return reconciled(self._wiring, self._ledger(), proposal_id, operator)

    def repeat(self, proposal_id: str, actor: Actor, *, origin: str = "repeat") -> Outcome:
        """Propose an expired, dismissed or unknown proposal again: a new row that waits for its own decision.

        It is the actor's proposal, in the same session. NotFound and ProposalClosed are raised; the rest is ``call``.
        """
        with self._wiring.checking():
            again = repetition(self._wiring, self._ledger(), proposal_id, actor)
        return self.call(
            again.agent, again.tool, again.arguments, actor=actor, origin=origin, site=again.site
        )

    def reverse(self, proposal_id: str, actor: Actor, *, origin: str = "reverse") -> Outcome:
        """Propose what takes an executed proposal back, by its tool's ``inverse``; otherwise as ``repeat``."""
        try:
            with self._wiring.deciding():
                back = reversal(self._wiring, self._ledger(), proposal_id, actor)
        except (AgentError, KeyboardInterrupt):
            raise
        except BaseException as error:
            return refusals.failure("the inverse", error, debug=self._debug)
        return self.call(back.agent, back.tool, back.arguments, actor=actor, origin=origin, site=back.site)

    def _decide(self, call: _Call, raw_arguments: object) -> _Allowed | Refused | NeedsApproval:
        """Return the tool and the arguments that it may run with, or how the call ended here."""
        there = self._visible(call.agent)
        tool = there.get(call.name)
        if tool is None:
            self._note(call, "unknown_tool")
            return refusals.unknown_tool(call.agent, call.name, there, call.origin)
        if not self._allowed(call, tool, None):
            return refusals.forbidden(tool, call.origin)
        try:
            canonical = _read(tool, raw_arguments)
        except InvalidArguments as error:
            return refusals.invalid(error)
        if not self._allowed(call, tool, canonical.arguments):
            return refusals.forbidden(tool, call.origin)
        return (
            _Allowed(tool, canonical.arguments)
            if tool.mode is Mode.READ
            else self._propose(call, tool, canonical)
        )

    def _propose(self, call: _Call, tool: Tool, canonical: schemas.Canonical) -> Refused | NeedsApproval:
        outcome = propose(
            self._wiring, self._ledger(), call.agent, tool, canonical, actor=call.actor, site=call.site
        )
        if isinstance(outcome, Refused):
            self._note(call, outcome.code)
        return outcome

    def _visible(self, agent: str) -> Mapping[str, Tool]:
        there = self._wiring.tools.get(agent, {})
        levels = self._wiring.levels()
        barred = {
            name
            for name, tool in there.items()
            if self._wiring.refusal_reason(agent, tool, levels) is not None
        }
        return {name: tool for name, tool in there.items() if name not in barred}

    def _allowed(self, call: _Call, tool: Tool, arguments: dict[str, Any] | None) -> bool:
        decision = self._wiring.verdicts.decide(call.actor, tool.facts, arguments)
        if decision != "allow":
            self._note(call, "policy_error" if decision == "broken" else "forbidden")
        return decision == "allow"

    def _note(self, call: _Call, code: str) -> None:
        self._wiring.note(
            call.agent, call.name, code, actor=call.actor, origin=call.origin, session=call.site.session_id
        )

    def _ledger(self) -> Ledger:
        if self._wiring.ledger is None:
            raise NotFound("there is no such proposal")
        return self._wiring.ledger

    def _enter(self, tool: Tool, arguments: dict[str, Any], context: ToolContext) -> Any:
        """Call the tool's function: the one place that does."""
        value = tool.function(arguments, context)
        return _drain(value, context) if inspect.isgenerator(value) else value

    def _run(self, call: _Call, allowed: _Allowed) -> Ran | Refused:
        site, limits, abandoned = call.site, self._wiring.limits[call.agent], Stop()
        context = ToolContext(
            actor=copied(call.actor),
            agent=call.agent,
            session_id=site.session_id,
            turn_id=site.turn_id,
            call_id=site.call_id,
            stop=abandoned,
        )
        work = self._work(allowed, context, limits.max_output)
        seconds = min(limits.tool_seconds, site.seconds)
        began = time.monotonic()
        try:
            run = self._wiring.execute(work, seconds, site.stop, site.progress)
        finally:
            abandoned.set(wait=False)
        return self._outcome(allowed.tool, run, waited=time.monotonic() - began)

    def _work(self, allowed: _Allowed, context: ToolContext, limit: int) -> execution.Work:
        def work(report: Callable[[Any], None]) -> Ran:
            shown = replace(context, report=_Progress(report))
            with self._wiring.around(shown):
                return _ran(self._enter(allowed.tool, allowed.arguments, shown), limit)

        return work

    def _outcome(self, tool: Tool, run: execution.Run, *, waited: float) -> Ran | Refused:
        match run:
            case execution.Finished(Ran() as ran):
                return ran
            case execution.Raised(error):
                return refusals.failure(tool.name, error, debug=self._debug)
            case execution.NotStarted():
                return Refused("failed", f"{tool.name} was not run: no thread is left here; try again later")
            case execution.Left():
                return Refused("failed", f"{tool.name} was left behind: the turn was stopped")
            case _:
                return Refused("timeout", f"{tool.name} did not answer within {waited:.3g} seconds")


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


def _read(tool: Tool, raw_arguments: object) -> schemas.Canonical:
    """Return what the tool is called with; a tool that only reads needs no written form."""
    if tool.mode is Mode.READ:
        return schemas.Canonical(b"", schemas.load_arguments(tool.params, raw_arguments))
    return schemas.canonicalise(tool.params, raw_arguments)


def _nobody(actor_id: str) -> Actor | None:
    """There is no loader, and nothing that would need one."""
    return None
