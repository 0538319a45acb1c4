"""``flask litro db``: the ledger's schema. Nothing else upgrades a database server's."""

from __future__ import annotations

import click
from flask.cli import with_appcontext

from flask_litro_agent.commands.surroundings import as_json, books, print_json
from flask_litro_agent.core import migration

__all__ = ["db"]


@click.group()
def db() -> None:
    """See and upgrade the ledger's database."""


@db.command()
@as_json
@with_appcontext
def upgrade(as_json: bool) -> None:
    """Bring the database to this release's schema."""
    found = books()
    revision = migration.upgrade(found.database)
    if as_json:
        return print_json({"database": found.place, "revision": revision})
    return click.echo(f"{found.place}: revision {revision}")


@db.command()
@as_json
@with_appcontext
def status(as_json: bool) -> None:
    """Print the database's revision and the one that is needed; exit 1 when they differ."""
    found = books()
    revision, needed = migration.revision(found.database), migration.head()
    if as_json:
        print_json({"database": found.place, "revision": revision, "needed": needed})
    else:
        click.echo(f"{found.place}: revision {revision or 'none'}, needed {needed}")
    raise SystemExit(revision != needed)
