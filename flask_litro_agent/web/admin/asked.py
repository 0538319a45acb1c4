"""Who asked for a proposal, and in which words: read from the session's log, and shown beside what the core has made.

What the model said is its own word and may be untrue, so it is short, plain, and never the only thing on a card. A log
that is gone or cannot be read now takes nothing from the card but these words.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from flask import current_app, url_for

from flask_litro_agent import events
from flask_litro_agent.contracts import Entry, SessionKey, SessionStore
from flask_litro_agent.core.proposals import Proposal
from flask_litro_agent.core.visible import Visible, visible
from flask_litro_agent.errors import SessionDeleted

__all__ = ["Asked", "Excerpt", "Person", "Scene", "asked", "scene"]

logger = logging.getLogger(__name__)

_LONGEST_WORDS: Final = 1000
_LONGEST_SAID: Final = 500
#: How many of a log's last events are looked at before all of them are.
_NEAR: Final = 256
_ANSWERS: Final = frozenset({events.TOOL_RESULT, events.UI, events.PROPOSAL})
_READ: Final = _ANSWERS | {events.TURN_START, events.MESSAGE, events.TOOL_CALL}


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
class Scene:
    """What a log has about one call: the turn's first event, the person's message, and what the model said."""

    first: int
    message: int | None
    words: str | None
    said: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Who asked. ``owner`` is given where it is not the proposer; ``missing`` says why there are no words."""

    proposer: Person
    owner: Person | None
    words: Excerpt | None = None
    said: Excerpt | None = None
    link: str | None = None
    missing: Literal["by_hand", "gone", "away"] | None = None


def asked(
    proposal: Proposal, store: SessionStore, *, name: Callable[[str], str], links: bool = False
) -> Asked:
    """Return who asked for the proposal; ``name`` gives people's names, ``links`` leads to the session as well."""
    proposer, owner = (_person(actor_id, name) for actor_id in (proposal.proposer, proposal.owner))
    found = Asked(proposer=proposer, owner=None if proposal.owner == proposal.proposer else owner)
    if proposal.session is None or proposal.turn is None or proposal.call_id is None:
        return replace(found, missing="by_hand")
    key = SessionKey(proposal.agent, proposal.owner, proposal.session)
    try:
        there = scene(store, key, turn=proposal.turn, call_id=proposal.call_id)
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


def scene(store: SessionStore, key: SessionKey, *, turn: str, call_id: str) -> Scene | None:
    """Return what the log has about a call of a turn; None when it has no such call. StoreError as for ``read``."""
    last = store.last_seq(key)
    near = max(0, last - _NEAR)
    found = _found(store.read(key, near, _READ), turn, call_id) if near else None
    return found or _found(store.read(key, 0, _READ), turn, call_id)


def _found(entries: Iterable[Entry], turn: str, call_id: str) -> Scene | None:
    """Return the call's scene, None when its turn does not begin within the entries."""
    first: int | None = None
    message = said = None
    for entry in entries:
        if entry.kind == events.TURN_START:
            first = entry.seq if _payload(entry).get("turn_id") == turn else None
            message = said = None
        elif first is None:
            continue
        elif entry.kind == events.MESSAGE:
            role = _payload(entry).get("role")
            message, said = (entry, None) if role == "user" else (message, entry)
        elif entry.kind in _ANSWERS:
            said = None  # what follows is another round
        elif _payload(entry).get("call_id") == call_id:
            return Scene(
                first=first,
                message=None if message is None else message.seq,
                words=None if message is None else str(_payload(message)["text"]),
                said=None if said is None else str(_payload(said)["text"]),
            )
    return None


def _payload(entry: Entry) -> dict[str, object]:
    return dict(events.decode(entry.line).payload)


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
