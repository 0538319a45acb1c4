"""Deleting sessions in which nothing has happened for long enough."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator
from typing import Protocol, runtime_checkable

from flask_litro_agent.contracts import SessionKey, SessionStore
from flask_litro_agent.errors import AgentError, ConfigurationError, StoreError
from flask_litro_agent.turns.runner import Runner

__all__ = ["KnowsOwners", "prune_sessions"]

logger = logging.getLogger(__name__)


@runtime_checkable
class KnowsOwners(Protocol):
    """What a session store has, beside the contract, that can be pruned without naming a person."""

    def owners(self) -> Iterable[str]: ...


def prune_sessions(
    store: SessionStore, runner: Runner, *, before: int, owner: str | None, kept: Collection[SessionKey]
) -> int:
    """Delete the sessions last changed before that moment (ms since the epoch), of one owner or of all.

    Those in ``kept`` stay, and those in which somebody writes now. Return how many were deleted; ConfigurationError
    when the store cannot say whose sessions there are.
    """
    if owner is None and not isinstance(store, KnowsOwners):
        raise ConfigurationError(
            f"the session store {type(store).__name__} cannot list everybody's sessions: name a person by --actor"
        )
    owners = [owner] if owner is not None else list(store.owners()) if isinstance(store, KnowsOwners) else []
    old = [key for each in owners for key in _old(store, each, before) if key not in kept]
    return sum(_delete(store, runner, key) for key in old)


def _old(store: SessionStore, owner: str, before: int) -> Iterator[SessionKey]:
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
