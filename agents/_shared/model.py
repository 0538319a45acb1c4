"""The agents' model: the one that the environment names, or else a script that knows this shop."""

from __future__ import annotations

import os

from example_app import model_choice
from flask_litro_agent import anthropic, openai_compatible, scripted
from flask_litro_agent.contracts import Provider
from flask_litro_agent.providers.scripted import Script

__all__ = ["model"]


def model(script: Script) -> Provider:
    """Return the provider of both agents; ``script`` answers when no model is configured."""
    choice = model_choice.chosen()
    match choice.kind:
        case "openai_compatible":
            return openai_compatible(choice.name, base_url=choice.url, api_key=os.environ.get("LLM_API_KEY"))
        case "anthropic":
            return anthropic(choice.name)
        case _:
            return scripted(script)
