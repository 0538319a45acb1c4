"""``flask litro audit``: the chain of decisions, its end, and whether it is whole."""

from __future__ import annotations

import dataclasses
import json
import re

import click
from flask.cli import with_appcontext

from flask_litro_agent.commands.surroundings import as_json, print_json, print_rows, sound_books, time_text
from flask_litro_agent.core.audit import AuditRow, Head

__all__ = ["audit"]

_HEAD = re.compile(r"([0-9]{1,18}):([0-9a-f]{64})")
_DESTROYED = "(destroyed: audit verify says what is wrong)"


def _read_head(ctx: click.Context, parameter: click.Parameter, text: str | None) -> Head | None:
    if text is None:
        return None
    match = _HEAD.fullmatch(text.strip())
    if match is None:
        raise click.BadParameter(
            "it is a number, a colon and 64 hexadecimal digits, as 'audit head' prints it"
        )
    return Head(int(match[1]), match[2])


@click.group()
def audit() -> None:
    """See and verify the chain of decisions."""


@audit.command()
@as_json
@with_appcontext
def head(as_json: bool) -> None:
    """Print where the chain ends: keep it elsewhere."""
    end = sound_books().audit.head()
    if as_json:
        return print_json(dataclasses.asdict(end))
    return click.echo(str(end))


@audit.command()
@click.option("--head", "kept", callback=_read_head, help="A head that was kept elsewhere.")
@as_json
@with_appcontext
def verify(kept: Head | None, as_json: bool) -> None:
    """Read the whole chain; exit 1 when something is wrong with it."""
    found = sound_books().audit.verify(kept)
    if as_json:
        print_json({"rows": found.rows, "head": str(found.head), "faults": list(found.faults)})
    else:
        for fault in found.faults:
            click.echo(fault)
        click.echo(f"{found.rows} rows, {len(found.faults)} faults, head {found.head}")
    raise SystemExit(bool(found.faults))


@audit.command("list")
@click.option("--after", default=0, type=click.IntRange(min=0), help="Skip the rows up to this number.")
@as_json
@with_appcontext
def list_rows(after: int, as_json: bool) -> None:
    """Print the chain's rows, oldest first."""
    rows = sound_books().audit.rows(after)
    if as_json:
        return print_json([dataclasses.asdict(row) for row in rows])
    for row in rows:
        print_rows([_shown(row)], False, "{seq}  {at}  {kind}  {actor}  {subject}  {data}")
    return None


def _shown(row: AuditRow) -> dict[str, object]:
    data = json.dumps(row.data, ensure_ascii=False)
    return dataclasses.asdict(row) | {
        "at": time_text(row.at),
        "data": _DESTROYED if row.is_destroyed else data,
    }
