"""``flask litro proposals`` and ``dismiss``: see what waits, and say no. Nothing here can approve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from flask.cli import with_appcontext

from flask_litro_agent.commands.surroundings import actor_of, as_json, installed, print_rows, sound_books
from flask_litro_agent.core.proposals import Proposal, State
from flask_litro_agent.web.card import card

__all__ = ["dismiss", "proposals"]

_LINE = "{id}  {state}  {agent}  {proposer}  {summary}"


@click.command()
@click.option("--state", "states", multiple=True, type=click.Choice([state.value for state in State]))
@click.option("--agent", help="Only proposals of this agent.")
@click.option("--owner", help="Only proposals in the sessions of the actor with this id.")
@as_json
@with_appcontext
def proposals(states: tuple[str, ...], agent: str | None, owner: str | None, as_json: bool) -> None:
    """List proposals, newest first."""
    wanted = [State(state) for state in states] or None
    found = _every(states=wanted, agent=agent, owner=owner)
    print_rows([_card(proposal) for proposal in found], as_json, _LINE)


@click.command()
@click.argument("proposal_id")
@click.option("--as", "operator_id", required=True, help="The operator's id, known to the actor_loader.")
@click.option("--note", help="What the model and the person read.")
@as_json
@with_appcontext
def dismiss(proposal_id: str, operator_id: str, note: str | None, as_json: bool) -> None:
    """Dismiss an open proposal: it never runs."""
    sound_books()
    operator, app = actor_of(operator_id), installed()
    digest = app.gate.proposal(proposal_id, operator).digest
    dismissed = app.gate.dismiss(proposal_id, digest, operator, note)
    app.tell(dismissed)
    print_rows([_card(dismissed)], as_json, _LINE)


def _card(proposal: Proposal) -> dict[str, Any]:
    return card(proposal, is_operator=True, tool=installed().tool_of(proposal))


def _every(**conditions: Any) -> Iterator[Proposal]:
    ledger, mark = sound_books().ledger, None
    while True:
        page, mark = ledger.find(**conditions, after=mark)
        yield from page
        if mark is None:
            return
