"""``flask litro prune``: delete what has been over for long enough, of everybody or of one person."""

from __future__ import annotations

import time

import click
from flask.cli import with_appcontext

from flask_litro_agent.commands.surroundings import as_json, installed, print_json, sound_books
from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.core.ledger import Ledger
from flask_litro_agent.core.proposals import State
from flask_litro_agent.turns.pruning import prune_sessions

__all__ = ["prune"]

_DAY_MS = 86_400_000
_PENDING = (State.PROPOSED, State.CLAIMED, State.UNKNOWN)


@click.command()
@click.option(
    "--days",
    default=180,
    show_default=True,
    type=click.IntRange(0, 36_500),
    help="How long it has been over.",
)
@click.option(
    "--actor", help="Only what the actor with this id owns or proposed; --days counts for sessions too."
)
@as_json
@with_appcontext
def prune(days: int, actor: str | None, as_json: bool) -> None:
    """Delete proposals, usage and tokens that are over, and sessions by LITRO_SESSION_DAYS or of --actor."""
    books = sound_books() if installed().books else None
    age = days if actor is not None else installed().settings.session_days
    sessions = 0 if age is None else _prune_sessions(books.ledger if books else None, age, actor)
    rows = 0 if books is None else _prune_proposals(books.ledger, days, actor)
    used = 0 if books is None else books.usage.prune(days=days, actor=actor)
    tokens = 0 if books is None else books.tokens.prune(days=days, actor=actor)
    if books is not None:
        books.deliveries.prune(days=days if actor is None else None)
    if as_json:
        return print_json({"proposals": rows, "sessions": sessions, "usage": used, "tokens": tokens})
    return click.echo(
        f"{rows} proposals, {sessions} sessions, {used} rows of usage and {tokens} tokens deleted"
    )


def _prune_sessions(ledger: Ledger | None, days: int, actor: str | None) -> int:
    app = installed()
    before = time.time_ns() // 1_000_000 - days * _DAY_MS
    kept = frozenset() if ledger is None else _with_pending_proposals(ledger, actor)
    return prune_sessions(app.store, app.runner, before=before, owner=actor, kept=kept)


def _prune_proposals(ledger: Ledger, days: int, actor: str | None) -> int:
    """Delete rows, after those sessions were told that are still owed their ends."""
    for key in sorted(ledger.unheard(days=days, actor=actor)):
        installed().runner.settle_debts(key)
    return ledger.prune(days=days, actor=actor)


def _with_pending_proposals(ledger: Ledger, owner: str | None) -> frozenset[SessionKey]:
    """Return the sessions that must stay: somebody has still to decide, or to find out, about a proposal of theirs."""
    found: set[SessionKey] = set()
    mark = None
    while True:
        page, mark = ledger.find(states=_PENDING, owner=owner, after=mark)
        found |= {one.home for one in page if one.home}
        if mark is None:
            return frozenset(found)
