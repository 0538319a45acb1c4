"""A session store in memory: for one process, and gone with it. It keeps every law of a store but durability."""

import secrets
import threading
import time
from dataclasses import dataclass, field

from flask_litro_agent.contracts import Holder, Lease, SessionInfo
from flask_litro_agent.errors import BadRequest, LeaseLost, SessionDeleted, StoreError


@dataclass
class Session:
    created: int
    updated: int = 0
    entries: list = field(default_factory=list)
    lease: Lease | None = None
    epoch: int = 0
    ttl: float = 0.0
    until: float = 0.0
    deleted: bool = False


class Memory:
    """What all stores of one memory share; ``changed`` guards it and wakes who waits."""

    def __init__(self):
        self.changed = threading.Condition()
        self.sessions = {}
        self.stops = set()


class MemoryStore:
    def __init__(self, memory=None):
        self.memory = memory or Memory()

    def append(self, key, entries, lease):
        with self.memory.changed:
            session = self._writable(key, lease)
            last = len(session.entries)
            if [entry.seq for entry in entries] != list(range(last + 1, last + 1 + len(entries))):
                raise StoreError(f"the next entry of this session is {last + 1}")
            session.entries.extend(entries)
            session.updated = time.time_ns()
            self.memory.changed.notify_all()

    def read(self, key, after=0, kinds=None):
        with self.memory.changed:
            entries = self._open(key).entries[after:]
        return iter([entry for entry in entries if kinds is None or entry.kind in kinds])

    def wait(self, key, after, seconds):
        with self.memory.changed:
            return self.memory.changed.wait_for(lambda: len(self._open(key).entries) > after, seconds)

    def acquire(self, key, ttl, turn_id=None):
        with self.memory.changed:
            session = self._open(key)
            if self._held(session):
                return None
            self.memory.sessions[key] = session
            session.epoch += 1
            session.ttl, session.until = ttl, time.monotonic() + ttl
            session.lease = Lease(key, secrets.token_hex(8), session.epoch, turn_id)
            return session.lease

    def renew(self, lease):
        with self.memory.changed:
            session = self.memory.sessions.get(lease.key)
            if session is None or session.lease != lease or not self._held(session):
                return False
            session.until = time.monotonic() + session.ttl
            return True

    def release(self, lease):
        with self.memory.changed:
            session = self.memory.sessions.get(lease.key)
            if session is not None and session.lease == lease:
                session.lease = None

    def holder(self, key):
        with self.memory.changed:
            session = self.memory.sessions.get(key)
            if session is None or not self._held(session):
                return None
            return Holder(session.lease.turn_id, session.lease.epoch)

    def is_leased(self, key):
        return self.holder(key) is not None

    def stop(self, key, turn_id):
        with self.memory.changed:
            self.memory.stops.add(turn_id)

    def stopped(self, turn_ids):
        with self.memory.changed:
            return frozenset(turn_ids) & self.memory.stops

    def last_seq(self, key):
        with self.memory.changed:
            return len(self._open(key).entries)

    def list(self, owner, *, agent=None, after=None, limit=50):
        with self.memory.changed:
            found = [
                (session.updated, session.created, key)
                for key, session in self.memory.sessions.items()
                if owner in (None, key.owner) and session.entries and agent in (None, key.agent)
            ]
        found = [row for row in sorted(found, reverse=True) if row[0] < _position(after)]
        page = [
            SessionInfo(key, created // 10**6, updated // 10**6) for updated, created, key in found[:limit]
        ]
        return page, (str(found[limit - 1][0]) if len(found) > limit else None)

    def delete(self, key, lease):
        with self.memory.changed:
            session = self._writable(key, lease)
            session.deleted, session.lease = True, None
            session.entries.clear()
            self.memory.changed.notify_all()

    def _open(self, key):
        session = self.memory.sessions.get(key) or Session(created=time.time_ns())
        if session.deleted:
            raise SessionDeleted(key.session)
        return session

    def _writable(self, key, lease):
        session = self._open(key)
        if session.lease is None or session.lease != lease or not self._held(session):
            raise LeaseLost(f"not the writer of {key.session!r}")
        return session

    def _held(self, session):
        return session.lease is not None and time.monotonic() < session.until


def _position(cursor):
    if cursor is None:
        return float("inf")
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) == 19):
        raise BadRequest("no page has this cursor")
    return int(cursor)
