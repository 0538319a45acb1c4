"""What a person can still do about a proposal that is over: propose it again, propose its reverse, ask how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask_litro_agent import schemas
from flask_litro_agent.contracts import Actor, Stop
from flask_litro_agent.core.ledger import Ledger
from flask_litro_agent.core.operators import Operators
from flask_litro_agent.core.outcome import CallSite, Relation
from flask_litro_agent.core.proposals import Proposal, State
from flask_litro_agent.core.verdicts import copied
from flask_litro_agent.core.wiring import Wiring
from flask_litro_agent.errors import InvalidArguments, ProposalClosed
from flask_litro_agent.tools import Mode, Tool, ToolContext

__all__ = ["NewCall", "anew", "reconciled", "repetition", "reversal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCall:
    """A call that a person makes of an old proposal; it passes the gate like any other."""

    agent: str
    tool: str
    arguments: Mapping[str, Any]
    site: CallSite


def anew(proposal: Proposal, tool: Tool | None) -> Relation | None:
    """Return how it can be proposed anew: the same again, or its reverse; None when neither can be.

    ``tool`` is what its agent has by this name now.
    """
    if tool is None or tool.mode is Mode.READ:
        return None
    if proposal.is_repeatable:
        return "again"
    return "reverse" if proposal.was_done and tool.inverse is not None else None


def repetition(wiring: Wiring, ledger: Ledger, proposal_id: str, actor: Actor) -> NewCall:
    """Return the same call; NotFound for a stranger, ProposalClosed when there is nothing to propose again."""
    proposal = Operators(wiring, ledger).proposal_of(proposal_id, actor)
    if not proposal.is_repeatable:
        raise ProposalClosed("Only an expired, a dismissed or an unknown proposal can be proposed again")
    _write_tool(wiring, proposal.agent, proposal.tool)
    return _new_call(proposal, proposal.tool, proposal.input, "again")


def reversal(wiring: Wiring, ledger: Ledger, proposal_id: str, actor: Actor) -> NewCall:
    """Return the call that takes it back; ProposalClosed when there is none. Raise what the tool's inverse raises."""
    proposal = Operators(wiring, ledger).proposal_of(proposal_id, actor)
    if not proposal.was_done:
        raise ProposalClosed("Only what was done can be taken back")
    tool = _write_tool(wiring, proposal.agent, proposal.tool)
    named = tool.inverse and _inverse(wiring, tool, proposal, actor)
    if not named:
        raise ProposalClosed("This cannot be undone")
    name, arguments = named
    _write_tool(wiring, proposal.agent, name)
    return _new_call(proposal, name, arguments, "reverse")


def reconciled(wiring: Wiring, ledger: Ledger, proposal_id: str, operator: Actor) -> Proposal:
    """Return the proposal, settled if the other side knew; ProposalClosed when it is not unknown or cannot be asked."""
    proposal = Operators(wiring, ledger).proposal_for(proposal_id, operator)
    if proposal.state is not State.UNKNOWN:
        raise ProposalClosed("The outcome of this proposal is not unknown")
    ask = _write_tool(wiring, proposal.agent, proposal.tool).reconcile
    if ask is None:
        raise ProposalClosed("The other side cannot be asked: answer it yourself")
    happened = _aside(wiring, proposal, operator, lambda context: ask(proposal.idempotency_key))
    if happened is None:
        return proposal
    if not isinstance(happened, bool):
        raise TypeError(f"reconcile of {proposal.tool} must return True, False or None")
    answered = ledger.answer(
        proposal.id, happened=happened, operator_id=operator.id, note=None, truth="reconcile"
    )
    if answered is None:
        raise ProposalClosed("The outcome of this proposal is not unknown")
    return answered


def _write_tool(wiring: Wiring, agent: str, name: str) -> Tool:
    tool = wiring.tools.get(agent, {}).get(name)
    if tool is None or tool.mode is Mode.READ:
        raise ProposalClosed("The agent no longer has the tool for this")
    return tool


def _inverse(wiring: Wiring, tool: Tool, proposal: Proposal, actor: Actor) -> Any:
    inverse = tool.inverse
    if inverse is None:
        return None
    try:
        arguments = schemas.load_arguments(tool.params, proposal.input)
    except InvalidArguments:
        raise ProposalClosed("Its arguments no longer read as they are written") from None
    return _aside(wiring, proposal, actor, lambda context: inverse(arguments, proposal.result))


def _new_call(proposal: Proposal, tool: str, arguments: Mapping[str, Any], relation: Relation) -> NewCall:
    home = proposal.home  # a deleted session has no chat for a card, and nobody there would hear how it ends
    owner = proposal.owner if home is None else home.owner
    session = None if home is None else home.session
    site = CallSite(session_id=session, owner=owner, made_from=proposal.id, relation=relation)
    return NewCall(agent=proposal.agent, tool=tool, arguments=arguments, site=site)


def _aside(wiring: Wiring, proposal: Proposal, actor: Actor, work: Any) -> Any:
    context = ToolContext(
        actor=copied(actor),
        agent=proposal.agent,
        session_id=proposal.session,
        proposal_id=proposal.id,
        idempotency_key=proposal.idempotency_key,
    )
    return wiring.aside(work, context, wiring.limits[proposal.agent].tool_seconds, Stop())
