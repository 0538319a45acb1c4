"""``flask litro``: look at an app's agents, sessions and proposals, and talk to an agent, without a browser."""

from __future__ import annotations

import json
import secrets
import sys
from typing import Any

import click
from flask import current_app
from flask.cli import AppGroup, with_appcontext

from flask_litro_agent import strict_json, terminal
from flask_litro_agent.commands import LEDGER_COMMANDS
from flask_litro_agent.commands.surroundings import actor_of, as_json, installed, print_rows
from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.doctor import examine
from flask_litro_agent.errors import LitroError, SessionDeleted
from flask_litro_agent.web.guards import check_session_id

__all__ = ["litro_commands"]

_LEVELS = {"ok": "green", "warn": "yellow", "fail": "red"}
owner = click.option(
    "--owner", default=terminal.TERMINAL_VISITOR.id, show_default=True, help="The actor's id."
)


def litro_commands() -> click.Group:
    """Return the command group that ``init_app`` adds to the app's ``flask`` command."""
    group = _Commands("litro", help="This site's agents.")
    for command in (chat, agents, tools, sessions, replay, report, doctor, *LEDGER_COMMANDS):
        group.add_command(command)
    return group


class _Commands(AppGroup):
    """Runs a command; what goes wrong is one sentence and exit 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except LitroError as error:
            raise click.ClickException(str(error)) from None


@click.command()
@click.argument("agent")
@click.argument("text", required=False)
@click.option("--session", "session_id", help="Go on with this session; default: a new one.")
@click.option("--as", "actor_id", help="Talk as this actor; default: a visitor without permissions.")
@with_appcontext
def chat(agent: str, text: str | None, session_id: str | None, actor_id: str | None) -> None:
    """Talk to AGENT. With TEXT say just that, and exit 0 when the turn finished, else 1."""
    app = installed()
    loaded = app.agent(agent)
    actor = actor_of(actor_id)
    session = secrets.token_hex(8) if session_id is None else check_session_id(session_id)
    key = SessionKey(agent, actor.id, session)
    if text is not None:
        raise SystemExit(0 if terminal.say(app, key, actor, _checked(text)) == "finished" else 1)
    click.secho(f"{loaded.title} · {app.providers[agent].model} · session {session} · Ctrl-D ends", dim=True)
    while (line := _read_line()) is not None:
        if line.strip():
            terminal.say(app, key, actor, _checked(line))


@click.command()
@as_json
@with_appcontext
def agents(as_json: bool) -> None:
    """List the agents."""
    app = installed()
    rows = [
        {
            "name": agent.name,
            "title": agent.title,
            "model": app.providers[agent.name].model,
            "tools": len(agent.tools),
            "suggestions": list(agent.agent.suggestions),
        }
        for agent in app.agents.values()
    ]
    print_rows(rows, as_json, "{name}  {title}  {model}  {tools} tools")


@click.command()
@click.argument("agent", required=False)
@as_json
@with_appcontext
def tools(agent: str | None, as_json: bool) -> None:
    """List the tools of AGENT, or of all agents."""
    app = installed()
    chosen = [app.agent(agent)] if agent else list(app.agents.values())
    rows = [
        {
            "agent": each.name,
            "name": tool.name,
            "mode": tool.facts.mode,
            "permission": tool.facts.permission or "PUBLIC",
            "description": tool.description,
        }
        for each in chosen
        for tool in each.tools.values()
    ]
    print_rows(rows, as_json, "{agent}.{name}  {mode}  {permission}  {description}")


@click.command()
@owner
@click.option("--agent", help="Only sessions with this agent.")
@as_json
@with_appcontext
def sessions(owner: str, agent: str | None, as_json: bool) -> None:
    """List the sessions of one owner, newest first."""
    store = installed().store
    rows: list[dict[str, Any]] = []
    cursor = None
    while True:
        page, cursor = store.list(owner, agent=agent, after=cursor)
        rows += [
            {
                "agent": info.key.agent,
                "id": info.key.session,
                "created": info.created,
                "updated": info.updated,
            }
            for info in page
        ]
        if cursor is None:
            return print_rows(rows, as_json, "{agent}  {id}  updated {updated}")


@click.command()
@click.argument("agent")
@click.argument("session_id")
@owner
@with_appcontext
def replay(agent: str, session_id: str, owner: str) -> None:
    """Print a session's events as they are stored, one line each (NDJSON)."""
    key = SessionKey(agent, owner, session_id)
    try:
        lines = [entry.line for entry in installed().store.read(key)]
    except SessionDeleted:
        lines = []
    if not lines:
        raise click.ClickException(f"no session {session_id!r} of agent {agent!r} belongs to {owner!r}")
    sys.stdout.flush()
    sys.stdout.buffer.writelines(lines)
    sys.stdout.buffer.flush()


@click.command()
@as_json
@with_appcontext
def report(as_json: bool) -> None:
    """Print the start-up report."""
    found = installed().report
    if not as_json:
        return click.echo(str(found))
    sections = {title: list(lines) for title, lines in found.sections}
    return click.echo(json.dumps({**sections, "warnings": list(found.warnings)}, ensure_ascii=False))


@click.command()
@as_json
@with_appcontext
def doctor(as_json: bool) -> None:
    """Check what would go wrong in production; exit 1 when something is unsafe."""
    findings = list(examine(current_app, installed()))
    if as_json:
        click.echo(json.dumps([{"level": found.level, "message": found.message} for found in findings]))
    else:
        for found in findings:
            click.secho(f"{found.level:<5}", nl=False, fg=_LEVELS[found.level])
            click.echo(found.message)
    raise SystemExit(any(found.level == "fail" for found in findings))


def _checked(text: str) -> str:
    """Return the text if a log can hold it: the terminal is a door like HTTP."""
    if not text.strip():
        raise click.ClickException("the text is empty")
    try:
        strict_json.encode(text)
    except UnicodeEncodeError:
        raise click.ClickException("the text is not UTF-8") from None
    return text


def _read_line() -> str | None:
    try:
        return input("> " if sys.stdin.isatty() else "")
    except EOFError:
        return None
    except KeyboardInterrupt:
        click.echo()
        return ""
    except UnicodeDecodeError:
        raise click.ClickException("the text is not UTF-8") from None
