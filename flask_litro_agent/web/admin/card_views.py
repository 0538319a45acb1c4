"""Proposals as a page draws them: the card, where each stands in words, and what its reader can do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.hindrances import Hindrance
from flask_litro_agent.core.proposals import Proposal, State
from flask_litro_agent.core.visible import visible_json
from flask_litro_agent.installation import Installation
from flask_litro_agent.web.admin.asked import asked
from flask_litro_agent.web.admin.choices import Choices, choices_of
from flask_litro_agent.web.admin.entry import ADMIN, may
from flask_litro_agent.web.admin.people import People
from flask_litro_agent.web.admin.scenes import Scenes
from flask_litro_agent.web.admin.states import Standing, standing_of, time_left, void_reason
from flask_litro_agent.web.card import card

__all__ = ["CardView", "CardViews"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CardView:
    """One proposal on a page. ``version`` is another one as soon as the page would draw it otherwise."""

    proposal: Proposal
    shown: dict[str, Any]
    decided_by: str | None
    standing: Standing
    choices: Choices
    time_left: str | None
    reason: str | None

    @property
    def id(self) -> str:
        return self.proposal.id

    @property
    def arguments(self) -> str:
        """The canonical arguments as JSON, with every character showing."""
        return visible_json(self.proposal.arguments.decode())

    @property
    def version(self) -> str:
        row = self.proposal
        parts = (row.state.value, row.outcome, row.truth, self.choices.why, *sorted(self.choices.offered))
        return ".".join(str(part) for part in parts)


class CardViews:
    """Makes the cards of one app; what it has read of a session's log it keeps."""

    def __init__(self, installed: Installation) -> None:
        self._installed = installed
        self._scenes = Scenes(installed.store)

    def of(self, proposals: Sequence[Proposal], actor: Actor, people: People) -> list[CardView]:
        """Return the proposals for this reader, in their order."""
        if not proposals:
            return []
        proved = self._installed.identity.authenticated_at()
        hindrances = self._installed.gate.hindrances(proposals, actor, authenticated_at=proved)
        links = may(self._installed, actor, ADMIN)
        return [
            self._view(proposal, hindrance, people, links=links)
            for proposal, hindrance in zip(proposals, hindrances, strict=True)
        ]

    def _view(
        self, proposal: Proposal, hindrance: Hindrance | None, people: People, *, links: bool
    ) -> CardView:
        tool = self._installed.tool_of(proposal)
        shown = card(proposal, is_operator=True, tool=tool)
        shown["asked"] = asked(proposal, self._scenes, name=people.name_as_given, links=links)
        return CardView(
            proposal=proposal,
            shown=shown,
            standing=standing_of(proposal),
            choices=choices_of(proposal, tool, hindrance),
            decided_by=people.name(proposal.decided_by) if proposal.decided_by else None,
            time_left=_time_left(proposal),
            reason=void_reason(proposal),
        )


def _time_left(proposal: Proposal) -> str | None:
    is_open = proposal.state is State.PROPOSED
    return time_left(proposal.expires_at - proposal.read_at) if is_open else None
