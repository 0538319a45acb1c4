"""The thread, one a process, that carries the webhook's messages; nobody who does something else waits for it.

    record ──► the message's row, in the same transaction ──► wake ──► take ──► POST ──► close
                                   another process's poll ──────┘         └──► put off, or give up

It starts when the process has its first request or its first proposal, after every fork, and looks every 30 seconds for
what others have left behind. A message is sent by one process at a time, and again only after a crash or without a
2xx: at least once, and under the same id.
"""

from __future__ import annotations

import contextvars
import logging
import os
import threading
import weakref
from collections.abc import Callable
from typing import Final

from flask import Flask

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.deliveries import Deliveries, Delivery
from flask_litro_agent.core.news import News, ProposalRecorded
from flask_litro_agent.core.proposals import Proposal
from flask_litro_agent.errors import LedgerAway
from flask_litro_agent.notices import message
from flask_litro_agent.notices.links import card_url
from flask_litro_agent.notices.webhook import Answer, Webhook
from flask_litro_agent.settings import Settings

__all__ = ["PAUSES", "Courier"]

logger = logging.getLogger(__name__)

#: Seconds after the first failed attempt, the second, and so on; after one more it is given up.
PAUSES: Final = (5, 30, 120, 600, 1_800, 3_600, 7_200, 18_000, 36_000)
#: How long a message is one process's own: longer than an attempt can take.
_HELD_MS: Final = 60_000
_POLL_SECONDS: Final = 30.0
_LONGEST_WISH: Final = 86_400.0
_MEND: Final = "The inbox still shows it: mend the receiver, or set another LITRO_WEBHOOK_URL"


class Courier:
    """Sends one app's messages; ``name_of`` is the site's loader of people by their id."""

    def __init__(
        self,
        app: Flask,
        settings: Settings,
        deliveries: Deliveries,
        webhook: Webhook,
        *,
        name_of: Callable[[str], Actor | None],
        poll_seconds: float = _POLL_SECONDS,
    ) -> None:
        self._app = app
        self._settings = settings
        self._deliveries = deliveries
        self._webhook = webhook
        self._name_of = name_of
        self._poll_seconds = poll_seconds
        self._processes: dict[int, _Process] = {}
        self._is_away = False

    @property
    def is_private(self) -> bool:
        """Whether nobody on the way can read the messages."""
        return self._webhook.is_private

    def hear(self, news: News) -> None:
        """Send at once what was recorded here."""
        if isinstance(news, ProposalRecorded):
            self.attend()
            self._process().bell.set()

    def attend(self) -> None:
        """See to it that this process has its thread; an app under test has none: nothing of its own accord."""
        process = self._process()
        if process.has_thread or self._app.testing or not process.starting.acquire(blocking=False):
            return
        try:
            if not process.has_thread:
                process.start(self)
        finally:
            process.starting.release()

    def drain(self, seconds: float) -> None:
        """Send what is due now, so long and no longer: the process ends."""
        process = self._process()
        if process.thread is not None:
            process.is_ending = True
            process.bell.set()
            process.thread.join(seconds)

    def deliver(self) -> float:
        """Send everything that is due; return in how many seconds to look again."""
        try:
            self._deliveries.note_unknown()
            while taken := self._deliveries.take(for_ms=_HELD_MS):
                self._send(taken)
            due_in = self._deliveries.due_in()
            self._is_away = False
        except LedgerAway as error:
            self._say_away(error)
            due_in = None
        return self._poll_seconds if due_in is None else min(self._poll_seconds, max(0.0, due_in / 1000))

    def _send(self, taken: Delivery) -> None:
        proposal = taken.proposal
        if proposal is None or not taken.is_true:
            if taken.attempts > 1:
                logger.warning(
                    "litro webhook: message %s did not arrive in time: it is no longer so", taken.id
                )
            return self._deliveries.close(taken)
        answer = self._posted(taken, proposal)
        if answer.is_taken:
            return self._deliveries.close(taken)
        return self._put_off(taken, proposal, answer)

    def _posted(self, taken: Delivery, proposal: Proposal) -> Answer:
        try:
            url = card_url(self._settings, proposal.id)
            body = message.body(taken, proposal, name=self._name(proposal.proposer), url=url)
            return self._webhook.post(taken.id, body, at=taken.now // 1000)
        except Exception:
            logger.exception("litro webhook: message %s could not be made", taken.id)
            return Answer(False, "was not asked")

    def _name(self, actor_id: str) -> str | None:
        """Return what the site calls this person; a loader that fails costs the name and nothing else."""

        def ask() -> str | None:
            with self._app.app_context():
                found = self._name_of(actor_id)
                return None if found is None else found.name

        try:
            return contextvars.Context().run(ask)
        except Exception as error:
            logger.warning("litro webhook: the actor_loader failed: %s", type(error).__name__)
            return None

    def _put_off(self, taken: Delivery, proposal: Proposal, answer: Answer) -> None:
        said = f"{self._webhook.host} {answer.said}: {taken.event} of {proposal.id}, attempt {taken.attempts}"
        if answer.is_final or taken.attempts > len(PAUSES):
            self._deliveries.give_up(taken)
            return logger.error("litro webhook: %s; it is given up. %s", said, _MEND)
        pause = max(PAUSES[taken.attempts - 1], min(answer.retry_after or 0.0, _LONGEST_WISH))
        self._deliveries.put_off(taken, for_ms=int(pause * 1000))
        return logger.warning("litro webhook: %s; the next one is in %g s", said, pause)

    def _say_away(self, error: LedgerAway) -> None:
        """Say it once, not at every look."""
        if not self._is_away:
            logger.warning("litro webhook: messages wait: %s", error)
        self._is_away = True

    def _process(self) -> _Process:
        # a fork has its parent's dict, and no entry of its own in it; setdefault is one step for all threads
        pid = os.getpid()
        return self._processes.get(pid) or self._processes.setdefault(pid, _Process())


class _Process:
    """One process's thread, and the bell that wakes it."""

    def __init__(self) -> None:
        self.bell = threading.Event()
        self.starting = threading.Lock()
        self.thread: threading.Thread | None = None
        self.is_ending = False

    @property
    def has_thread(self) -> bool:
        return self.thread is not None and self.thread.is_alive()

    def start(self, courier: Courier) -> None:
        given = weakref.ref(courier), self
        thread = threading.Thread(target=_go_round, args=given, name="litro-courier", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            logger.warning("litro webhook: messages wait: %s", error)
        else:
            self.thread = thread


def _go_round(known: weakref.ref[Courier], process: _Process) -> None:
    """Deliver whenever the bell rings or something is due, until the process ends or the app is gone."""
    while True:
        courier = known()
        if courier is None:
            return
        process.bell.clear()
        wait = _round(courier)
        if process.is_ending:
            return
        del courier
        process.bell.wait(wait)


def _round(courier: Courier) -> float:
    try:
        return courier.deliver()
    except Exception:  # the engine may be a site's: the next round comes
        logger.exception("litro webhook: a round failed")
        return _POLL_SECONDS
