"""Starting turns, finding the live ones, and ending them: at a stop, at a deletion, and when the process ends.

A session's lease is taken before anything is written and given back after its ``turn-end``. A turn runs in a
thread of its own (a greenlet under gevent); no response, request or client keeps it alive or ends it.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from flask_litro_agent import events
from flask_litro_agent.contracts import Lease, SessionKey, SessionStore
from flask_litro_agent.errors import AgentError, NotFound, Overloaded, SessionBusy, SessionDeleted, StoreError
from flask_litro_agent.settings import Settings
from flask_litro_agent.turns.history import History
from flask_litro_agent.turns.live import LiveTurn
from flask_litro_agent.turns.loop import Assignment, Turn
from flask_litro_agent.turns.outbox import Outbox
from flask_litro_agent.turns.places import Places
from flask_litro_agent.turns.watcher import Watcher
from flask_litro_agent.turns.writer import Draft, SessionWriter

__all__ = ["Runner", "Standing"]

logger = logging.getLogger(__name__)

_NO_SESSION = "there is no such session"
_LEASE_WAIT = 2.0
_DELETE_WAIT = 5.0
_TELL_WAIT = 0.5
_POLL = 0.02
_MOST_HISTORIES = 256
_LAST_WORDS = 2.0
_INTERRUPTED = {"code": "failed", "message": "no result: the turn was interrupted"}

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
        spawn: Spawn | None = None,
    ) -> None:
        self._store = store
        self._settings = settings
        self.outbox = outbox or Outbox()
        self._start_thread = spawn or _in_thread
        self._ttl = settings.lease_seconds
        self._lock = threading.Lock()
        self._live: dict[SessionKey, LiveTurn] = {}
        self._places = Places(most=settings.max_turns, most_per_actor=settings.max_actor_turns)
        self._histories: OrderedDict[SessionKey, History] = OrderedDict()
        self._watcher = Watcher(store, renew_every=self._ttl / 3)

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
        if holder is None and self.last_kind(key) != events.TURN_END:
            self.recover(key)
        return Standing(holder.turn_id if holder else None, self._last_seq(key))

    def recover(self, key: SessionKey) -> None:
        """Close a turn whose process died, if the session is free; what cannot be done now is left for later."""
        self._attend(key, wait=0.0)

    def tell(self, key: SessionKey) -> None:
        """Append what the ledger owes to a session that is free; a turn that runs in it tells it by itself."""
        try:
            if self.outbox.owed(key).drafts and self._store.last_seq(key):
                self._attend(key, wait=_TELL_WAIT)
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
            self._store.delete(key, lease)
            with self._lock:
                self._histories.pop(key, None)
        finally:
            self._store.release(lease)

    def retire(self, lease: Lease, *, reason: str) -> None:
        """Void the open proposals of a session whose lease is held, and say so in its log; else LedgerAway."""
        self.outbox.void(lease.key, reason=reason)
        if self.outbox.owed(lease.key).drafts:
            self._bring_up(lease)

    def seize(self, key: SessionKey) -> Lease:
        """Stop whatever runs in the session and take its lease; SessionBusy after five seconds."""
        holder = self._store.holder(key)
        if holder is not None and holder.turn_id is not None:
            self.stop(key, holder.turn_id)
        return self._acquire(key, None, wait=_DELETE_WAIT, patient=True)

    def drain(self) -> None:
        """Let running turns finish within the grace; interrupt the rest, and let them say so in the log."""
        self._places.close()
        self._wait_for_turns(self._settings.grace_seconds)
        for live in list(self._live.values()):
            live.end("interrupted")
        self._wait_for_turns(_LAST_WORDS)

    def _spawn(self, turn: Turn, spawn: Spawn | None) -> LiveTurn:
        try:
            self._watcher.add(turn.live, turn.writer)
            (spawn or self._start_thread)(lambda: self._run(turn))
        except RuntimeError as error:
            self._give_up(turn)
            raise Overloaded("no thread is left for a turn here: ask again in a moment") from error
        return turn.live

    def _attend(self, key: SessionKey, *, wait: float) -> None:
        """Take a free session's lease for a moment, close a turn that died, and append what is owed."""
        try:
            lease = self._acquire(key, None, wait=wait, patient=False)
        except (AgentError, StoreError):
            return
        try:
            self._bring_up(lease)
        except StoreError as error:
            logger.warning("litro: an interrupted turn could not be closed: %s", error)
        finally:
            self._store.release(lease)

    def _bring_up(self, lease: Lease) -> None:
        key = lease.key
        history = self._history(key)
        writer = SessionWriter(self._store, lease, ttl=self._ttl, last_seq=history.seq, show=_nobody)
        if history.open_turn is not None:
            self._close_open_turn(history, writer)
        owed = self.outbox.owed(key, history.written)
        if owed.drafts:
            for entry in writer.write(*owed.drafts):
                history.feed(entry)
        self.outbox.told(owed.proposals)
        self._keep(key, history)

    def _leave(self, key: SessionKey) -> None:
        with self._lock:
            self._live.pop(key, None)
        self._places.leave(key)

    def _begin(self, key: SessionKey, text: str | None, assignment: Assignment) -> Turn:
        turn_id = "t" + secrets.token_hex(8)
        lease = self._acquire(key, turn_id, wait=_LEASE_WAIT, patient=False)
        try:
            self._places.take(key, assignment.actor.id)
            return self._first_events(key, text, assignment, lease)
        except BaseException:
            self._leave(key)
            self._store.release(lease)
            raise

    def _first_events(self, key: SessionKey, text: str | None, assignment: Assignment, lease: Lease) -> Turn:
        turn_id = str(lease.turn_id)
        live = LiveTurn(key, turn_id, assignment.actor.id, seconds=assignment.limits.turn_seconds)
        history = self._history(key, context_tokens=assignment.limits.context_tokens)
        writer = SessionWriter(self._store, lease, ttl=self._ttl, last_seq=history.seq, show=live.show)
        if history.open_turn is not None:
            self._close_open_turn(history, writer)
        actor = {"id": assignment.actor.id, "name": assignment.actor.name}
        start = Draft(events.TURN_START, {"turn_id": turn_id, "agent": key.agent}, {"actor": actor})
        asked = [] if text is None else [Draft(events.MESSAGE, {"role": "user", "text": text})]
        owed = self.outbox.owed(key, history.written, expired=True)
        if not (asked or owed.drafts or history.has_news):
            raise _NothingToSay("there is nothing to tell")
        live.first_seq = writer.seq + 1
        for entry in writer.write(start, *owed.drafts, *asked):
            history.feed(entry)
        self.outbox.told(owed.proposals)
        self._live[key] = live
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
        if holder is None or self.last_kind(key) == events.TURN_END:
            return None
        return holder.turn_id if self._store.holder(key) == holder else None

    def last_kind(self, key: SessionKey) -> str | None:
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
            self._ended(turn)

    def _give_up(self, turn: Turn) -> None:
        """Close a turn whose thread could not be started."""
        try:
            self._close_open_turn(turn.history, turn.writer)
        except StoreError as error:
            logger.warning("litro turn %s: ends without turn-end: %s", turn.live.turn_id, error)
        finally:
            self._ended(turn)

    def _ended(self, turn: Turn) -> None:
        self._watcher.remove(turn.live)
        self._leave(turn.live.key)
        if turn.history.open_turn is None:
            self._keep(turn.live.key, turn.history)
        try:
            turn.writer.release()
        except Exception as error:  # whatever the store raises, the readers must learn the end
            logger.warning("litro turn %s: its lease was not given back: %s", turn.live.turn_id, error)
        turn.live.close()
        self.tell(turn.live.key)  # who decided after our last look found the lease taken

    def _close_open_turn(self, history: History, writer: SessionWriter) -> None:
        results = [
            Draft(events.TOOL_RESULT, {"call_id": call.call_id, "name": call.name, "error": _INTERRUPTED})
            for call in history.open_calls
        ]
        usage = {"input_tokens": 0, "output_tokens": 0}
        end = Draft(events.TURN_END, {"turn_id": history.open_turn, "reason": "interrupted", "usage": usage})
        for entry in writer.write(*results, end):
            history.feed(entry)

    def _wait_for_turns(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        for live in list(self._live.values()):
            live.wait_closed(max(0.0, until - time.monotonic()))

    def _history(self, key: SessionKey, *, context_tokens: int | None = None) -> History:
        """Return the session's history, caught up with the log. Only the lease's holder may ask."""
        with self._lock:
            history = self._histories.pop(key, None)
        if history is None:
            history = History(context_tokens=context_tokens or self._settings.context_tokens)
        history.catch_up(self._store, key)
        return history

    def _keep(self, key: SessionKey, history: History) -> None:
        with self._lock:
            self._histories[key] = history
            while len(self._histories) > _MOST_HISTORIES:
                self._histories.popitem(last=False)


def _in_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True, name="litro-turn").start()


def _nobody(entries: object) -> None:
    """Nobody watches this writer."""
