"""Giving a visitor's sessions to the account that he signed in to."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import islice

from flask_litro_agent.contracts import Entry, SessionKey, SessionStore
from flask_litro_agent.errors import LitroError
from flask_litro_agent.turns.runner import Runner

__all__ = ["hand_over"]

logger = logging.getLogger(__name__)

_GROUP = 500


def hand_over(store: SessionStore, runner: Runner, *, owner: str, heir: str, ttl: float) -> int:
    """Copy every session of ``owner`` to ``heir`` and delete the original; return how many were moved.

    A running turn is stopped first. A session whose id the heir already uses, or that cannot be had now, stays
    where it is. Each original goes only after its copy is whole.
    """
    return sum(
        _move(store, runner, key, key._replace(owner=heir), ttl) for key in list(_sessions(store, owner))
    )


def _sessions(store: SessionStore, owner: str) -> Iterator[SessionKey]:
    cursor: str | None = None
    while True:
        page, cursor = store.list(owner, after=cursor)
        yield from (info.key for info in page)
        if cursor is None:
            return


def _move(store: SessionStore, runner: Runner, source: SessionKey, target: SessionKey, ttl: float) -> bool:
    try:
        original = runner.seize(source)
        try:
            others = runner.retire(original, reason="session_moved")
            copied = _copy(store, source, target, ttl)
            if copied:
                runner.outbox.move(source, target)  # a run that goes on ends in the copy
                runner.remove(source, original)
        finally:
            store.release(original)
    except LitroError as error:
        logger.warning("litro: a session was not handed over: %s", error)
        return False
    for other in others:
        runner.tell(other)
    return copied


def _copy(store: SessionStore, source: SessionKey, target: SessionKey, ttl: float) -> bool:
    lease = store.acquire(target, ttl)
    if lease is None:
        return False
    try:
        entries = (
            store.read(source, after=store.last_seq(target)) if _is_copy(store, source, target) else None
        )
        while entries is not None and (group := list(islice(entries, _GROUP))):
            store.append(target, group, lease)
        return entries is not None
    finally:
        store.release(lease)


def _is_copy(store: SessionStore, source: SessionKey, target: SessionKey) -> bool:
    """Whether the target is empty, or the start of an earlier copy of the source that was cut short."""
    ours: Iterator[Entry] = store.read(source)
    return all(entry == next(ours, None) for entry in store.read(target))
