"""``flask litro token``: let a person's other programs in over MCP, see who is let in, and end it."""

from __future__ import annotations

from typing import Any

import click
from flask.cli import with_appcontext

from flask_litro_agent.commands.surroundings import (
    account,
    actor_of,
    as_json,
    installed,
    print_json,
    print_rows,
    sound_books,
    time_text,
)
from flask_litro_agent.core.tokens import MOST_DAYS, NewToken, Token
from flask_litro_agent.identity import is_visitor_id

__all__ = ["token"]

_LINE = "{id}  {state}  {agent}  {actor}  {name}  expires {expires_at}  used {used_at}"
_ONCE = "Keep the secret now: it is not stored and cannot be shown again."


@click.group()
def token() -> None:
    """Make, list and revoke the tokens of MCP clients."""


@token.command()
@click.option(
    "--actor", "actor_id", required=True, help="Whom the client acts for: an id of the actor_loader."
)
@click.option("--agent", required=True, help="Whose tools it may call: an agent with mcp_server=True.")
@click.option(
    "--name", default="MCP client", show_default=True, help="What operators read beside a proposal."
)
@click.option(
    "--days",
    default=90,
    show_default=True,
    type=click.IntRange(1, MOST_DAYS),
    help="How long it is good for.",
)
@as_json
@with_appcontext
def create(actor_id: str, agent: str, name: str, days: int, as_json: bool) -> None:
    """Make a token and print its secret, once."""
    _check_agent(agent)
    _check_actor(actor_id)
    made = sound_books().tokens.create(actor=actor_id, agent=agent, name=name, days=days, by=account())
    if as_json:
        return print_json({"secret": made.secret, "url": _path(agent), **_row(made.token)})
    return _show(made, agent)


@token.command("list")
@as_json
@with_appcontext
def list_tokens(as_json: bool) -> None:
    """List the tokens, newest first; their secrets are nowhere."""
    print_rows([_row(one) for one in sound_books().tokens.all()], as_json, _LINE)


@token.command()
@click.argument("token_id")
@as_json
@with_appcontext
def revoke(token_id: str, as_json: bool) -> None:
    """End a token at once."""
    print_rows([_row(sound_books().tokens.revoke(token_id, by=account()))], as_json, _LINE)


def _check_agent(name: str) -> None:
    if not installed().agent(name).agent.mcp_server:
        raise click.ClickException(
            f"agent {name!r} has no MCP endpoint: write Agent(..., mcp_server=True) in its agent.py"
        )


def _check_actor(actor_id: str) -> None:
    if is_visitor_id(actor_id):
        raise click.ClickException("a token is for somebody with an account, not for a visitor")
    actor_of(actor_id)


def _path(agent: str) -> str:
    settings = installed().settings
    return f"{(settings.external_url or '').rstrip('/')}{settings.url_prefix}/mcp/{agent}"


def _show(made: NewToken, agent: str) -> None:
    click.echo(made.secret)
    click.echo(_ONCE)
    click.echo(f"POST {_path(agent)} with the header: Authorization: Bearer <secret>")
    print_rows([_row(made.token)], False, _LINE)


def _row(shown: Token) -> dict[str, Any]:
    times = {
        "created_at": shown.created_at,
        "expires_at": shown.expires_at,
        "revoked_at": shown.revoked_at,
        "used_at": shown.used_at,
    }
    told = {name: None if at is None else time_text(at) for name, at in times.items()}
    named = {"id": shown.id, "name": shown.name, "actor": shown.actor, "agent": shown.agent}
    return {**named, "state": shown.state, **told}
