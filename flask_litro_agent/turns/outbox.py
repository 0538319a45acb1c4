"""What the ledger owes a session's log: one ``proposal-settled`` for each end of each proposal.

The ledger's row is the outbox. Whoever holds the session's lease appends what is owed and then says so in the row;
after a crash between the two the log itself tells that it was appended. A ledger that is away delays this and ends
no turn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from flask_litro_agent import events
from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.core.ledger import Ledger
from flask_litro_agent.core.proposals import Proposal, State, session_digest
from flask_litro_agent.turns.writer import Draft

__all__ = ["Outbox", "Owed", "settled_state"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

_STATES = {State.UNKNOWN: "outcome_unknown"}


class Owed(NamedTuple):
    """Proposals to tell of, and the events that are not in the log yet."""

    proposals: Sequence[Proposal] = ()
    drafts: Sequence[Draft] = ()


class Outbox:
    """Asks and answers the ledger for sessions; without a ledger nothing is ever owed."""

    def __init__(self, ledger: Ledger | None = None) -> None:
        self._ledger = ledger

    def owed(
        self, key: SessionKey, written: Collection[tuple[str, str]] = (), *, expired: bool = False
    ) -> Owed:
        """Return what to append; ``written`` are the (proposal, state) in the log. An expiry only if ``expired``."""
        asked = self._asked(lambda ledger: ledger.owed(session_digest(*key)))
        found = [one for one in asked if expired or one.state is not State.EXPIRED]
        drafts = [_draft(one) for one in found if (one.id, settled_state(one)) not in written]
        return Owed(found, drafts)

    def told(self, key: SessionKey, proposals: Iterable[Proposal]) -> None:
        """Note in the ledger that the log has these; what cannot be noted now is noted the next time."""
        for one in proposals:
            try:
                if self._ledger is not None:
                    self._ledger.told(session_digest(*key), one.id, one.state, one.outcome)
            except Exception as error:  # the engine may be a site's
                logger.warning("litro outbox: proposal %s was told but not marked: %s", one.id, error)
                return

    def other_sessions(self, proposal_id: str) -> Sequence[SessionKey]:
        """Return who hears how the proposal ends beside the session that it came from."""
        return self._asked(lambda ledger: ledger.other_sessions(proposal_id))

    def void(self, key: SessionKey, *, reason: str) -> Sequence[SessionKey]:
        """Close every open proposal of a session; return who else is to hear that. LedgerAway when it cannot be."""
        if self._ledger is None:
            return ()
        voided = self._ledger.void_session(session_digest(*key), reason=reason, by=key.owner)
        return [other for one in voided for other in self.other_sessions(one)]

    def move(self, key: SessionKey, target: SessionKey) -> None:
        """Tell the other session from now on; LedgerAway when that cannot be done now."""
        if self._ledger is not None:
            self._ledger.move_session(session_digest(*key), to=target)

    def forget(self, key: SessionKey) -> None:
        """Owe a session nothing, because it is gone; what cannot be forgotten now is forgotten by pruning."""
        try:
            if self._ledger is not None:
                self._ledger.forget_session(session_digest(*key))
        except Exception as error:  # the engine may be a site's
            logger.warning("litro outbox: a session that is gone is not forgotten yet: %s", error)

    def _asked(self, question: Callable[[Ledger], Sequence[T]]) -> Sequence[T]:
        if self._ledger is None:
            return ()
        try:
            return question(self._ledger)
        except Exception as error:  # the engine may be a site's
            logger.warning("litro outbox: the ledger cannot be asked now: %s", error)
            return ()


def settled_state(proposal: Proposal) -> str:
    """Return the event's word for how the proposal ended."""
    if proposal.state is State.EXECUTED and proposal.outcome == "failed":
        return "failed"
    return _STATES.get(proposal.state, proposal.state.value)


def _draft(proposal: Proposal) -> Draft:
    payload: dict[str, Any] = {"proposal_id": proposal.id, "state": settled_state(proposal)}
    if proposal.note:
        payload["note"] = proposal.note
    private = {
        "tool": proposal.tool,
        "summary": proposal.summary,
        "by": proposal.decided_by,
        "output": proposal.result,
        "error": proposal.error_id,
        "reason": proposal.reason,
    }
    return Draft(
        events.PROPOSAL_SETTLED,
        payload,
        {name: value for name, value in private.items() if value is not None},
    )
