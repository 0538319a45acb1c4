"""The ceiling's page: what the agents may do at most, who said so, and what a change takes away or gives back.

Lowering is one click, whatever page it was made on. Raising asks for a page that has seen the newest change, and for a
sign-in that is fresh enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from flask import Response, make_response, redirect, request, url_for

from flask_litro_agent.bookkeeping import Books, overview
from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.audit import AuditRow
from flask_litro_agent.core.ceiling import SITE, Level, Overview, Stored, agent_scope, tool_scope
from flask_litro_agent.core.proposals import Proposal, State
from flask_litro_agent.core.search import Wanted
from flask_litro_agent.errors import BadRequest, NotFound
from flask_litro_agent.installation import Installation
from flask_litro_agent.tools import Tool
from flask_litro_agent.web import forms, guards
from flask_litro_agent.web.admin.entry import ADMIN
from flask_litro_agent.web.admin.people import People
from flask_litro_agent.web.admin.reach import Effect, effect, effects, reach
from flask_litro_agent.web.admin.rendering import Rendering
from flask_litro_agent.web.admin.routes import Route

__all__ = ["CeilingPages"]

_SEEN: Final = "the form does not say which levels it was made from: load the page again"
_INHERITED: Final = "inherited"
_HISTORY: Final = 50
_MOST_OPEN: Final = 500
_LAST: Final = 10**15 - 1


class Scope(NamedTuple):
    """One scope: what is in force, what is stored, what the agent's own file declares, and what each level would do."""

    name: str
    level: Level
    stored: Stored | None
    declared: Level | None
    effects: Sequence[Effect] = ()
    tool: Tool | None = None

    @property
    def is_shown(self) -> bool:
        """Whether a model is shown the tool."""
        return self.tool is not None and self.tool.mode <= self.level


class AgentScope(NamedTuple):
    """An agent's scope and those of its tools."""

    agent: str
    title: str
    scope: Scope
    tools: Sequence[Scope]


class Change(NamedTuple):
    """A row of the history; a level is a word, ``inherited`` for none."""

    row: AuditRow
    before: str
    after: str


class CeilingPages:
    """The page on which the ceiling is seen and set."""

    def __init__(self, installed: Installation, rendering: Rendering) -> None:
        self._installed = installed
        self._rendering = rendering

    def routes(self) -> Iterator[Route]:
        """Yield the page's routes."""
        yield Route("/ceiling", "ceiling", self.ceiling, (ADMIN,))
        yield Route("/ceiling", "set_ceiling", self.set, (ADMIN,), ("POST",))

    def ceiling(self, actor: Actor) -> Response:
        """Show every level; after a change also what it has done."""
        installed, books = self._installed, self._installed.books
        found = overview(books, installed.settings, installed.agents)
        return self._rendering.page(
            "ceiling.html",
            actor,
            site=self._scope(found, SITE, found.levels.site, list(effects(installed.agents, found, SITE))),
            agents=list(self._agents(found)),
            gone=[
                stored
                for stored in found.stored.values()
                if books and stored.scope not in books.ceiling.scopes
            ],
            levels=list(reversed(Level)),
            epoch=found.epoch,
            people=People(installed.identity),
            **self._from_books(books, found),
        )

    def set(self, actor: Actor) -> Response:
        """Store a level, or none, for one scope."""
        books = self._installed.books
        if books is None:
            raise NotFound("no tool of this site changes anything: its ceiling stands in its settings")
        form = forms.read_form(request, ("scope", "level", "seen"))
        scope, word, seen = (form.get(name, "") for name in ("scope", "level", "seen"))
        if not (seen.isascii() and seen.isdigit() and len(seen) < 16):
            raise BadRequest(_SEEN)
        level = None if word == _INHERITED else Level.of(word)
        found = books.ceiling.overview()
        if int(seen) > found.epoch:
            raise BadRequest(_SEEN)
        if found.raises(scope, level):  # who lowers it in between is seen by ``seen``
            self._installed.gate.check_freshness(self._installed.identity.authenticated_at())
        if level is None:
            books.ceiling.clear(scope, by=actor.id, seen=int(seen))
        else:
            books.ceiling.set(scope, level, by=actor.id, seen=int(seen))
        changed = _last_change(books, scope, by=actor.id)
        return make_response(redirect(url_for("litro_admin.ceiling", changed=changed), code=303))

    def _agents(self, found: Overview) -> Iterator[AgentScope]:
        for name, agent in self._installed.agents.items():
            scope = agent_scope(name)
            does = list(effects(self._installed.agents, found, scope))
            tools = [
                self._scope(found, tool_scope(name, tool.name), found.levels.of(name, tool.name), tool=tool)
                for tool in agent.tools.values()
            ]
            yield AgentScope(name, agent.title, self._scope(found, scope, found.levels.of(name), does), tools)

    def _scope(
        self,
        found: Overview,
        name: str,
        level: Level,
        does: Sequence[Effect] = (),
        tool: Tool | None = None,
    ) -> Scope:
        return Scope(name, level, found.stored.get(name), found.declared.get(name), does, tool)

    def _from_books(self, books: Books | None, found: Overview) -> dict[str, Any]:
        if books is None:
            return {"can_change": False, "history": [], "changed": None, "done": None, "stranded": []}
        changed = self._changed(books)
        return {
            "can_change": True,
            "history": [_change(row) for row in books.audit.newest(kind="ceiling", limit=_HISTORY)],
            "changed": changed,
            "done": None if changed is None else self._done(found, changed),
            "stranded": list(self._stranded(books, found)),
        }

    def _changed(self, books: Books) -> Change | None:
        """Return the change that the page was led to, read from the chain: a reload says the same."""
        seq = guards.query_number(request, "changed", default=0, low=0, high=_LAST)
        rows = books.audit.newest(kind="ceiling", before=seq + 1, limit=1) if seq else []
        return next((_change(row) for row in rows if row.seq == seq and not row.is_destroyed), None)

    def _done(self, found: Overview, changed: Change) -> Effect:
        """Return what the change has done, as far as it stands."""
        before = None if changed.before == _INHERITED else Level.of(changed.before)
        return effect(
            self._installed.agents, found.levels_with(changed.row.subject, before), found.levels, before
        )

    def _stranded(self, books: Books, found: Overview) -> Iterator[Proposal]:
        """Yield the open proposals that nobody can approve under this ceiling."""
        shown = reach(self._installed.agents, found.levels)
        waiting, _ = books.ledger.search(Wanted(states=(State.PROPOSED,)), limit=_MOST_OPEN)
        yield from (one for one in waiting if f"{one.agent}.{one.tool}" not in shown)


def _change(row: AuditRow) -> Change:
    data = row.data or {}
    return Change(row, str(data.get("before") or _INHERITED), str(data.get("after") or _INHERITED))


def _last_change(books: Books, scope: str, *, by: str) -> int | None:
    """Return the row of the chain that somebody's change has just made."""
    rows = books.audit.newest(kind="ceiling", limit=_HISTORY)
    return next((row.seq for row in rows if (row.subject, row.actor) == (scope, by)), None)
