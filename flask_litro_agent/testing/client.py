"""``AgentClient``: a site's agent in a test, with a script in the place of the model.

    client = AgentClient(app, "concierge", actor=ann, script=[call("find_products", query="tent"), say("Two tents.")])
    turn = client.send("which tents are there?")
    assert turn.text == "Two tents."

The turn and its tools run in the caller's thread, through the same gate, loop and log as in production, so that a
fixture's transaction and an in-memory database are seen. Tools get a fresh app context and no request, as always.
"""

from __future__ import annotations

import contextvars
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
from flask_litro_agent.core.ledger import Ledger
from flask_litro_agent.core.proposals import Proposal
from flask_litro_agent.errors import NotFound
from flask_litro_agent.events import Event
from flask_litro_agent.installation import installed_in
from flask_litro_agent.providers.scripted import scripted
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.testing.operator import OperatorDesk
from flask_litro_agent.turns import approval_rule
from flask_litro_agent.turns.runner import Runner

__all__ = ["AgentClient", "CalledTool", "TurnRecord"]

#: One answer of the model: an event, a text, ``say(...)``, or a list of them (several calls in one round).
Step = Any
_RESULTS = frozenset({events.TOOL_RESULT, events.UI, events.PROPOSAL})
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
        """What each call gave: its output, a component's data, or ``{"error": {"code", "message"}}``.

        For a call that became a proposal it is what the model got: ``{"status", "proposal_id", "instruction"}``.
        """
        return [_result(event) for event in self.events if event.kind in _RESULTS]

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
        parts = installed.runner
        runner = Runner(
            self.store, installed.settings, outbox=parts.outbox, endings=parts.endings, spawn=_apart
        )
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

    @property
    def proposals(self) -> list[Proposal]:
        """The session's proposals as they stand now, oldest first."""
        books = self._installed.books
        return [] if books is None else list(_proposals(books.ledger, self.key))

    def approve(self, proposal: Proposal, *, operator: Actor) -> Proposal:
        """Approve what this proposal shows, as an operator does: by the real view, with a real token.

        The tool runs in this thread. Return the proposal as it stands then; raise what the view refuses with, such
        as ProposalClosed or Forbidden.
        """
        return self._decide("approve", proposal, operator, {})

    def dismiss(self, proposal: Proposal, *, operator: Actor, note: str | None = None) -> Proposal:
        """Dismiss it, as an operator does; see ``approve``."""
        return self._decide("dismiss", proposal, operator, {} if note is None else {"note": note})

    def _decide(self, what: str, proposal: Proposal, operator: Actor, fields: dict[str, str]) -> Proposal:
        books = self._installed.books
        if books is None:
            raise NotFound("there is no such proposal")
        providers = {**self._installed.providers}
        if self._provider is not None:
            providers[self.key.agent] = self._provider
        installed = dataclasses.replace(self._installed, gate=self._gate, providers=providers)
        OperatorDesk(installed, operator).decide(what, proposal, fields)
        return books.ledger.get(proposal.id) or proposal

    def _temporary_folder(self) -> str:
        folder = tempfile.mkdtemp(prefix="litro-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return folder


def _here(work: Callable[[], None]) -> None:
    work()


def _apart(work: Callable[[], None]) -> None:
    """Run a turn that a decision begins: in this thread, and outside of the decision's request."""
    contextvars.Context().run(work)


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


def _proposals(ledger: Ledger, key: SessionKey) -> Iterator[Proposal]:
    found: list[Proposal] = []
    mark = None
    while True:
        page, mark = ledger.find(agent=key.agent, owner=key.owner, after=mark)
        found += page
        if mark is None:
            return (one for one in reversed(found) if one.session == key.session)


def _result(event: Event) -> Any:
    if event.kind == events.PROPOSAL:
        return approval_rule.waiting(event.payload["proposal_id"])
    if event.kind == events.UI:
        return event.payload["data"]
    if "error" in event.payload:
        return {"error": event.payload["error"]}
    return event.payload.get("output")
