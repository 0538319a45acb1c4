"""``flask litro ceiling``: what the agents may do at most, seen and set."""

from __future__ import annotations

import getpass

import click
from flask.cli import with_appcontext

from flask_litro_agent.bookkeeping import first_level
from flask_litro_agent.commands.surroundings import as_json, installed, print_rows, sound_books
from flask_litro_agent.core.ceiling import Level, Levels, agent_scope

__all__ = ["ceiling"]

_LINE = "{scope}  {level}"


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
    """Print the levels in force: the site's, then what is held lower."""
    _print(_fixed() if installed().books is None else sound_books().ceiling.levels(), as_json)


@ceiling.command("set")
@click.argument("scope")
@click.argument("level")
@as_json
@with_appcontext
def set_level(scope: str, level: str, as_json: bool) -> None:
    """Set SCOPE (site, agent:NAME, tool:AGENT.TOOL) to LEVEL (off, read, propose, execute)."""
    _print(sound_books().ceiling.set(scope, Level.of(level), by=f"cli:{_account()}"), as_json)


def _print(levels: Levels, as_json: bool) -> None:
    stands = {"site": levels.site} | dict(sorted(levels.lower.items()))
    rows = [{"scope": scope, "level": level.word} for scope, level in stands.items()]
    print_rows(rows, as_json, _LINE)


def _fixed() -> Levels:
    """Return the levels of a site whose tools only read: nobody can change them."""
    app = installed()
    declared = {name: agent.agent.ceiling for name, agent in app.agents.items()}
    lower = {agent_scope(name): Level.of(word) for name, word in declared.items() if word}
    return Levels(epoch=0, site=first_level(app.settings), lower=lower)


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return "unknown"
