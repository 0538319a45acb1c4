"""Deleting sessions in which nothing has happened for long enough."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator

from flask_litro_agent.contracts import SessionKey, SessionStore
from flask_litro_agent.errors import AgentError, StoreError
from flask_litro_agent.turns.runner import Runner

__all__ = ["prune_sessions"]

logger = logging.getLogger(__name__)


def prune_sessions(
    store: SessionStore, runner: Runner, *, before: int, owner: str | None, kept: Collection[SessionKey]
) -> int:
    """Delete the sessions last changed before that moment (ms since the epoch), of one owner or of all.

    Those in ``kept`` stay, and those in which somebody writes now. Return how many were deleted.
    """
    old = [key for key in _old(store, owner, before) if key not in kept]
    return sum(_delete(store, runner, key) for key in old)


def _old(store: SessionStore, owner: str | None, before: int) -> Iterator[SessionKey]:
    mark: str | None = None
    while True:
        page, mark = store.list(owner, after=mark)
        yield from (info.key for info in page if info.updated < before)
        if mark is None:
            return


def _delete(store: SessionStore, runner: Runner, key: SessionKey) -> bool:
    if store.is_leased(key):
        return False
    try:
        runner.delete(key)
    except (AgentError, StoreError) as error:
        logger.warning("litro: a session was not pruned: %s", error)
        return False
    return True
