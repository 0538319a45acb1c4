"""Starting turns, finding the live ones, and ending them: at a stop, at a deletion, and when the process ends.

A session's lease is taken before anything is written and given back after its ``turn-end``. A turn runs in a
thread of its own (a greenlet under gevent); no response, request or client keeps it alive or ends it.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from flask_litro_agent import events
from flask_litro_agent.contracts import Lease, SessionKey, SessionStore
from flask_litro_agent.errors import AgentError, NotFound, Overloaded, SessionBusy, SessionDeleted, StoreError
from flask_litro_agent.settings import Settings
from flask_litro_agent.turns import drafts
from flask_litro_agent.turns.histories import Histories
from flask_litro_agent.turns.history import History
from flask_litro_agent.turns.live import LiveTurn
from flask_litro_agent.turns.loop import Assignment, Turn
from flask_litro_agent.turns.outbox import Outbox
from flask_litro_agent.turns.watcher import Watcher
from flask_litro_agent.turns.writer import Draft, SessionWriter, Show

__all__ = ["Runner", "Standing"]

logger = logging.getLogger(__name__)

_NO_SESSION = "there is no such session"
_LEASE_WAIT = 2.0
_DELETE_WAIT = 5.0
_TELL_WAIT = 0.5
_POLL = 0.02
_LAST_WORDS = 2.0
_INTERRUPTED = "no result: the turn was interrupted"

Spawn = Callable[[Callable[[], None]], None]


class Standing(NamedTuple):
    """Where a session stands: the turn that runs in it, and the last event's seq."""

    turn_id: str | None
    last_seq: int


class _NothingToSay(Exception):
    """A turn without a word of the person has nothing to tell the model."""


class Runner:
    """This process's turns. What another process must see is in the store."""

    def __init__(self, store: SessionStore, settings: Settings, *, outbox: Outbox | None = None) -> None:
        self._store = store
        self._settings = settings
        self.outbox = outbox or Outbox()
        self._ttl = settings.lease_seconds
        self._lock = threading.Lock()
        self._live: dict[SessionKey, LiveTurn] = {}
        self._histories = Histories(store, context_tokens=settings.context_tokens)
        self._watcher = Watcher(store, renew_every=self._ttl / 3, overdue=self._leave_behind)
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
            self._last_seq(key)
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
        self._last_seq(key)
        holder = self._store.holder(key)
        if holder is None and self._last_kind(key) != events.TURN_END:
            self.recover(key)
        return Standing(holder.turn_id if holder else None, self._last_seq(key))

    def recover(self, key: SessionKey) -> None:
        """Close a turn whose process died, if the session is free; what cannot be done now is left for later."""
        try:
            lease = self._store.acquire(key, self._ttl)
        except StoreError:
            return
        if lease is not None:
            self._attend(lease)

    def tell(self, key: SessionKey) -> None:
        """Append what the ledger owes to a session that is free; a turn that runs in it tells it by itself."""
        try:
            if self.outbox.owed(key).drafts and self._store.last_seq(key):
                self._attend(self._acquire(key, None, wait=_TELL_WAIT, patient=False))
        except Exception as error:  # whatever a store raises: what is owed stays owed
            logger.warning("litro: a session was not told how a proposal ended: %s", error)

    def delete(self, key: SessionKey) -> None:
        """Stop the session's turn, take the lease, void the open proposals and remove the session.

        Raise SessionBusy when the lease cannot be had in five seconds, NotFound for an unknown session, LedgerAway
        when the proposals cannot be closed now: then the session stays.
        """
        self._last_seq(key)
        lease = self.seize(key)
        try:
            self.outbox.void(key, reason="session_deleted")
            self.remove(key, lease)
        finally:
            self._store.release(lease)

    def retire(self, lease: Lease, *, reason: str) -> None:
        """Void the open proposals of a session whose lease is held, and say so in its log; else LedgerAway."""
        self.outbox.void(lease.key, reason=reason)
        if self.outbox.owed(lease.key).drafts:
            self._bring_up(lease)

    def remove(self, key: SessionKey, lease: Lease) -> None:
        """Remove the session from the store and from memory; the lease stays held."""
        self._store.delete(key, lease)
        self._histories.forget(key)

    def seize(self, key: SessionKey) -> Lease:
        """Stop whatever runs in the session and take its lease; SessionBusy after five seconds."""
        holder = self._store.holder(key)
        if holder is not None and holder.turn_id is not None:
            self.stop(key, holder.turn_id)
        return self._acquire(key, None, wait=_DELETE_WAIT, patient=True)

    def drain(self) -> None:
        """Let running turns finish within the grace; interrupt the rest, and let them say so in the log."""
        self._closing = True
        self._wait_for_turns(self._settings.grace_seconds)
        for live in self._running_turns():
            live.end("interrupted")
        self._wait_for_turns(_LAST_WORDS)

    def _spawn(self, turn: Turn, spawn: Spawn | None) -> LiveTurn:
        try:
            self._watcher.add(turn.live, turn.writer)
            (spawn or _in_thread)(lambda: self._run(turn))
        except RuntimeError as error:
            self._give_up(turn)
            raise Overloaded("no thread is left for a turn here: ask again in a moment") from error
        return turn.live

    def _attend(self, lease: Lease) -> None:
        """Close a turn that died, append what is owed, and give the lease back."""
        try:
            self._bring_up(lease)
        except StoreError as error:
            logger.warning("litro: an interrupted turn could not be closed: %s", error)
        finally:
            self._store.release(lease)

    def _bring_up(self, lease: Lease) -> None:
        history = self._histories.take(lease.key)
        self._close_dead_turn(history, lease)
        owed = self.outbox.owed(lease.key, history.written)
        if owed.drafts:
            for entry in self._writer(history, lease, show=_nobody).write(*owed.drafts):
                history.feed(entry)
        self.outbox.told(owed.proposals)

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
        lease = self._acquire(key, turn_id, wait=_LEASE_WAIT, patient=False)
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
        self._close_dead_turn(history, lease)
        writer = self._writer(history, lease, show=live.show)
        actor = {"id": assignment.actor.id, "name": assignment.actor.name}
        start = Draft(events.TURN_START, {"turn_id": live.turn_id, "agent": live.key.agent}, {"actor": actor})
        asked = [] if text is None else [Draft(events.MESSAGE, {"role": "user", "text": text})]
        owed = self.outbox.owed(live.key, history.written, expired=True)
        if not (asked or owed.drafts or history.has_news):
            raise _NothingToSay("there is nothing to tell")
        live.first_seq = writer.seq + 1
        for entry in writer.write(start, *owed.drafts, *asked):
            history.feed(entry)
        self.outbox.told(owed.proposals)
        return Turn(assignment, live, writer, history, self.outbox)

    def _acquire(self, key: SessionKey, turn_id: str | None, *, wait: float, patient: bool) -> Lease:
        """Take the lease; wait for a writer without a turn, and for any writer when ``patient``."""
        until = time.monotonic() + wait
        while True:
            try:
                lease = self._store.acquire(key, self._ttl, turn_id)
                running = None if lease else self._running(key)
            except SessionDeleted:
                raise NotFound(_NO_SESSION) from None
            if lease is not None:
                return lease
            if time.monotonic() >= until or (running and not patient):
                raise SessionBusy(running)
            time.sleep(_POLL)

    def _last_seq(self, key: SessionKey) -> int:
        try:
            last = self._store.last_seq(key)
        except SessionDeleted:
            last = 0
        if not last:
            raise NotFound(_NO_SESSION)
        return last

    def _running(self, key: SessionKey) -> str | None:
        """Return the turn that goes on; one whose turn-end is in the log is just giving the lease back."""
        holder = self._store.holder(key)
        if holder is None or self._last_kind(key) == events.TURN_END:
            return None
        return holder.turn_id if self._store.holder(key) == holder else None

    def _last_kind(self, key: SessionKey) -> str | None:
        """Return the kind of the last event of a turn; None for an empty log. Decisions may stand behind it."""
        kind, last, back = None, self._store.last_seq(key), 1
        while kind is None and back < 2 * last:
            for entry in self._store.read(key, after=max(0, last - back)):
                kind = kind if entry.kind == events.PROPOSAL_SETTLED else entry.kind
            back *= 2
        return kind

    def _run(self, turn: Turn) -> None:
        try:
            turn.run()
        except Exception:
            logger.exception("litro turn %s: ended by an error of its own", turn.live.turn_id)
        finally:
            self._ended(turn.live, turn.writer, turn.history)

    def _give_up(self, turn: Turn) -> None:
        """Close a turn whose thread could not be started."""
        try:
            self._close_open_turn(turn.history, turn.writer)
        except StoreError as error:
            logger.warning("litro turn %s: ends without turn-end: %s", turn.live.turn_id, error)
        finally:
            self._ended(turn.live, turn.writer, turn.history)

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

    def _end_for(self, live: LiveTurn, lease: Lease) -> None:
        """Write the end of a turn that cannot; its own history is in the hands of its thread."""
        history = History(context_tokens=self._settings.context_tokens)
        history.catch_up(self._store, live.key)
        if history.open_turn == live.turn_id:
            successor = self._writer(history, lease, show=live.show)
            self._close_open_turn(history, successor, reason=str(live.ended_by))

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
        self.tell(live.key)  # who decided after our last look found the lease taken

    def _close_dead_turn(self, history: History, lease: Lease) -> None:
        """Close a turn that another writer left without an end."""
        if history.open_turn is not None:
            self._close_open_turn(history, self._writer(history, lease, show=_nobody))

    def _writer(self, history: History, lease: Lease, *, show: Show) -> SessionWriter:
        return SessionWriter(self._store, lease, ttl=self._ttl, last_seq=history.seq, show=show)

    def _close_open_turn(
        self, history: History, writer: SessionWriter, *, reason: str = "interrupted"
    ) -> None:
        end = drafts.turn_end(history, reason)
        for entry in writer.write(*drafts.unanswered(history, _INTERRUPTED), end):
            history.feed(entry)

    def _wait_for_turns(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        for live in self._running_turns():
            live.wait_closed(max(0.0, until - time.monotonic()))


def _in_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True, name="litro-turn").start()


def _nobody(entries: object) -> None:
    """Nobody watches this writer."""
