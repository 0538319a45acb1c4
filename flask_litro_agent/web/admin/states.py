"""Where a proposal stands, in words; and how long it still waits."""

from __future__ import annotations

from typing import Final, NamedTuple

from flask_litro_agent.core.proposals import Proposal, State
from flask_litro_agent.web.admin.words import mark, say, say_many

__all__ = ["Standing", "standing_of", "time_left", "void_reason"]

_MINUTE: Final = 60
_HOUR: Final = 3_600
_DAY: Final = 86_400

#: State → tone (a class of the stylesheet) and words.
_WORDS: Final = {
    State.PROPOSED: ("open", mark("Waits for a decision")),
    State.CLAIMED: ("open", mark("Is being carried out")),
    State.DISMISSED: ("over", mark("Dismissed")),
    State.VOID: ("over", mark("Void")),
    State.EXPIRED: ("over", mark("Expired")),
    State.UNKNOWN: ("unknown", mark("Nobody can say whether this happened")),
}
_DONE: Final = ("done", mark("Done"))
_FAILED: Final = ("failed", mark("Failed; nothing was changed"))
_ANSWERED: Final = {
    "ok": ("done", mark("Happened, as an operator said")),
    "failed": ("failed", mark("Did not happen, as an operator said")),
}
_RECONCILED: Final = {
    "ok": ("done", mark("Happened, as the other side said")),
    "failed": ("failed", mark("Did not happen, as the other side said")),
}
_REASONS: Final = {
    "tool_gone": mark("The agent no longer has this tool."),
    "contract_changed": mark("The tool was changed since."),
    "ceiling": mark("The ceiling no longer allows it."),
    "protected": mark("Its permission is protected: such a tool may only propose."),
    "proposer_unknown": mark("Whoever proposed it is no longer known."),
    "proposer_forbidden": mark("Whoever proposed it may no longer do so."),
    "arguments_changed": mark("Its arguments no longer read as they are written."),
    "as_of_changed": mark("What it would change has changed since."),
    "policy": mark("A policy does not allow it."),
    "session_deleted": mark("Its session was deleted."),
    "session_moved": mark("Its session went to another owner."),
}


class Standing(NamedTuple):
    """A state for people: ``tone`` is open, done, failed, over or unknown."""

    tone: str
    text: str


def standing_of(proposal: Proposal) -> Standing:
    """Return where the proposal stands."""
    tone, words = _standing(proposal)
    return Standing(tone, say(words))


def void_reason(proposal: Proposal) -> str | None:
    """Return why it is void, in a sentence."""
    if proposal.reason is None:
        return None
    return say(_REASONS.get(proposal.reason, proposal.reason))


def time_left(ms: int) -> str:
    """Return how long that is, in the two units that matter to somebody who waits."""
    seconds = max(0, ms // 1000)
    if seconds >= 2 * _DAY:
        return say_many("%(count)s day left", "%(count)s days left", seconds // _DAY)
    if seconds >= 2 * _HOUR:
        return say_many("%(count)s hour left", "%(count)s hours left", seconds // _HOUR)
    if seconds >= _MINUTE:
        return say_many("%(count)s minute left", "%(count)s minutes left", seconds // _MINUTE)
    return say("Less than a minute left")


def _standing(proposal: Proposal) -> tuple[str, str]:
    if proposal.state is not State.EXECUTED:
        return _WORDS[proposal.state]
    outcome = proposal.outcome or "ok"
    if proposal.truth == "operator":
        return _ANSWERED[outcome]
    if proposal.truth == "reconcile":
        return _RECONCILED[outcome]
    return _DONE if outcome == "ok" else _FAILED
