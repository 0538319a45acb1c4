"""The stream that tells an open page that something has changed: how many wait, and a mark to compare.

It carries no word of any proposal: the page asks for itself again, and passes every check anew. A response lasts at
most LITRO_STREAM_SECONDS; a browser's EventSource comes again by itself, and says which mark it knows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from flask import Response, request

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.waiting import Pulse
from flask_litro_agent.errors import NotFound
from flask_litro_agent.installation import Installation
from flask_litro_agent.web import clients
from flask_litro_agent.web.admin.entry import ADMIN, APPROVE
from flask_litro_agent.web.admin.routes import Route
from flask_litro_agent.web.admin.watch import Watch
from flask_litro_agent.web.slots import Slots, refuse_one_at_a_time

__all__ = ["LivePages"]

#: What EventSource takes as a line without a meaning, and when it is to come again, in ms.
_HEARTBEAT: Final = b":\n\n"
_HELLO: Final = b"retry: 1000\n\n"
_LOOK_SECONDS: Final = 1.0


class LivePages:
    """The route of the stream."""

    def __init__(self, installed: Installation, slots: Slots) -> None:
        self._installed = installed
        self._slots = slots
        self._watch = Watch(installed.books.waiting.pulse) if installed.books else None

    def routes(self) -> Iterator[Route]:
        """Yield the stream's route."""
        yield Route("/inbox/stream", "stream", self.stream, (APPROVE, ADMIN))

    def stream(self, actor: Actor) -> Response:
        """Tell whenever something has changed, as server-sent events."""
        if self._watch is None:
            raise NotFound("there is nothing to watch")
        refuse_one_at_a_time(request.environ)
        settings = self._installed.settings
        with self._slots.take(actor.id, request.environ) as slot:
            news = _News(
                watch=self._watch,
                known=request.headers.get("Last-Event-ID") or request.args.get("mark"),
                gone=clients.watch(request.environ),
                longest=settings.stream_seconds,
                heartbeat=settings.heartbeat_seconds,
            )
            response = Response(news.chunks(), mimetype="text/event-stream")
            response.headers["X-Accel-Buffering"] = "no"
            if request.method != "HEAD":  # which has no body, so that nobody would ever close it
                slot.keep(response)
            return response


@dataclass(slots=True, kw_only=True)
class _News:
    """One listener's response; times are in seconds."""

    watch: Watch
    known: str | None
    gone: Callable[[], bool]
    longest: float
    heartbeat: float

    def chunks(self) -> Iterator[bytes]:
        """Yield an event for every change, and a comment where there is silence."""
        yield _HELLO
        spoke = time.monotonic()
        end = spoke + self.longest
        with self.watch.listening():
            while (now := time.monotonic()) < end and not self.gone():
                wait = min(_LOOK_SECONDS, end - now, self.heartbeat)
                if pulse := self.watch.next(self.known, wait):
                    self.known = pulse.mark
                    yield _event(pulse)
                elif time.monotonic() - spoke >= self.heartbeat:
                    yield _HEARTBEAT
                else:
                    continue
                spoke = time.monotonic()


def _event(pulse: Pulse) -> bytes:
    data = json.dumps({"count": pulse.count, "mark": pulse.mark})
    return f"id: {pulse.mark}\nevent: waiting\ndata: {data}\n\n".encode()
