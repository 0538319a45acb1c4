"""Why one operator may not approve what a page shows him. Pages ask it; whoever approves is checked anew."""

from __future__ import annotations

from typing import Literal

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.approval import asks_others
from flask_litro_agent.core.ledger import Ledger
from flask_litro_agent.core.operators import Operators
from flask_litro_agent.core.proposals import Proposal
from flask_litro_agent.core.protected import is_protected
from flask_litro_agent.core.wiring import Wiring
from flask_litro_agent.errors import Forbidden

__all__ = ["Hindrance", "Hindrances"]

#: ``no_operator``: he decides on nothing; ``permission`` and ``policy``: not on this; ``four_eyes``: he asked for it
#: himself, and may only dismiss it; ``stale``: he has to prove first who he is, and may dismiss it meanwhile.
Hindrance = Literal["no_operator", "permission", "policy", "four_eyes", "stale"]


class Hindrances:
    """Answers for one operator; the site's loader is asked once for all proposals."""

    def __init__(
        self, wiring: Wiring, ledger: Ledger, operator: Actor, authenticated_at: float | None
    ) -> None:
        self._wiring = wiring
        self._operator = operator
        self._is_fresh = wiring.freshness.holds(authenticated_at)
        try:
            self._deciders = Operators(wiring, ledger).deciders(operator)
        except Forbidden:
            self._deciders = ()

    def of(self, proposal: Proposal) -> Hindrance | None:
        """Say what keeps the operator from approving it; None when nothing about him does."""
        if not self._deciders:
            return "no_operator"
        if not all(actor.may(proposal.permission) for actor in self._deciders):
            return "permission"
        tool = self._wiring.tools.get(proposal.agent, {}).get(proposal.tool)
        if tool and self._wiring.verdicts.decide(self._operator, tool.facts, None) != "allow":
            return "policy"
        if tool and asks_others(self._wiring, proposal, tool, self._operator):
            return "four_eyes"
        if not self._is_fresh and is_protected(proposal.permission, self._wiring.protected):
            return "stale"
        return None
