"""Starting turns, finding the live ones, and ending them: at a stop, at a deletion, and when the process ends.

A session's lease is taken before anything is written and given back after its ``turn-end``. A turn runs in a
thread of its own (a greenlet under gevent); no response, request or client keeps it alive or ends it.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from flask_litro_agent import events
from flask_litro_agent.contracts import Lease, SessionKey, SessionStore
from flask_litro_agent.errors import AgentError, Overloaded, StoreError
from flask_litro_agent.settings import Settings
from flask_litro_agent.turns.endings import Endings
from flask_litro_agent.turns.histories import Histories
from flask_litro_agent.turns.history import History
from flask_litro_agent.turns.leases import Leases
from flask_litro_agent.turns.live import LiveTurn
from flask_litro_agent.turns.loop import Assignment, Turn
from flask_litro_agent.turns.outbox import Outbox
from flask_litro_agent.turns.upkeep import Upkeep
from flask_litro_agent.turns.watcher import Watcher
from flask_litro_agent.turns.writer import Draft, SessionWriter

__all__ = ["Runner", "Standing"]

logger = logging.getLogger(__name__)

_LEASE_WAIT = 2.0
_DELETE_WAIT = 5.0
_LAST_WORDS = 2.0

Spawn = Callable[[Callable[[], None]], None]


class Standing(NamedTuple):
    """Where a session stands: the turn that runs in it, and the last event's seq."""

    turn_id: str | None
    last_seq: int


class _NothingToSay(Exception):
    """A turn without a word of the person has nothing to tell the model."""


class Runner:
    """This process's turns, each in a thread of its own, or as ``spawn`` runs it.

    What another process must see is in the store.
    """

    def __init__(
        self,
        store: SessionStore,
        settings: Settings,
        *,
        outbox: Outbox | None = None,
        endings: Endings | None = None,
        spawn: Spawn | None = None,
    ) -> None:
        self._store = store
        self._settings = settings
        self.outbox = outbox or Outbox()
        self.endings = endings or Endings()
        self._start_thread = spawn or _in_thread
        self._lock = threading.Lock()
        self._live: dict[SessionKey, LiveTurn] = {}
        self._histories = Histories(store, context_tokens=settings.context_tokens)
        ttl = settings.lease_seconds
        self._leases = Leases(store, ttl=ttl)
        self._upkeep = Upkeep(store, self._histories, self._leases, self.outbox, self.endings, ttl=ttl)
        self._watcher = Watcher(store, renew_every=ttl / 3, overdue=self._leave_behind)
        self._closing = False

    def live(self, key: SessionKey) -> LiveTurn | None:
        """Return the session's turn if it runs in this process."""
        return self._live.get(key)

    def start(
        self, key: SessionKey, text: str, assignment: Assignment, *, spawn: Spawn | None = None
    ) -> LiveTurn:
        """Begin a turn; when this returns, its first events are in the log.

        Raise SessionBusy (a turn is running), Overloaded (a cap is reached), NotFound (deleted) or StoreError.
        """
        return self._spawn(self._begin(key, text, assignment), spawn)

    def wake(self, key: SessionKey, assignment: Assignment, *, spawn: Spawn | None = None) -> LiveTurn | None:
        """Begin a turn without a word of the person, in which the model is told how proposals ended.

        None when there is nothing to tell, and when the turn cannot begin now: whatever runs next tells it.
        """
        try:
            self._leases.last_seq(key)
            return self._spawn(self._begin(key, None, assignment), spawn)
        except (_NothingToSay, AgentError, StoreError) as error:
            logger.info("litro: a session is not woken: %s", error)
            return None

    def stop(self, key: SessionKey, turn_id: str) -> bool:
        """Ask the session's turn to stop, wherever it runs; False when it is not running."""
        live = self._live.get(key)
        if live is not None and live.turn_id == turn_id:
            live.end("stopped")
            return True
        holder = self._store.holder(key)
        if holder is None or holder.turn_id != turn_id:
            return False
        self._store.stop(key, turn_id)
        return True

    def standing(self, key: SessionKey) -> Standing:
        """Return how the owner's session stands, after closing a turn that died; NotFound for an unknown one."""
        self._leases.last_seq(key)
        holder = self._store.holder(key)
        if holder is None and self._leases.last_kind(key) != events.TURN_END:
            self._upkeep.recover(key)
        running = self._leases.running(key) if holder else None
        return Standing(running, self._leases.last_seq(key))

    def tell(self, key: SessionKey) -> None:
        """Append what the ledger owes to a session that is free; a turn that runs in it tells it by itself."""
        self._upkeep.tell(key)

    def settle_debts(self, key: SessionKey) -> None:
        """Tell a session everything that it is owed, expiries as well, before the ledger loses it.

        A session that is gone is owed nothing.
        """
        self._upkeep.tell(key, expired=True)
        self._upkeep.forget_gone(key)

    def delete(self, key: SessionKey) -> None:
        """Stop the session's turn, take the lease, void the open proposals and remove the session.

        Raise SessionBusy when the lease cannot be had in five seconds, NotFound for an unknown session, LedgerAway
        when the proposals cannot be closed now: then the session stays.
        """
        self._leases.last_seq(key)
        lease = self.seize(key)
        try:
            others = self.outbox.void(key, reason="session_deleted")
            self.remove(key, lease)
        finally:
            self._store.release(lease)
        for other in others:
            self.tell(other)

    def retire(self, lease: Lease, *, reason: str) -> Sequence[SessionKey]:
        """Void the open proposals of a session whose lease is held, and say so in its log; else LedgerAway.

        Return the other sessions that are to hear it.
        """
        return self._upkeep.retire(lease, reason=reason)

    def remove(self, key: SessionKey, lease: Lease) -> None:
        """Remove the session from the store, from memory and from what is owed; the lease stays held."""
        self._store.delete(key, lease)
        self._histories.forget(key)
        self.outbox.forget(key)

    def seize(self, key: SessionKey) -> Lease:
        """Stop whatever runs in the session and take its lease; SessionBusy after five seconds."""
        holder = self._store.holder(key)
        if holder is not None and holder.turn_id is not None:
            self.stop(key, holder.turn_id)
        return self._leases.take(key, wait=_DELETE_WAIT, patient=True)

    def drain(self) -> None:
        """Let running turns finish within the grace; interrupt the rest, and let them say so in the log."""
        self._closing = True
        self._wait_for_turns(self._settings.grace_seconds)
        for live in self._running_turns():
            live.end("interrupted")
        self._wait_for_turns(_LAST_WORDS)
        self.endings.drain(_LAST_WORDS)

    def _spawn(self, turn: Turn, spawn: Spawn | None) -> LiveTurn:
        try:
            self._watcher.add(turn.live, turn.writer)
            (spawn or self._start_thread)(lambda: self._run(turn))
        except RuntimeError as error:
            self._give_up(turn)
            raise Overloaded("no thread is left for a turn here: ask again in a moment") from error
        return turn.live

    def _admit(self, live: LiveTurn) -> None:
        """Count a turn. Its lease is held: whoever finds the session busy takes no place."""
        with self._lock:
            if self._closing:
                raise Overloaded("this server is shutting down: ask again in a moment", retry_after=2)
            running = len(self._live)
            if running >= self._settings.max_turns:
                raise Overloaded(
                    f"{running} turns are running here, which is the most: ask again in a moment"
                )
            own = sum(other.actor_id == live.actor_id for other in self._live.values())
            if own >= self._settings.max_actor_turns:
                raise Overloaded(f"{own} of your turns are running, which is the most: wait for one to end")
            self._live[live.key] = live

    def _leave(self, live: LiveTurn) -> None:
        with self._lock:
            # a turn that was left behind may leave after its successor came
            if self._live.get(live.key) is live:
                del self._live[live.key]

    def _running_turns(self) -> list[LiveTurn]:
        with self._lock:
            return list(self._live.values())

    def _begin(self, key: SessionKey, text: str | None, assignment: Assignment) -> Turn:
        turn_id = "t" + secrets.token_hex(8)
        lease = self._leases.take(key, turn_id, wait=_LEASE_WAIT)
        live = LiveTurn(key, turn_id, assignment.actor.id, seconds=assignment.limits.turn_seconds)
        try:
            self._admit(live)
            return self._first_events(live, text, assignment, lease)
        except BaseException:
            self._leave(live)
            self._store.release(lease)
            live.close()
            raise

    def _first_events(self, live: LiveTurn, text: str | None, assignment: Assignment, lease: Lease) -> Turn:
        history = self._histories.take(live.key, context_tokens=assignment.limits.context_tokens)
        self._upkeep.close_dead_turn(history, lease)
        writer = self._upkeep.writer(history, lease, show=live.show)
        actor = {"id": assignment.actor.id, "name": assignment.actor.name}
        start = Draft(events.TURN_START, {"turn_id": live.turn_id, "agent": live.key.agent}, {"actor": actor})
        asked = [] if text is None else [Draft(events.MESSAGE, {"role": "user", "text": text})]
        owed = self.outbox.owed(live.key, history.written, expired=True)
        if not (asked or owed.drafts or history.has_news):
            raise _NothingToSay("there is nothing to tell")
        live.first_seq = writer.seq + 1
        for entry in writer.write(start, *owed.drafts, *asked):
            history.feed(entry)
        self.outbox.told(live.key, owed.proposals)
        return Turn(assignment, live, writer, history, self.outbox)

    def _run(self, turn: Turn) -> None:
        try:
            turn.run()
        except Exception:
            logger.exception("litro turn %s: ended by an error of its own", turn.live.turn_id)
        finally:
            self.endings.announce(turn.history.last_end(turn.live.key))
            self._ended(turn.live, turn.writer, turn.history)
            self.tell(turn.live.key)  # who decided after the turn's last look found the lease taken

    def _give_up(self, turn: Turn) -> None:
        """Close a turn whose thread could not be started."""
        try:
            self._upkeep.close_open_turn(turn.history, turn.writer)
        except StoreError as error:
            logger.warning("litro turn %s: ends without turn-end: %s", turn.live.turn_id, error)
        finally:
            self._ended(turn.live, turn.writer, turn.history)
            self.tell(turn.live.key)

    def _leave_behind(self, live: LiveTurn, writer: SessionWriter) -> None:
        """End a turn whose thread does not come back from foreign code; what that writes later is refused."""
        if not writer.retire():
            return  # it has just come back, and writes
        logger.error("litro turn %s: it did not end (%s) and is left behind", live.turn_id, live.ended_by)
        try:
            if live.ended_by != "lease_lost":
                self._end_for(live, writer.lease)
        except StoreError as error:
            logger.warning("litro turn %s: ends without turn-end: %s", live.turn_id, error)
        finally:
            self._ended(live, writer)
        _in_thread(lambda: self.tell(live.key))  # a slow ledger must not hold up the watcher

    def _end_for(self, live: LiveTurn, lease: Lease) -> None:
        """Write the end of a turn that cannot; its own history is in the hands of its thread."""
        history = History(context_tokens=self._settings.context_tokens)
        history.catch_up(self._store, live.key)
        if history.open_turn == live.turn_id:
            successor = self._upkeep.writer(history, lease, show=live.show)
            self._upkeep.close_open_turn(history, successor, reason=str(live.ended_by))

    def _ended(self, live: LiveTurn, writer: SessionWriter, history: History | None = None) -> None:
        self._watcher.remove(live)
        self._leave(live)
        if history is not None and history.open_turn is None:
            self._histories.keep(live.key, history)
        try:
            writer.release()
        except Exception as error:  # whatever the store raises, the readers must learn the end
            logger.warning("litro turn %s: its lease was not given back: %s", live.turn_id, error)
        live.close()

    def _wait_for_turns(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        for live in self._running_turns():
            live.wait_closed(max(0.0, until - time.monotonic()))


def _in_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True, name="litro-turn").start()
