"""What a session's log lacks when no turn writes to it: the end of a turn that died, and how proposals ended."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from flask_litro_agent.contracts import Lease, SessionKey, SessionStore
from flask_litro_agent.errors import NotFound, SessionBusy, SessionDeleted, StoreError
from flask_litro_agent.turns import drafts
from flask_litro_agent.turns.endings import Endings
from flask_litro_agent.turns.histories import Histories
from flask_litro_agent.turns.history import History
from flask_litro_agent.turns.leases import Leases
from flask_litro_agent.turns.outbox import Outbox
from flask_litro_agent.turns.writer import SessionWriter, Show

__all__ = ["Upkeep"]

logger = logging.getLogger(__name__)

_TELL_WAIT = 0.5
_INTERRUPTED = "no result: the turn was interrupted"


class Upkeep:
    """Adds to the logs of one process's sessions what they lack; ``ttl`` is a lease's, in seconds."""

    def __init__(
        self,
        store: SessionStore,
        histories: Histories,
        leases: Leases,
        outbox: Outbox,
        endings: Endings,
        *,
        ttl: float,
    ) -> None:
        self._store = store
        self._histories = histories
        self._leases = leases
        self._outbox = outbox
        self._endings = endings
        self._ttl = ttl

    def recover(self, key: SessionKey) -> None:
        """Close a turn whose process died, if the session is free; what cannot be done now is left for later."""
        try:
            lease = self._store.acquire(key, self._ttl)
        except StoreError:
            return
        if lease is not None:
            self._attend(lease)

    def tell(self, key: SessionKey, *, expired: bool = False) -> None:
        """Append what the ledger owes to a session that is free; a turn that runs in it tells it by itself."""
        try:
            if self._outbox.owed(key, expired=expired).drafts and self._store.last_seq(key):
                self._attend(self._leases.take(key, wait=_TELL_WAIT), expired=expired)
        except (SessionBusy, NotFound, SessionDeleted):
            return
        except Exception as error:  # whatever a store raises: what is owed stays owed
            logger.warning("litro: a session was not told how a proposal ended: %s", error)

    def forget_gone(self, key: SessionKey) -> None:
        """Let the ledger owe nothing to a session that was deleted or never had a log."""
        try:
            is_gone = not self._store.last_seq(key)
        except SessionDeleted:
            is_gone = True
        except Exception as error:  # whatever a store raises: what is owed stays owed
            logger.warning("litro: a session cannot be looked for: %s", error)
            return
        if is_gone:
            self._outbox.forget(key)

    def retire(self, lease: Lease, *, reason: str) -> Sequence[SessionKey]:
        """Void the open proposals of a session whose lease is held, and say so in its log; else LedgerAway.

        Return the other sessions that are to hear it.
        """
        others = self._outbox.void(lease.key, reason=reason)
        if self._outbox.owed(lease.key).drafts:
            self._bring_up(lease)
        return others

    def close_dead_turn(self, history: History, lease: Lease) -> None:
        """Close a turn that another writer left without an end."""
        if history.open_turn is not None:
            self.close_open_turn(history, self.writer(history, lease, show=_nobody))

    def close_open_turn(
        self, history: History, writer: SessionWriter, *, reason: str = "interrupted"
    ) -> None:
        """Write a result for each call that has none, and the turn's end."""
        end = drafts.turn_end(history, reason)
        for entry in writer.write(*drafts.unanswered(history, _INTERRUPTED), end):
            history.feed(entry)
        self._endings.announce(history.last_end(writer.lease.key))

    def writer(self, history: History, lease: Lease, *, show: Show) -> SessionWriter:
        """Return a writer that goes on where the history stands."""
        return SessionWriter(self._store, lease, ttl=self._ttl, last_seq=history.seq, show=show)

    def _attend(self, lease: Lease, *, expired: bool = False) -> None:
        try:
            self._bring_up(lease, expired=expired)
        except StoreError as error:
            logger.warning("litro: a session's log could not be completed: %s", error)
        finally:
            self._store.release(lease)

    def _bring_up(self, lease: Lease, *, expired: bool = False) -> None:
        history = self._histories.take(lease.key)
        self.close_dead_turn(history, lease)
        owed = self._outbox.owed(lease.key, history.written, expired=expired)
        if owed.drafts:
            for entry in self.writer(history, lease, show=_nobody).write(*owed.drafts):
                history.feed(entry)
        self._outbox.told(lease.key, owed.proposals)
        self._histories.keep(lease.key, history)


def _nobody(entries: object) -> None:
    """Nobody watches this writer."""
