"""One sentence about a proposal that a form has just decided, read from the ledger as it stands now.

The way back from a form names the proposal and nothing else, so a reload or a forged link says what is true.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.proposals import Proposal, State
from flask_litro_agent.errors import AgentError
from flask_litro_agent.installation import Installation
from flask_litro_agent.web.admin.people import People
from flask_litro_agent.web.admin.states import standing_of
from flask_litro_agent.web.admin.words import mark, say

__all__ = ["Decided", "decided_one"]

_WAITS: Final = mark("It waits for a decision.")
_PROPOSED: Final = {
    "again": mark("Proposed again: it waits for a decision of its own."),
    "reverse": mark("Its reverse is proposed: it waits for a decision of its own."),
}


class Decided(NamedTuple):
    """``tone`` is that of the state."""

    proposal: Proposal
    tone: str
    text: str
    by: str | None


def decided_one(
    installed: Installation, proposal_id: str | None, actor: Actor, people: People
) -> Decided | None:
    """Return what is to say about the proposal; None when this person cannot see such a one."""
    if proposal_id is None:
        return None
    try:
        proposal = installed.gate.proposal(proposal_id, actor)
    except AgentError:
        return None
    by = people.name(proposal.decided_by) if proposal.decided_by else None
    tone, text = standing_of(proposal)
    if proposal.state is State.PROPOSED:
        text = say(_PROPOSED.get(proposal.relation or "", _WAITS))
    return Decided(proposal, tone, text, by)
