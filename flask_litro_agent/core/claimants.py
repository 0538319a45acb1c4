"""The processes that hold claims, and the beat by which each says that it lives.

A process has one name, made when it first claims and made anew after a fork. It beats only while it holds claims, so
that an idle site writes nothing.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
import weakref
from dataclasses import dataclass, field

from sqlalchemy import Connection, insert, update

from flask_litro_agent.core.database import Database
from flask_litro_agent.core.standing import BEAT_MS, GRACE_MS, read_clock
from flask_litro_agent.core.tables import claimant
from flask_litro_agent.errors import LedgerAway, Overloaded

__all__ = ["Claimants"]

logger = logging.getLogger(__name__)


class Claimants:
    """This process as a claimant; ``beat_seconds`` is the pause between two beats."""

    def __init__(self, database: Database, *, beat_seconds: float = BEAT_MS / 1000) -> None:
        self._database = database
        self._beat_seconds = beat_seconds
        self._processes: dict[int, _Process] = {}

    @property
    def id(self) -> str:
        """The name of this process in the ledger."""
        return self._process().id

    def beat(self) -> None:
        """Say that this process lives; its first beat makes its row."""
        process = self._process()
        with process.beating:
            self._database.write(lambda connection: self._beat(connection, process.id))

    def touch(self, connection: Connection, now: int) -> None:
        """Beat inside a transaction; the row must stand already."""
        connection.execute(update(claimant).where(claimant.c.id == self.id).values(beat_at=now))

    def hold(self, claim_id: str, limit_ms: int) -> None:
        """Beat from now on, until the claim is released or its time is over; Overloaded when no thread is left."""
        process = self._process()
        given = weakref.ref(self), process, self._beat_seconds
        beating = threading.Thread(target=_keep_beating, args=given, name="litro-claimant", daemon=True)
        try:
            process.hold(claim_id, (limit_ms + GRACE_MS) / 1000, beating)
        except RuntimeError as error:
            raise Overloaded("no thread is left here: nothing was done, try again") from error

    def release(self, claim_id: str) -> None:
        """Let go of a claim; it may be gone already."""
        self._process().release(claim_id)

    def _process(self) -> _Process:
        # a fork has its parent's dict, and no entry of its own in it; setdefault is one step for all threads
        pid = os.getpid()
        return self._processes.get(pid) or self._processes.setdefault(pid, _Process())

    def _beat(self, connection: Connection, claimant_id: str) -> None:
        now = read_clock(self._database, connection)
        found = connection.execute(update(claimant).where(claimant.c.id == claimant_id).values(beat_at=now))
        if found.rowcount == 0:
            row = {"id": claimant_id, "host": socket.gethostname()[:255], "pid": os.getpid(), "beat_at": now}
            connection.execute(insert(claimant).values(row))


@dataclass(slots=True, eq=False)
class _Process:
    """One process's name and the claims that it holds, each with the moment at which it stops counting."""

    id: str = field(default_factory=lambda: secrets.token_hex(16))
    beating: threading.Lock = field(default_factory=threading.Lock)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _held: dict[str, float] = field(default_factory=dict)
    _has_thread: bool = False

    def hold(self, claim_id: str, seconds: float, beating: threading.Thread) -> None:
        """Note the claim, and start to beat if nobody does; RuntimeError, and nothing noted, when that cannot be."""
        with self._lock:
            if not self._has_thread:
                beating.start()
                self._has_thread = True
            self._held[claim_id] = time.monotonic() + seconds

    def release(self, claim_id: str) -> None:
        with self._lock:
            self._held.pop(claim_id, None)

    def still_holds(self) -> bool:
        """Forget what is overdue; False when nothing is left, and then the caller's thread must end."""
        with self._lock:
            now = time.monotonic()
            self._held = {claim: until for claim, until in self._held.items() if until > now}
            self._has_thread = bool(self._held)
            return self._has_thread


def _keep_beating(claimants: weakref.ref[Claimants], process: _Process, seconds: float) -> None:
    """Beat as long as the process holds claims and the ledger's owner keeps the ledger."""
    while True:
        time.sleep(seconds)
        beating = claimants()
        if beating is None or not process.still_holds():
            return
        try:
            beating.beat()
        except LedgerAway as error:
            logger.warning("a claimant could not beat: %s", error)
        del beating
