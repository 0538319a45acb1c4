"""A workbench with a ledger: the turns of ``tests/bench.py``, tools that change something, and an operator."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import threading

from marshmallow import Schema, fields
from sqlalchemy import Engine

from flask_litro_agent import Mode, tool
from flask_litro_agent.agents import Agent
from flask_litro_agent.contracts import Actor, Note, SessionKey
from flask_litro_agent.core.audit import Audit
from flask_litro_agent.core.ceiling import Ceiling, Level, agent_scope
from flask_litro_agent.core.database import Database
from flask_litro_agent.core.gate import Gate
from flask_litro_agent.core.ledger import Ledger
from flask_litro_agent.core.proposals import session_digest
from flask_litro_agent.errors import NothingDone
from flask_litro_agent.policies.permissions import Permissions
from flask_litro_agent.turns.outbox import Outbox
from flask_litro_agent.turns.runner import Runner
from tests.bench import SOON, Bench
from tests.databases import Clock, new_ledger, open_database
from tests.site.agents.desk.agent import Puppet

EVE = Actor("eve", "Eve", frozenset({"refunds:edit"}))
OPS = Actor("ops", "Olga Operator", frozenset({"refunds:edit", "litro:approve"}))
PEOPLE = {person.id: person for person in (EVE, OPS)}
DONE = [["say", "done"]]


class Refund(Schema):
    order = fields.Integer(required=True, strict=True)


def refund_tool(run):
    """Return the tool ``refund``, which hands what it is asked to ``run``."""

    @tool(
        description="Refund an order.", permission="refunds:edit", mode=Mode.PROPOSE, params=Refund, ttl=300
    )
    def refund(params, ctx):
        return run(params, ctx)

    return refund


class ProposalBench(Bench):
    """A bench whose desk has ``refund``; ``paid`` are the orders that it refunded.

    The database's clock is ``clock``; the tool does what ``run`` does. Another process's bench takes the same paths.
    """

    def __init__(self, folder, *, ledger=Ledger, store=None, **settings):
        super().__init__(store or folder / "sessions", **settings)
        self.paid = []
        self.run_refund = lambda params, ctx: self.paid.append(params["order"]) or {"paid": params["order"]}
        self.tools = {**self.tools, "refund": refund_tool(lambda params, ctx: self.run_refund(params, ctx))}
        self.is_away = False
        file = folder / "ledger.db"
        self.database = open_database(f"sqlite:///{file}" if file.exists() else new_ledger(file))
        self.clock = Clock(Database(self._engine), 1_800_000_000_000)
        audit = Audit(self.clock)
        self.ledger = ledger(self.clock, audit)
        scopes = frozenset({agent_scope("desk")})
        self.ceiling = Ceiling(self.clock, audit, first=Level.PROPOSE, declared={}, scopes=scopes)
        self.gate = Gate(
            {"desk": self.tools},
            {"desk": self.limits},
            [Permissions()],
            around=lambda context: contextlib.nullcontext(),
            ledger=self.ledger,
            ceiling=self.ceiling,
            audit=audit,
            actor_loader=PEOPLE.get,
        )
        self.agent = dataclasses.replace(self.agent, agent=Agent(model=self.puppet), tools=self.tools)
        self.runner = Runner(self.store, self.settings, outbox=Outbox(self.ledger))

    def _engine(self) -> Engine:
        if self.is_away:
            raise RuntimeError("the database went away")
        return self.database.engine

    def key(self, session="s1", actor=EVE):
        return SessionKey("desk", actor.id, session)

    def assignment(self, actor=EVE, **changes):
        return super().assignment(actor, **changes)

    def start(self, *rounds, actor=EVE, **options):
        return super().start(*rounds, actor=actor, **options)

    def propose(self, order=1, **options):
        """Run a turn that proposes a refund; return the proposal."""
        found = self.run(asks(order), DONE, **options)
        (card,) = [event.payload for event in found if event.kind == "proposal"]
        return self.ledger.get(card["proposal_id"])

    def approve(self, proposal):
        """Decide as the view does, without telling the session."""
        return self.gate.approve(proposal.id, proposal.digest, OPS)

    def dismiss(self, proposal, note="no"):
        return self.gate.dismiss(proposal.id, proposal.digest, OPS, note)

    def settled(self, key=None):
        """Return the (order of the) ends that the log tells, as (proposal id, state)."""
        found = [event.payload for event in self.events(key) if event.kind == "proposal-settled"]
        return [(payload["proposal_id"], payload["state"]) for payload in found]

    def owed(self, key=None):
        return self.ledger.owed(session_digest(*(key or self.key())))

    def notes(self, request=-1):
        """Return the notes of a request to the model, each as the lines of JSON in it."""
        messages = self.puppet.requests[request].messages
        texts = [part.text for message in messages for part in message.parts if isinstance(part, Note)]
        return [[json.loads(line) for line in text.split("\n")[1:]] for text in texts]


class Held(Puppet):
    """A model that says nothing before ``go`` is set."""

    def __init__(self):
        super().__init__()
        self.go = threading.Event()

    def stream(self, request, stop):
        assert self.go.wait(SOON)
        yield from super().stream(request, stop)


def asks(*orders):
    """Return a round in which the model asks for these refunds."""
    return [["call", "refund", {"order": order}] for order in orders]


def nothing_done(params, ctx):
    raise NothingDone("the bank said no")


def crash(params, ctx):
    raise RuntimeError("canary-secret in the tool")


def ended(live):
    assert live.wait_closed(SOON)
