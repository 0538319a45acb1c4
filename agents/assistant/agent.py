"""The assistant: for the people who run the shop."""

from __future__ import annotations

from flask import abort

from example_app import accounts, identity, suggestions
from flask_litro_agent import Agent, token_actor

from .._shared.model import model
from .._shared.shelves import shelves
from .script import script

agent = Agent(
    model=model(script),
    instructions="./instructions.md",
    tools=[shelves],
    title="Shop assistant",
    suggestions=tuple(suggestions.ASSISTANT),
    temperature=0.2,
    mcp_server=True,
)


def access() -> None:
    """Only staff may come in: by their sign-in, or another program of theirs by a token."""
    actor = token_actor()
    account = accounts.signed_in() if actor is None else identity.account_of(actor)
    if account is None:
        abort(401, "Sign in as support or operator to talk to the assistant.")
    if not account.is_staff:
        abort(403, "The assistant is for the shop's staff.")
