"""The audit chain's head in the site's log, once a day from every process: logs leave the machine, and so does it.

There is no thread for it: a request that finds the day over has it written by a thread of its own, and a site without
requests has no new rows.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Final

from flask_litro_agent.core.audit import Audit

__all__ = ["Heads"]

logger = logging.getLogger(__name__)

_DAY: Final = 86_400.0
_SETTLED: Final = 60.0


class Heads:
    """Logs one app's heads; the first one ``first`` seconds after the process's first request."""

    def __init__(self, audit: Audit, *, first: float = _SETTLED, every: float = _DAY) -> None:
        self._audit = audit
        self._first = first
        self._every = every
        self._due: dict[int, float] = {}

    def attend(self) -> None:
        """Have the head logged if it is time; this waits for nothing."""
        pid, now = os.getpid(), time.monotonic()
        due = self._due.setdefault(pid, now + self._first)
        if now < due:
            return
        self._due[pid] = now + self._every
        try:
            threading.Thread(target=self._log, name="litro-head", daemon=True).start()
        except RuntimeError:  # no thread is left: another request tries
            self._due[pid] = due

    def _log(self) -> None:
        try:
            logger.info("litro audit: head %s", self._audit.head())
        except Exception as error:  # the engine may be a site's
            logger.warning("litro audit: the head could not be read: %s", error)
