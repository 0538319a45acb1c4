"""A gate over a real ledger on SQLite, whose clock stands until a test moves it, and two people."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from marshmallow import Schema, fields
from sqlalchemy import select, update

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core import tables
from flask_litro_agent.core.audit import Audit
from flask_litro_agent.core.ceiling import Ceiling, Level
from flask_litro_agent.core.gate import CallSite, Gate, NeedsApproval
from flask_litro_agent.core.ledger import Ledger
from flask_litro_agent.core.proposals import Proposal
from flask_litro_agent.policies.permissions import Permissions
from flask_litro_agent.settings import Settings
from flask_litro_agent.tools import Mode, Tool, tool
from tests.databases import frozen, new_ledger, open_database

ANN = Actor("ann", "Ann", frozenset({"orders:edit"}))
OLA = Actor("ola", "Ola", frozenset({"litro:approve", "orders:edit"}))
LIMITS = Settings(tool_seconds=5.0).limits
TTL_MS = 300_000
ARGUMENTS = {"number": 7}


class Order(Schema):
    number = fields.Integer(required=True, strict=True)
    note = fields.String(load_default="none")


class Spy:
    """A write tool's function: keeps what it was called with, and answers with what ``act`` returns."""

    def __init__(self, act: Callable[..., Any] = lambda params, ctx: {"done": params["number"]}) -> None:
        self.act = act
        self.calls: list[tuple[dict[str, Any], Any]] = []

    @property
    def runs(self) -> int:
        return len(self.calls)

    def tool(self, name: str = "change", **declaration: Any) -> Tool:
        def function(params: dict[str, Any], ctx: Any) -> Any:
            self.calls.append((params, ctx))
            return self.act(params, ctx)

        function.__name__ = name
        given: dict[str, Any] = {
            "description": "Change an order.",
            "permission": "orders:edit",
            "mode": Mode.PROPOSE,
            "params": Order,
        }
        return tool(**given | declaration)(function)


class GateBench:
    """``people`` is what the actor loader knows: change it, and the site has changed."""

    def __init__(self, folder: Path, *tools: Tool, first: Level = Level.EXECUTE, **options: Any) -> None:
        file = folder / "ledger.db"
        uri = f"sqlite:///{file}" if file.exists() else new_ledger(file)
        self.database = frozen(open_database(uri))
        self.audit = Audit(self.database)
        self.ledger = Ledger(self.database, self.audit)
        scopes = frozenset({"agent:desk", *(f"tool:desk.{each.name}" for each in tools)})
        self.ceiling = Ceiling(self.database, self.audit, first=first, declared={}, scopes=scopes)
        self.people = {person.id: person for person in (ANN, OLA)}
        self.policies: Sequence[Any] = [Permissions()]
        self.around: Callable[[Any], Any] = lambda context: contextlib.nullcontext()
        self.gate = self.gate_for(*tools, **options)

    def gate_for(self, *tools: Tool, **changes: Any) -> Gate:
        """Return a gate over the same ledger, as another start of the site makes it."""
        given = {"ledger": self.ledger, "ceiling": self.ceiling, "audit": self.audit, "protected": ()}
        given |= {"actor_loader": lambda actor_id: self.people.get(actor_id)}
        policies = changes.pop("policies", self.policies)
        limits = changes.pop("limits", LIMITS)
        around = changes.pop("around", lambda context: self.around(context))
        mapped = {each.name: each for each in tools}
        return Gate({"desk": mapped}, {"desk": limits}, policies, around=around, **given | changes)

    def call(
        self,
        name: str = "change",
        arguments: Any = None,
        *,
        actor: Any = ANN,
        gate: Gate | None = None,
        **site: Any,
    ) -> Any:
        raw = ARGUMENTS if arguments is None else arguments
        where = CallSite(**{"session_id": "s1", **site})
        return (gate or self.gate).call("desk", name, raw, actor=actor, origin="test", site=where)

    def propose(self, name: str = "change", arguments: Any = None, **options: Any) -> Proposal:
        outcome = self.call(name, arguments, **options)
        assert isinstance(outcome, NeedsApproval), outcome
        return outcome.proposal

    def approve(
        self, proposal: Proposal, *, digest: str | None = None, operator: Any = OLA, gate: Gate | None = None
    ) -> Proposal:
        shown = proposal.digest if digest is None else digest
        return (gate or self.gate).approve(proposal.id, shown, operator)

    def now(self, proposal: Proposal) -> Proposal:
        found = self.ledger.get(proposal.id)
        assert found is not None
        return found

    def lower(self, scope: str, word: str) -> None:
        self.ceiling.set(scope, Level.of(word), by="test")

    def tamper(self, proposal: Proposal, **values: Any) -> None:
        """Change the row behind the ledger's back."""
        statement = update(tables.proposal).where(tables.proposal.c.id == proposal.id).values(**values)
        self.database.write(lambda connection: connection.execute(statement).close())

    def refusals(self) -> list[Mapping[str, Any]]:
        statement = select(tables.refusal).order_by(tables.refusal.c.id)
        return self.database.read(
            lambda connection: [dict(row) for row in connection.execute(statement).mappings()]
        )

    def audited(self) -> list[str]:
        """Return the kinds of the audit rows, oldest first."""
        return [row.kind for row in self.audit.rows()]
