"""What every command starts from, the app's parts, and how it prints."""

from __future__ import annotations

import datetime
import getpass
import json
from collections.abc import Callable
from typing import Any

import click
from flask import current_app

from flask_litro_agent import terminal
from flask_litro_agent.bookkeeping import Books
from flask_litro_agent.contracts import Actor
from flask_litro_agent.core import migration
from flask_litro_agent.core.visible import escape, is_seen
from flask_litro_agent.installation import Installation, installed_in

__all__ = [
    "account",
    "actor_of",
    "as_json",
    "books",
    "installed",
    "print_json",
    "print_rows",
    "sound_books",
    "time_text",
]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def installed() -> Installation:
    """Return the current app's parts; ConfigurationError when it has none."""
    return installed_in(current_app)


def books() -> Books:
    """Return the app's books, whatever their schema; an error where no tool changes anything."""
    found = installed().books
    if found is None:
        raise click.ClickException("no tool of this site changes anything, so there is no ledger")
    return found


def sound_books() -> Books:
    """Return the app's books; an error also while their schema is not this release's."""
    found = books()
    if fault := migration.fault(found.database):
        raise click.ClickException(fault)
    return found


def account() -> str:
    """Return who runs this command, as an audit row names him."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):  # a container's user may have no name
        return "cli:unknown"


def actor_of(actor_id: str | None) -> Actor:
    """Return the actor of this id, without one the terminal's own visitor; an error for an unknown one."""
    if actor_id is None:
        return terminal.TERMINAL_VISITOR
    actor = installed().identity.by_id(actor_id)
    if actor is None:
        raise click.ClickException(f"the site's actor_loader knows nobody with the id {actor_id!r}")
    return actor


def print_rows(rows: list[dict[str, Any]], as_json: bool, line: str) -> None:
    """Print each row by the format ``line``, or all of them as one JSON array.

    A row is one line, and what its texts hold of control characters is written out: a terminal would obey them.
    """
    if as_json:
        return print_json(rows)
    for row in rows:
        click.echo(line.format(**{name: _escaped(str(value), escape) for name, value in row.items()}))
    return None


def print_json(value: Any) -> None:
    """Print one line of JSON, in which every character shows."""
    click.echo(_escaped(json.dumps(value, ensure_ascii=False), lambda character: json.dumps(character)[1:-1]))


def time_text(at: int | None) -> str:
    """Return a time of the database's as text; a row that somebody wrote over may have any, or none."""
    if at is None:
        return "no time"
    try:
        return (_EPOCH + datetime.timedelta(milliseconds=at)).isoformat(timespec="milliseconds")
    except OverflowError:
        return f"{at} ms"


def _escaped(text: str, escape: Callable[[str], str]) -> str:
    return "".join(character if is_seen(character) else escape(character) for character in text)
