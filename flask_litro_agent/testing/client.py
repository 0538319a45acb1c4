"""``AgentClient``: a site's agent in a test, with a script in the place of the model.

    client = AgentClient(app, "concierge", actor=ann, script=[call("find_products", query="tent"), say("Two tents.")])
    turn = client.send("which tents are there?")
    assert turn.text == "Two tents."

The turn and its tools run in the caller's thread, through the same gate, loop and log as in production, so that a
fixture's transaction and an in-memory database are seen. Tools get a fresh app context and no request, as always.
"""

from __future__ import annotations

import dataclasses
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import Flask

from flask_litro_agent import events
from flask_litro_agent.contracts import Actor, ChatRequest, Provider, ProviderError, SessionKey, SessionStore
from flask_litro_agent.core.execution import inline
from flask_litro_agent.events import Event
from flask_litro_agent.installation import installed_in
from flask_litro_agent.providers.scripted import scripted
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.turns.runner import Runner

__all__ = ["AgentClient", "CalledTool", "TurnRecord"]

#: One answer of the model: an event, a text, ``say(...)``, or a list of them (several calls in one round).
Step = Any
VISITOR = Actor("visitor:" + "-" * 22, "Visitor")


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A call that the model made."""

    call_id: str
    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A turn that has ended, as its events tell it."""

    events: Sequence[Event]

    @property
    def text(self) -> str:
        """What the assistant said, rounds joined by a line break."""
        said = (event.payload for event in self.events if event.kind == events.MESSAGE)
        return "\n".join(
            message["text"] for message in said if message["role"] == "assistant" and message["text"]
        )

    @property
    def calls(self) -> list[CalledTool]:
        """Every call, in order."""
        made = (event.payload for event in self.events if event.kind == events.TOOL_CALL)
        return [CalledTool(call["call_id"], call["name"], call.get("input", {})) for call in made]

    @property
    def results(self) -> list[Any]:
        """What each call gave: its output, a component's data, or ``{"error": {"code", "message"}}``."""
        return [_result(event) for event in self.events if event.kind in (events.TOOL_RESULT, events.UI)]

    @property
    def reason(self) -> str:
        """How the turn ended: one of ``events.TURN_END_REASONS``."""
        return str(self.events[-1].payload["reason"])

    @property
    def error(self) -> Mapping[str, Any] | None:
        """The error that ended the turn, if one did."""
        return next((event.payload for event in self.events if event.kind == events.ERROR), None)


class AgentClient:
    """Talks to one agent of an app in one session.

    ``actor`` defaults to a visitor without permissions; ``script`` to the agent's own model; ``store`` to a file
    store in a temporary folder of this client. ``access()`` is not asked: it belongs to the request.
    """

    def __init__(
        self,
        app: Flask,
        agent: str,
        *,
        actor: Actor = VISITOR,
        script: Step | Iterable[Step] | None = None,
        session_id: str | None = None,
        store: SessionStore | None = None,
    ) -> None:
        installed = installed_in(app)
        self.key = SessionKey(installed.agent(agent).name, actor.id, session_id or secrets.token_hex(8))
        self.store = FileStore(self._temporary_folder(), fsync="never") if store is None else store
        runner = Runner(self.store, installed.settings, outbox=installed.runner.outbox)
        self._installed = dataclasses.replace(installed, store=self.store, runner=runner)
        self._gate = installed.gate.within(inline)
        self._provider = None if script is None else _provider(script)
        self.actor = actor

    def send(self, text: str) -> TurnRecord:
        """Run a whole turn here and now; return what happened."""
        turn = self._installed.start(
            self.key,
            text,
            actor=self.actor,
            origin="test",
            gate=self._gate,
            provider=self._provider,
            spawn=_here,
        )
        return TurnRecord([event for event in self.events if event.seq >= turn.first_seq])

    @property
    def events(self) -> list[Event]:
        """Every event of the session so far."""
        return [events.decode(entry.line) for entry in self.store.read(self.key)]

    def _temporary_folder(self) -> str:
        folder = tempfile.mkdtemp(prefix="litro-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return folder


def _here(work: Callable[[], None]) -> None:
    work()


def _provider(script: Step | Iterable[Step]) -> Provider:
    steps = iter([script] if _is_one(script) else script)
    given = 0

    def answer(request: ChatRequest, turn: int) -> Iterator[Any]:
        nonlocal given
        for step in steps:
            given += 1
            yield from _lines(step)
            return
        yield ProviderError("configuration", f"the script has ended: it held {given} of the model's answers")

    return scripted(answer, model="script")


def _is_one(step: Step) -> bool:
    return isinstance(step, str) or not isinstance(step, Iterable)


def _lines(step: Step) -> Iterator[Any]:
    if _is_one(step):
        yield step
        return
    for line in step:
        yield from _lines(line)


def _result(event: Event) -> Any:
    if event.kind == events.UI:
        return event.payload["data"]
    if "error" in event.payload:
        return {"error": event.payload["error"]}
    return event.payload.get("output")
