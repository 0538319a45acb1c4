"""Who asked for a proposal, and in which words: read from the session's log, and shown beside what the core has made.

What the model said is its own word and may be untrue, so it is short, plain, and never the only thing on a card. A log
that is gone or cannot be read now takes nothing from the card but these words.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from flask import current_app, url_for

from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.core.proposals import Proposal
from flask_litro_agent.core.visible import Visible, visible
from flask_litro_agent.errors import SessionDeleted
from flask_litro_agent.web.admin.scenes import LONGEST, Scene, Scenes

__all__ = ["Asked", "Excerpt", "Person", "asked"]

logger = logging.getLogger(__name__)

_LONGEST_WORDS: Final = LONGEST
_LONGEST_SAID: Final = 500


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody by name and id; the name of one whom the site no longer knows is the id."""

    id: Visible
    name: Visible


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A text as it is shown; ``is_cut`` when there is more of it in the session."""

    text: str
    marks: tuple[str, ...]
    is_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Who asked. ``owner`` is given where it is not the proposer; ``missing`` says why there are no words.

    ``token`` names the one by which an MCP client brought it.
    """

    proposer: Person
    owner: Person | None
    words: Excerpt | None = None
    said: Excerpt | None = None
    link: str | None = None
    token: Visible | None = None
    missing: Literal["by_hand", "over_mcp", "gone", "away"] | None = None


def asked(proposal: Proposal, scenes: Scenes, *, name: Callable[[str], str], links: bool = False) -> Asked:
    """Return who asked for the proposal; ``name`` gives people's names, ``links`` leads to the session as well."""
    proposer, owner = (_person(actor_id, name) for actor_id in (proposal.proposer, proposal.owner))
    found = Asked(proposer=proposer, owner=None if proposal.owner == proposal.proposer else owner)
    if proposal.via is not None:
        return replace(found, token=visible(proposal.via), missing="over_mcp")
    if proposal.session is None or proposal.turn is None or proposal.call_id is None:
        return replace(found, missing="by_hand")
    key = proposal.home or SessionKey(proposal.agent, proposal.owner, proposal.session)
    try:
        there = scenes.of(key, turn=proposal.turn, call_id=proposal.call_id)
    except SessionDeleted:
        there = None
    except Exception:  # a store may be a plugin's: its log is not worth the card
        logger.exception("litro admin: the log of proposal %s could not be read", proposal.id)
        return replace(found, missing="away")
    if there is None:
        return replace(found, missing="gone")
    return replace(
        found,
        words=_excerpt(there.words, _LONGEST_WORDS),
        said=_excerpt(there.said, _LONGEST_SAID),
        link=_link(key, there) if links else None,
    )


def _person(actor_id: str, name: Callable[[str], str]) -> Person:
    return Person(visible(actor_id), visible(name(actor_id)))


def _excerpt(text: str | None, most: int) -> Excerpt | None:
    if not text or not text.strip():
        return None
    shown = visible(text[:most], breaks=True)
    return Excerpt(shown.text, shown.marks, len(text) > most)


def _link(key: SessionKey, there: Scene) -> str | None:
    if "litro_admin.session" not in current_app.view_functions:
        return None
    values: dict[str, Any] = {
        "agent": key.agent,
        "session": key.session,
        "owner": key.owner,
        "from": there.first,
    }
    return url_for("litro_admin.session", **values, _anchor=f"e{there.message or there.first}")
