"""The concierge: for everybody who comes to the shop."""

from __future__ import annotations

from flask_litro_agent import Agent

from .._shared.model import model
from .._shared.shelves import shelves
from .script import SUGGESTIONS, script

agent = Agent(
    model=model(script),
    instructions="./instructions.md",
    tools=[shelves],
    title="Concierge",
    suggestions=SUGGESTIONS,
    temperature=0.3,
)
