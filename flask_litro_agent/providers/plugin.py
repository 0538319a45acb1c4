"""The built-in providers, registered as any plugin registers its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flask_litro_agent.contracts import Provider
from flask_litro_agent.hookspecs import hookimpl
from flask_litro_agent.providers.anthropic import anthropic
from flask_litro_agent.providers.openai_compatible import OpenAICompatible, openai_compatible

__all__ = ["OLLAMA_URL", "ollama", "register_providers"]

OLLAMA_URL = "http://localhost:11434/v1"


def ollama(
    model: str,
    *,
    base_url: str = OLLAMA_URL,
    api_key: str = "",
    headers: Mapping[str, str] | None = None,
) -> OpenAICompatible:
    """Return a provider for an Ollama server; no key is taken from the environment for it."""
    return openai_compatible(model, base_url=base_url, api_key=api_key, headers=headers)


@hookimpl
def register_providers() -> Mapping[str, Callable[..., Provider]]:
    """Name ``openai``, ``anthropic`` and ``ollama``."""
    return {"openai": openai_compatible, "anthropic": anthropic, "ollama": ollama}
