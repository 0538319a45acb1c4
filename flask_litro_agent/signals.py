"""What a site's code is told of, by blinker's signals: after it was written down, and without a say in it.

    @proposal_recorded.connect
    def tell(app, proposal, **more): ...

The sender is the Flask app. A receiver runs in the thread in which it happened, in an app context of its own and
without a request; what it raises is logged and changes nothing. Whoever waits for that thread waits for the receiver
too, so it should be short.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from blinker import Namespace

__all__ = [
    "ProposalFacts",
    "TurnFacts",
    "ceiling_changed",
    "proposal_recorded",
    "proposal_settled",
    "turn_ended",
]

_litro = Namespace()

#: A new proposal waits: ``proposal``.
proposal_recorded = _litro.signal("proposal-recorded")
#: A proposal was executed, dismissed or made void, or somebody said how an unknown one ended: ``proposal``.
proposal_settled = _litro.signal("proposal-settled")
#: Somebody changed what agents may do at most: ``scope``, ``before``, ``after``, ``by``.
ceiling_changed = _litro.signal("ceiling-changed")
#: A turn's end stands in its session's log: ``turn``.
turn_ended = _litro.signal("turn-ended")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalFacts:
    """A proposal as it stood when the signal was sent; nothing in it lets anybody decide.

    Times are ms of the database's clock. ``arguments`` is the canonical JSON that would run, ``url`` the card's
    address where LITRO_EXTERNAL_URL is set, ``outcome`` ``ok`` or ``failed`` once it is executed, ``truth`` who knew
    that when it was not the run itself. ``summary``, ``arguments`` and ``note`` have words of models and people.
    """

    id: str
    agent: str
    owner: str
    session: str | None
    turn_id: str | None
    tool: str
    mode: str
    permission: str
    proposer: str
    summary: str
    arguments: str = field(repr=False)
    four_eyes: bool
    created_at: int
    expires_at: int
    state: str
    outcome: str | None
    truth: str | None
    reason: str | None
    decided_by: str | None
    note: str | None = field(repr=False)
    settled_at: int | None
    error_id: str | None
    made_from: str | None
    relation: str | None
    url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFacts:
    """A turn that has ended, for one of ``events.TURN_END_REASONS``, and what it used.

    ``actor`` is the id of who asked; ``model`` the one that answered last, else the agent's.
    """

    agent: str
    owner: str
    session: str
    turn_id: str
    actor: str
    model: str
    reason: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
