"""``flask litro ceiling``: what the agents may do at most, seen and set."""

from __future__ import annotations

from typing import Any

import click
from flask.cli import with_appcontext

from flask_litro_agent.bookkeeping import overview
from flask_litro_agent.commands.surroundings import (
    account,
    as_json,
    installed,
    print_rows,
    sound_books,
    time_text,
)
from flask_litro_agent.core.audit import AuditRow
from flask_litro_agent.core.ceiling import SITE, Level, Overview

__all__ = ["ceiling"]

_LINE = "{scope}  {level}{said}"
_CHANGE = "{at}  {scope}  {before} -> {after}  {by}"
_INHERITED = "inherited"


@click.group(invoke_without_command=True)
@click.pass_context
def ceiling(ctx: click.Context) -> None:
    """Show or set what the agents may do at most."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(show)


@ceiling.command()
@as_json
@with_appcontext
def show(as_json: bool = False) -> None:
    """Print the levels in force: the site's, then what is held lower, and who said so."""
    app = installed()
    books = None if app.books is None else sound_books()
    _print(overview(books, app.settings, app.agents), as_json)


@ceiling.command("set")
@click.argument("scope")
@click.argument("level")
@as_json
@with_appcontext
def set_level(scope: str, level: str, as_json: bool) -> None:
    """Set SCOPE (site, agent:NAME, tool:AGENT.TOOL) to LEVEL (off, read, propose, execute)."""
    found = sound_books().ceiling
    found.set(scope, Level.of(level), by=account())
    _print(found.overview(), as_json)


@ceiling.command()
@click.argument("scope")
@as_json
@with_appcontext
def clear(scope: str, as_json: bool) -> None:
    """Forget the level of SCOPE: what is above it holds again."""
    found = sound_books().ceiling
    found.clear(scope, by=account())
    _print(found.overview(), as_json)


@ceiling.command()
@click.option(
    "--limit", default=50, show_default=True, type=click.IntRange(1, 1000), help="How many at most."
)
@as_json
@with_appcontext
def history(limit: int, as_json: bool) -> None:
    """Print who changed what, newest first."""
    rows = sound_books().audit.newest(kind="ceiling", limit=limit)
    print_rows([_change(row) for row in rows], as_json, _CHANGE)


def _print(found: Overview, as_json: bool) -> None:
    """Print the site's level and those that are held lower, each with who has set it."""
    levels = found.levels
    stands = {SITE: levels.site} | dict(sorted(levels.lower.items()))
    rows = [_row(scope, level, found) for scope, level in stands.items()]
    if as_json:
        rows = [{name: value for name, value in row.items() if name != "said"} for row in rows]
    print_rows(rows, as_json, _LINE)


def _row(scope: str, level: Level, found: Overview) -> dict[str, Any]:
    stored, declared = found.stored.get(scope), found.declared.get(scope)
    return {
        "scope": scope,
        "level": level.word,
        "stored": stored and stored.level.word,
        "declared": None if declared is None else declared.word,
        "changed_by": stored and stored.changed_by,
        "changed_at": stored and time_text(stored.changed_at),
        "said": f"  {time_text(stored.changed_at)}  {stored.changed_by}" if stored else "",
    }


def _change(row: AuditRow) -> dict[str, Any]:
    data = row.data or {}
    words = {name: data.get(name) or _INHERITED for name in ("before", "after")}
    return {"seq": row.seq, "at": time_text(row.at), "scope": row.subject, "by": row.actor, **words}
