"""What happened to a proposal, step by step: its row and the audit's rows about it, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from flask_litro_agent.core.audit import AuditRow
from flask_litro_agent.core.proposals import Proposal, State
from flask_litro_agent.web.admin.people import People
from flask_litro_agent.web.admin.states import standing_of, void_reason
from flask_litro_agent.web.admin.words import mark, say

__all__ = ["Step", "history_of"]

_BY: Final = {
    "approved": mark("Approved by %(name)s"),
    "dismissed": mark("Dismissed by %(name)s"),
    "answered": mark("Answered by %(name)s"),
}
_DONE: Final = {"ok": mark("Carried out"), "failed": mark("Carried out; it failed, and nothing was changed")}
_LATE: Final = mark("The one that carried it out said late how it ended")
_LOST: Final = mark("Its answer did not come: nobody can say whether it happened")


class Step(NamedTuple):
    """One thing that happened; ``at`` is in ms, None where nobody wrote the time down."""

    at: int | None
    text: str
    detail: str | None = None


def history_of(proposal: Proposal, facts: Sequence[AuditRow], people: People) -> list[Step]:
    """Return the steps, oldest first."""
    return list(_steps(proposal, facts, people))


def _steps(proposal: Proposal, facts: Sequence[AuditRow], people: People) -> Iterator[Step]:
    yield Step(proposal.created_at, say("Proposed by %(name)s", name=people.name(proposal.proposer)))
    for fact in facts:
        yield Step(fact.at, _words(fact, proposal, people), _detail(fact, proposal))
    if proposal.state is State.EXPIRED:
        yield Step(proposal.expires_at, say("Expired: nobody decided in time"))
    if proposal.state is State.UNKNOWN and all(fact.kind != "unknown" for fact in facts):
        yield Step(None, say(_LOST))


def _words(fact: AuditRow, proposal: Proposal, people: People) -> str:
    if fact.kind in _BY:
        return say(_BY[fact.kind], name=people.name(fact.actor))
    match fact.kind:
        case "executed":
            return say(_DONE[proposal.outcome or "ok"])
        case "late":
            return say(_LATE)
        case "unknown":
            return say(_LOST)
        case "void":
            return say("Void: it can no longer be approved")
    return fact.kind


def _detail(fact: AuditRow, proposal: Proposal) -> str | None:
    match fact.kind:
        case "void":
            return void_reason(proposal)
        case "late" | "answered" if proposal.state is State.EXECUTED:
            return standing_of(proposal).text
    return None
