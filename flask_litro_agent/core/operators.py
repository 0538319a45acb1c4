"""Who may decide: somebody signed in, with the permission to approve and the one that the tool needs."""

from __future__ import annotations

import re
from typing import Final

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.ledger import Ledger
from flask_litro_agent.core.proposals import Proposal, is_proposal_id
from flask_litro_agent.core.verdicts import permission_facts
from flask_litro_agent.core.wiring import Wiring
from flask_litro_agent.errors import BadRequest, Forbidden, NotFound

__all__ = ["APPROVE", "Operators", "checked_note"]

APPROVE: Final = "litro:approve"
_LONGEST_NOTE: Final = 2000
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


class Operators:
    """Finds proposals for those who may decide on them.

    Two sets of permissions count, and the smaller one wins: the request's, and the one that the site's loader
    knows at this moment, so that a role that was taken away meanwhile is gone.
    """

    def __init__(self, wiring: Wiring, ledger: Ledger) -> None:
        self._wiring = wiring
        self._ledger = ledger

    def proposal_for(self, proposal_id: str, operator: object) -> Proposal:
        """Return the proposal; Forbidden when this operator may not decide on it, NotFound when there is none."""
        actors = self.deciders(operator)
        proposal = self._found(proposal_id)
        if not all(actor.may(proposal.permission) for actor in actors):
            raise Forbidden(f"to decide on this you need the permission {proposal.permission!r} yourself")
        return proposal

    def proposal_of(self, proposal_id: str, actor: object) -> Proposal:
        """Return the proposal for its owner, its proposer or an operator; NotFound for anybody else."""
        if type(actor) is not Actor:
            raise Forbidden("sign in first")
        proposal = self._found(proposal_id)
        if actor.id in (proposal.owner, proposal.heir, proposal.proposer):
            return proposal
        try:
            self.deciders(actor)
        except Forbidden:
            raise NotFound("there is no such proposal") from None
        return proposal

    def deciders(self, operator: object) -> tuple[Actor, ...]:
        """Return the operator as the request and as the site knows him; Forbidden unless both may approve."""
        if type(operator) is not Actor:  # a subclass could answer `may` in its own way
            raise Forbidden("sign in to decide")
        now = self._wiring.actor_loader(operator.id)
        if now is None or not (self._may_approve(operator) and self._may_approve(now)):
            raise Forbidden(f"to decide you need the permission {APPROVE!r}")
        return operator, now

    def _may_approve(self, actor: Actor) -> bool:
        facts = permission_facts(APPROVE)
        return actor.may(APPROVE) and self._wiring.verdicts.decide(actor, facts, None) == "allow"

    def _found(self, proposal_id: object) -> Proposal:
        proposal = self._ledger.get(str(proposal_id)) if is_proposal_id(proposal_id) else None
        if proposal is None:
            raise NotFound("there is no such proposal")
        return proposal


def checked_note(note: object) -> str | None:
    """Return an operator's note as it can be kept, None for an empty one; BadRequest when it cannot be."""
    if note is None:
        return None
    if not isinstance(note, str) or len(note) > _LONGEST_NOTE or _UNSTORABLE.search(note):
        raise BadRequest(f"a note is a text of at most {_LONGEST_NOTE} characters")
    return note.strip() or None
