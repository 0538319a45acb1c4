"""The usage page: what became of proposals, how long people took, and what turns and tokens were used."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from flask import Response, request

from flask_litro_agent.bookkeeping import Books
from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.outcomes import Counted, Outcomes, outcomes
from flask_litro_agent.core.proposals import State
from flask_litro_agent.core.usage import UsageRow
from flask_litro_agent.errors import BadRequest
from flask_litro_agent.installation import Installation
from flask_litro_agent.web.admin.entry import ADMIN
from flask_litro_agent.web.admin.moments import day_text, duration
from flask_litro_agent.web.admin.periods import Period, periods_of, summed
from flask_litro_agent.web.admin.plots import Plot, Series, stacked
from flask_litro_agent.web.admin.rendering import Rendering
from flask_litro_agent.web.admin.routes import Route
from flask_litro_agent.web.admin.words import say

__all__ = ["UsagePages"]

RANGES: Final = (7, 30, 90)
_USUAL: Final = 30
#: How each state is drawn: the class of its colour.
_TONES: Final = {
    "done": State.EXECUTED,
    "failed": State.EXECUTED,
    "dismissed": State.DISMISSED,
    "void": State.VOID,
    "expired": State.EXPIRED,
    "unknown": State.UNKNOWN,
    "open": State.PROPOSED,
}


class AgentOutcomes(NamedTuple):
    """One agent's line: how many of each tone, how many wait now, and the median time to a decision, as text."""

    agent: str
    made: int
    tones: dict[str, int]
    waiting: int
    median: str | None


class UsedBy(NamedTuple):
    """What one agent, or one model, used."""

    name: str
    turns: int
    failed: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int


class UsagePages:
    """The page of figures."""

    def __init__(self, installed: Installation, rendering: Rendering) -> None:
        self._installed = installed
        self._rendering = rendering

    def routes(self) -> Iterator[Route]:
        """Yield the page's route."""
        yield Route("/usage", "usage", self.usage, (ADMIN,))

    def usage(self, actor: Actor) -> Response:
        """Show the figures of the last days."""
        days = _days()
        books = self._installed.books
        if books is None:
            return self._rendering.page("no_books.html", actor, title=say("Usage"))
        return self._rendering.page("usage.html", actor, days=days, ranges=RANGES, **_figures(books, days))


def _days() -> int:
    given = request.args.getlist("days")
    if not given:
        return _USUAL
    if len(given) == 1 and given[0] in map(str, RANGES):
        return int(given[0])
    raise BadRequest(f"'days' must be one of {', '.join(map(str, RANGES))}")


def _figures(books: Books, days: int) -> dict[str, Any]:
    found = outcomes(books.database, days=days)
    used = books.usage.since(days)
    periods = periods_of(found.first, found.today)
    return {
        "first": day_text(found.first),
        "today": day_text(found.today),
        "by_week": periods[0] != Period(found.first, found.first),
        "proposals": _proposals(periods, found.counted),
        "turns": _turns(periods, used),
        "tokens": _tokens(periods, used),
        "waiting": sum(count for _, _, count in found.waiting),
        "median": _median(waited.ms for waited in found.waited),
        "agents": list(_by_agent(found)),
        "used_by_agent": _used_by(used, lambda row: row.agent),
        "used_by_model": _used_by(used, lambda row: row.model),
    }


def _proposals(periods: Sequence[Period], counted: Sequence[Counted]) -> Plot:
    words = {
        "done": say("Done"),
        "failed": say("Failed"),
        "dismissed": say("Dismissed"),
        "void": say("Void"),
        "expired": say("Expired"),
        "unknown": say("Outcome unknown"),
        "open": say("Waiting"),
    }
    return stacked(
        [period.name for period in periods],
        [
            Series(words[tone], tone, summed(periods, ((one.day, one.count) for one in _of(counted, tone))))
            for tone in _TONES
        ],
    )


def _turns(periods: Sequence[Period], used: Sequence[UsageRow]) -> Plot:
    finished = summed(periods, ((row.day, row.turns - row.failed) for row in used))
    failed = summed(periods, ((row.day, row.failed) for row in used))
    return stacked(
        [period.name for period in periods],
        [
            Series(say("Turns that ended well"), "done", finished),
            Series(say("Failed turns"), "failed", failed),
        ],
    )


def _tokens(periods: Sequence[Period], used: Sequence[UsageRow]) -> Plot:
    """Cached tokens are a part of what was read: each is drawn once."""
    cached = summed(periods, ((row.day, min(row.cached_tokens, row.input_tokens)) for row in used))
    fresh = summed(periods, ((row.day, max(0, row.input_tokens - row.cached_tokens)) for row in used))
    written = summed(periods, ((row.day, row.output_tokens) for row in used))
    return stacked(
        [period.name for period in periods],
        [
            Series(say("Read, from the cache"), "cached", cached),
            Series(say("Read"), "input", fresh),
            Series(say("Written"), "output", written),
        ],
    )


def _of(counted: Iterable[Counted], tone: str) -> Iterator[Counted]:
    return (one for one in counted if _tone(one.state, one.outcome) == tone)


def _tone(state: State, outcome: str | None) -> str:
    if state is State.EXECUTED:
        return "failed" if outcome == "failed" else "done"
    return "open" if state is State.CLAIMED else next(tone for tone, one in _TONES.items() if one is state)


def _by_agent(found: Outcomes) -> Iterator[AgentOutcomes]:
    names = {one.agent for one in found.counted} | {agent for agent, _, _ in found.waiting}
    for name in sorted(names):
        own = [one for one in found.counted if one.agent == name]
        yield AgentOutcomes(
            name,
            sum(one.count for one in own),
            {tone: sum(one.count for one in _of(own, tone)) for tone in _TONES},
            sum(count for agent, _, count in found.waiting if agent == name),
            _median(waited.ms for waited in found.waited if waited.agent == name),
        )


def _median(waited: Iterable[int]) -> str | None:
    times = list(waited)
    return duration(round(statistics.median(times))) if times else None


def _used_by(used: Sequence[UsageRow], name_of: Callable[[UsageRow], str]) -> list[UsedBy]:
    """Return the sums by name, the one with the most turns first."""
    sums: dict[str, Counter[str]] = {}
    for row in used:
        into = sums.setdefault(name_of(row), Counter())
        into.update(turns=row.turns, failed=row.failed, cached_tokens=row.cached_tokens)
        into.update(input_tokens=row.input_tokens, output_tokens=row.output_tokens)
    found = [
        UsedBy(name, **{field: amounts[field] for field in UsedBy._fields[1:]})
        for name, amounts in sums.items()
    ]
    return sorted(found, key=lambda one: (-one.turns, one.name))
