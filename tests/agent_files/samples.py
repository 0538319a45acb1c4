"""Files of an agents folder as a site would write them, and what the tests ask of a loaded folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flask_litro_agent.agent_files import load_agents
from flask_litro_agent.agents import LoadedAgent
from flask_litro_agent.contracts import Actor
from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.tools import ToolContext

Write = Callable[..., Path]

AGENT = """\
from flask_litro_agent.agents import Agent

agent = Agent(model="scripted:demo")
"""

IMPORTS = """\
from marshmallow import Schema, fields
from flask_litro_agent.tools import PUBLIC, Mode, ToolKit, tool
"""

WEATHER = """
@tool(description="Current weather.", permission=PUBLIC, mode=Mode.READ, params=Schema)
def get_weather(params, ctx):
    return "sunny"
"""

TOOL = IMPORTS + WEATHER


def agent_with(said: str) -> str:
    """Return an ``agent.py`` that says more than its model; ``agent`` stands in line 3."""
    return AGENT.replace('"scripted:demo"', f'"scripted:demo", {said}')


def faults_of(folder: Path) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load_agents(folder)
    return list(caught.value.faults)


def answer(agent: LoadedAgent, name: str) -> object:
    return agent.tools[name].function({}, ToolContext(actor=Actor("1", "Ada"), agent=agent.name))
