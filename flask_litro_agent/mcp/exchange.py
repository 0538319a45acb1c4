"""One call while somebody waits for it: what it reports, and at last its answer.

The call runs in a thread of its own, so that whoever waits can look whether his client is still there. Each exchange
has its own queue: two clients that use the same request id have nothing in common. Leaving ends the waiting, and a
tool that only reads is left behind; a proposal that was recorded stays, and what an operator approves runs elsewhere.
"""

from __future__ import annotations

import json
import logging
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from flask_litro_agent.contracts import Stop
from flask_litro_agent.errors import Overloaded
from flask_litro_agent.mcp.messages import ProtocolError, Request, failed, note, succeeded
from flask_litro_agent.mcp.server import Call

__all__ = ["Exchange"]

logger = logging.getLogger(__name__)

_INTERNAL_ERROR: Final = -32603
_LOOK_SECONDS: Final = 0.5
#: Reports that wait to be sent; a client that does not read them misses some.
_MOST_WAITING: Final = 64
_LONGEST_REPORT: Final = 1000


@dataclass(frozen=True, slots=True)
class _Answer:
    message: dict[str, Any]


class Exchange:
    """The call of one request. Whoever starts it must leave it."""

    def __init__(self, request: Request, call: Call, *, reports: bool) -> None:
        """With ``reports`` the progress of the tool is told under the request's progress token."""
        self._request = request
        self._call = call
        self._reports = reports
        self._told = 0
        self._stop = Stop()
        self._queue: queue.SimpleQueue[dict[str, Any] | _Answer] = queue.SimpleQueue()

    def start(self) -> None:
        """Begin the call; Overloaded when there is no thread for it."""
        try:
            threading.Thread(target=self._run, daemon=True, name="litro-mcp").start()
        except RuntimeError as error:
            raise Overloaded("no thread is left here: ask again in a moment") from error

    def messages(self, *, gone: Callable[[], bool], heartbeat: float) -> Iterator[dict[str, Any] | None]:
        """Yield each report and at last the answer, None after ``heartbeat`` seconds of silence.

        It ends without an answer when ``gone`` says that nobody reads any more.
        """
        silent_since = time.monotonic()
        while True:
            try:
                item = self._queue.get(timeout=min(_LOOK_SECONDS, heartbeat))
            except queue.Empty:
                if gone():
                    return self.leave()
                if time.monotonic() - silent_since >= heartbeat:
                    silent_since = time.monotonic()
                    yield None
                continue
            silent_since = time.monotonic()
            if isinstance(item, _Answer):
                yield item.message
                return None
            yield item

    def answer(self, *, gone: Callable[[], bool]) -> dict[str, Any] | None:
        """Wait for the answer; None when nobody waits for it any more."""
        last: dict[str, Any] | None = None
        for message in self.messages(gone=gone, heartbeat=_LOOK_SECONDS):
            last = message
        return last

    def leave(self) -> None:
        """Wait no longer: a tool that still runs is left behind."""
        self._stop.set(wait=False)

    def _run(self) -> None:
        try:
            message = succeeded(self._request.id, self._call.run(self._report, self._stop))
        except ProtocolError as error:
            message = failed(self._request.id, error.code, error.message, error.data)
        except BaseException as error:
            error_id = secrets.token_hex(4)
            logger.error("litro mcp: internal error %s", error_id, exc_info=error)
            message = failed(self._request.id, _INTERNAL_ERROR, f"internal error {error_id}")
        self._queue.put(_Answer(message))

    def _report(self, value: Any) -> None:
        if not self._reports or self._queue.qsize() >= _MOST_WAITING:
            return
        self._told += 1
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        told = {"progressToken": self._request.progress_token, "progress": self._told}
        self._queue.put(note("notifications/progress", {**told, "message": text[:_LONGEST_REPORT]}))
