"""An approval: every check anew, then the claim, then the one run, then how it ended.

    the operator ─► the row ─► the tool ─► the proposer ─► the bytes ─► the policies ─► claim ─► start ─► run ─► settle

A check that fails about the proposal makes it void, with the reason; one about the operator leaves it open. What
cannot be proven to have done nothing is unknown and is never tried again.
"""

from __future__ import annotations

import copy
import json
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

from flask_litro_agent import schemas
from flask_litro_agent.contracts import Actor, Stop
from flask_litro_agent.core import execution, output
from flask_litro_agent.core.ledger import Claim, EpochMoved, Ledger
from flask_litro_agent.core.operators import Operators
from flask_litro_agent.core.outcome import CallSite
from flask_litro_agent.core.proposals import Proposal, State, digest_of
from flask_litro_agent.core.proposing import as_of_now, asks_four_eyes
from flask_litro_agent.core.protected import is_protected
from flask_litro_agent.core.verdicts import copied
from flask_litro_agent.core.wiring import Wiring
from flask_litro_agent.errors import (
    AgentError,
    Forbidden,
    InvalidArguments,
    LedgerAway,
    NothingDone,
    Overloaded,
    ProposalClosed,
)
from flask_litro_agent.tools import Tool, ToolContext, UIResult, tool_contract

__all__ = ["HANDLED", "VOID_REASONS", "Approval", "Enter", "asks_others"]

logger = logging.getLogger(__name__)

#: Calls a tool's function; the gate's own.
Enter = Callable[[Tool, dict[str, Any], ToolContext], Any]

HANDLED: Final = "This proposal expired or was already handled"
_NOT_SHOWN: Final = "This proposal is not the one that the page showed: load it again"
_NO_THREAD: Final = {"message": "no thread was left to run it in: nothing was done"}
_TRIES: Final = 5
_MESSAGE_LIMIT: Final = 4 * 1024

#: Why a proposal can no longer be approved, in the words of a card.
VOID_REASONS: Final = {
    "tool_gone": "the agent no longer has this tool",
    "contract_changed": "the tool was changed since",
    "ceiling": "the ceiling no longer allows it",
    "protected": "its permission is protected: such a tool may only propose",
    "proposer_unknown": "whoever proposed it is no longer known",
    "proposer_forbidden": "whoever proposed it may no longer do so",
    "arguments_changed": "its arguments no longer read as they are written",
    "as_of_changed": "what it would change has changed since",
    "policy": "a policy does not allow it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    """A proposal that may be claimed as long as the policy's epoch is this one."""

    proposal: Proposal
    tool: Tool
    arguments: dict[str, Any]
    context: ToolContext
    epoch: int


class _Void(Exception):
    """A check about the proposal failed; ``reason`` is a key of VOID_REASONS."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Approval:
    """Approves proposals for one gate."""

    def __init__(self, wiring: Wiring, ledger: Ledger, enter: Enter) -> None:
        self._wiring = wiring
        self._ledger = ledger
        self._enter = enter
        self._operators = Operators(wiring, ledger)

    def carry_out(
        self, proposal_id: str, digest: str, operator: Actor, authenticated_at: float | None = None
    ) -> Proposal:
        """Run the proposal, at most once, and return its row; see ``Gate.approve`` for what is raised."""
        for _ in range(_TRIES):
            with self._wiring.checking():
                checked = self._checked(proposal_id, digest, operator, authenticated_at)
            with self._wiring.deciding():
                try:
                    claim = self._ledger.claim(
                        proposal_id, digest, operator_id=operator.id, epoch=checked.epoch
                    )
                except EpochMoved:
                    continue
            if claim is None:
                raise ProposalClosed(HANDLED)
            return self._run(claim, checked)
        raise Overloaded("the ceiling is being changed: nothing was done, try again")

    def _checked(
        self, proposal_id: str, digest: str, operator: Actor, authenticated_at: float | None
    ) -> _Checked:
        levels = self._wiring.levels()  # first: what is lowered from now on moves the epoch
        proposal = self._operators.proposal_for(proposal_id, operator)
        if proposal.state is not State.PROPOSED:
            raise ProposalClosed(HANDLED)
        if is_protected(proposal.permission, self._wiring.protected):
            self._wiring.freshness.check(authenticated_at)
        try:
            tool = self._tool(proposal)
            if reason := self._wiring.refusal_reason(proposal.agent, tool, levels):
                raise _Void(reason)
            proposer = self._proposer(proposal, tool)
            self._four_eyes(proposal, tool, operator)
            arguments = self._arguments(proposal, tool)
            if digest != proposal.digest:
                raise ProposalClosed(_NOT_SHOWN)
            context = _context(proposal, proposer, operator)
            self._as_of(proposal, tool, copy.deepcopy(arguments), context)
            self._policies(proposal.agent, tool, arguments, proposer, operator)
        except _Void as void:
            self._close(proposal, void.reason, operator)
        return _Checked(
            proposal=proposal, tool=tool, arguments=arguments, context=context, epoch=levels.epoch
        )

    def _tool(self, proposal: Proposal) -> Tool:
        tool = self._wiring.tools.get(proposal.agent, {}).get(proposal.tool)
        if tool is None:
            raise _Void("tool_gone")
        if tool_contract(tool) != proposal.contract_digest:
            raise _Void("contract_changed")
        return tool

    def _proposer(self, proposal: Proposal, tool: Tool) -> Actor:
        proposer = self._wiring.actor_loader(proposal.proposer)
        if proposer is None:
            raise _Void("proposer_unknown")
        if not self._allowed(proposal.agent, proposer, tool, None):
            raise _Void("proposer_forbidden")
        return proposer

    def _four_eyes(self, proposal: Proposal, tool: Tool, operator: Actor) -> None:
        if asks_others(self._wiring, proposal, tool, operator):
            raise Forbidden("this needs four eyes: whoever asked for it may not approve it")

    def _arguments(self, proposal: Proposal, tool: Tool) -> dict[str, Any]:
        """Return what the tool gets, read from the very bytes that the card shows."""
        if digest_of(proposal.id, proposal) != proposal.digest:
            raise _Void("arguments_changed")
        try:
            canonical = schemas.canonicalise(tool.params, json.loads(proposal.arguments))
        except (InvalidArguments, ValueError):
            raise _Void("arguments_changed") from None
        if canonical.data != proposal.arguments:
            raise _Void("arguments_changed")
        return canonical.arguments

    def _as_of(self, proposal: Proposal, tool: Tool, arguments: dict[str, Any], context: ToolContext) -> None:
        try:
            now = as_of_now(self._wiring, tool, arguments, context, self._seconds(proposal), CallSite())
        except Overloaded:
            raise
        except AgentError:  # what it would change is gone
            raise _Void("as_of_changed") from None
        except Exception as error:
            logger.error("litro gate: as_of of %s could not say a version", tool.name, exc_info=error)
            raise AgentError(
                "what this would change could not be compared: nothing was done, try again", status=503
            ) from error
        if now != proposal.as_of:
            raise _Void("as_of_changed")

    def _policies(
        self, agent: str, tool: Tool, arguments: dict[str, Any], proposer: Actor, operator: Actor
    ) -> None:
        if not self._allowed(agent, proposer, tool, arguments):
            raise _Void("policy")
        if not all(self._allowed(agent, operator, tool, known) for known in (None, arguments)):
            raise Forbidden("a policy does not allow you to approve this")

    def _allowed(self, agent: str, actor: Actor, tool: Tool, arguments: dict[str, Any] | None) -> bool:
        decision = self._wiring.verdicts.decide(actor, tool.facts, arguments)
        if decision == "broken":
            self._wiring.note(agent, tool.name, "policy_error", actor=actor, origin="approval")
        return decision == "allow"

    def _close(self, proposal: Proposal, reason: str, operator: Actor) -> NoReturn:
        if not self._ledger.void(proposal.id, reason=reason, by=operator.id):
            raise ProposalClosed(HANDLED)
        raise ProposalClosed(f"This proposal can no longer be approved: {VOID_REASONS[reason]}")

    def _run(self, claim: Claim, checked: _Checked) -> Proposal:
        abandoned = Stop()
        context = replace(checked.context, stop=abandoned)

        def work(report: Callable[[Any], None]) -> Proposal:
            ending = self._entered(claim, checked, replace(context, report=report))
            with self._wiring.deciding():
                return self._settle(claim, checked, ending)

        seconds = self._seconds(checked.proposal)
        try:
            run = self._wiring.execute(work, seconds, Stop(), lambda value: None)
        finally:
            abandoned.set(wait=False)
        match run:
            case execution.Finished(Proposal() as settled):
                return settled
            case execution.NotStarted(error):
                with self._wiring.deciding():
                    return self._settle(claim, checked, _Ending("failed", result=_NO_THREAD, error=error))
            case execution.Raised(error):
                raise _unwritten(error)
        return self._standing(claim)

    def _entered(self, claim: Claim, checked: _Checked, context: ToolContext) -> _Ending:
        """Run the tool; this never raises, whatever the tool, its context or the ledger does."""
        ending = _Ending("failed")
        try:
            with self._wiring.around(context):
                if not self._ledger.start(claim):
                    return _Ending("failed", result={"message": "it was claimed too long ago to be run"})
                ending = _Ending("unknown")
                value = self._enter(checked.tool, checked.arguments, context)
                ending = _returned(value, self._wiring.limits[context.agent].max_output)
        except BaseException as error:  # also SystemExit: the row is spent, and somebody waits
            return _raised(error, ending)
        return ending

    def _settle(self, claim: Claim, checked: _Checked, ending: _Ending) -> Proposal:
        error_id = None
        if ending.error is not None:
            error_id = secrets.token_hex(4)
            name = checked.tool.name
            logger.error(
                "litro gate: %s, proposal %s, error %s",
                name,
                claim.proposal.id,
                error_id,
                exc_info=ending.error,
            )
        match ending.outcome:
            case "ok" | "failed" as outcome:
                return self._ledger.settle(claim, outcome=outcome, result=ending.result, error_id=error_id)
        return self._ledger.lose(claim, error_id=error_id)

    def _standing(self, claim: Claim) -> Proposal:
        with self._wiring.deciding():
            return self._ledger.get(claim.proposal.id) or claim.proposal

    def _seconds(self, proposal: Proposal) -> float:
        return min(proposal.limit_ms / 1000, self._wiring.limits[proposal.agent].tool_seconds)


def asks_others(wiring: Wiring, proposal: Proposal, tool: Tool, operator: Actor) -> bool:
    """Whether it needs four eyes, and these are the two that asked for it."""
    if not (proposal.four_eyes or asks_four_eyes(wiring, tool)):
        return False
    return operator.id in (proposal.proposer, proposal.owner, proposal.heir)


@dataclass(frozen=True, slots=True)
class _Ending:
    """How a run ended: ok, failed (nothing was changed, for sure) or unknown."""

    outcome: str
    result: Any = None
    error: BaseException | None = None
    returned: bool = False


def _returned(value: object, limit: int) -> _Ending:
    """The tool returned, so it is done; a value that cannot be kept does not change that."""
    try:
        data = value.data if isinstance(value, UIResult) else value
        return _Ending("ok", result=output.plain(data, limit=limit), returned=True)
    except Exception as error:
        return _Ending("ok", error=error, returned=True)


def _raised(error: BaseException, before: _Ending) -> _Ending:
    """Judge by how far it had come: what was raised around a tool that had returned undoes nobody knows what."""
    if before.outcome == "failed":
        return _Ending("failed", error=error)
    if isinstance(error, NothingDone) and not before.returned:
        return _Ending("failed", result=_message(error))
    return _Ending("unknown", error=error)


def _message(error: NothingDone) -> Any:
    try:
        text = output.plain(str(error), limit=_MESSAGE_LIMIT)
    except Exception:
        return None
    return {"message": text} if text else None


def _unwritten(error: BaseException) -> AgentError:
    logger.error("litro gate: a run could not be written down", exc_info=error)
    return LedgerAway("the change was started, and the ledger could not write down how it ended")


def _context(proposal: Proposal, proposer: Actor, operator: Actor) -> ToolContext:
    return ToolContext(
        actor=copied(proposer),
        agent=proposal.agent,
        session_id=proposal.session,
        turn_id=proposal.turn,
        call_id=proposal.call_id,
        approver=copied(operator),
        proposal_id=proposal.id,
        idempotency_key=proposal.idempotency_key,
        as_of=None if proposal.as_of is None else json.loads(proposal.as_of),
    )
