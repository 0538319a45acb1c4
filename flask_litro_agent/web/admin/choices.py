"""What the reader of a card can do about it now. A page offers it; the gate decides it anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from flask_litro_agent.core.hindrances import Hindrance
from flask_litro_agent.core.proposals import Proposal, State
from flask_litro_agent.core.second_thoughts import anew
from flask_litro_agent.tools import Tool
from flask_litro_agent.web.admin.words import mark, say

__all__ = ["Choices", "choices_of"]

#: Hindrances that keep somebody from approving, and leave him every other decision.
_DISMISSIBLE: Final = ("four_eyes", "stale")
_WHY: Final = {
    "no_operator": mark("To decide you need the permission litro:approve."),
    "permission": mark("To decide on this you need the permission %(permission)s yourself."),
    "policy": mark("A policy does not allow you to decide on this."),
    "four_eyes": mark("You asked for this yourself. It needs four eyes: somebody else must approve it."),
    "stale": mark("You signed in too long ago to approve this."),
}


@dataclass(frozen=True, slots=True)
class Choices:
    """Names of the proposals' routes that can be offered; ``why`` says what keeps the reader from deciding."""

    offered: frozenset[str]
    why: str | None = None
    must_prove: bool = False

    def __contains__(self, name: str) -> bool:
        return name in self.offered


def choices_of(proposal: Proposal, tool: Tool | None, hindrance: Hindrance | None) -> Choices:
    """Return what can be done; ``tool`` is None when the agent no longer has it."""
    decides = hindrance is None or hindrance in _DISMISSIBLE
    offered: set[str] = set()
    if proposal.state is State.PROPOSED:
        offered |= {"dismiss"} if decides else set()
        offered |= {"approve"} if hindrance is None else set()
    if proposal.state is State.UNKNOWN and decides:
        offered |= {"answer", "reconcile"} if tool and tool.reconcile else {"answer"}
    if decides and (relation := anew(proposal, tool)):
        offered.add(relation)
    return Choices(frozenset(offered), *_why(proposal, hindrance, decides))


def _why(proposal: Proposal, hindrance: Hindrance | None, decides: bool) -> tuple[str | None, bool]:
    waits = proposal.state is State.PROPOSED or (proposal.state is State.UNKNOWN and not decides)
    if hindrance is None or not waits:
        return None, False
    return say(_WHY[hindrance], permission=proposal.permission), hindrance == "stale"
