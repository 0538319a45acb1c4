"""Which model answers in the demo: the environment says, and without a word from it the scripted one.

``LLM_URL`` and ``LLM_MODEL`` (and ``LLM_API_KEY`` where the server wants one) name an OpenAI-compatible server,
``ANTHROPIC_API_KEY`` (and ``ANTHROPIC_MODEL``) Anthropic.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["ModelChoice", "chosen"]

_ANTHROPIC_MODEL = "claude-sonnet-4-5"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The kind of upstream, the model's name, and the server's address where one was given."""

    kind: Literal["scripted", "openai_compatible", "anthropic"]
    name: str
    url: str | None = None

    @property
    def label(self) -> str:
        """What the page and the start-up line call it."""
        match self.kind:
            case "openai_compatible":
                return f"{self.name} at {self.url}"
            case "anthropic":
                return f"{self.name} (Anthropic)"
            case _:
                return self.name


def chosen(environ: Mapping[str, str] = os.environ) -> ModelChoice:
    """Return the choice; RuntimeError when half of a pair is missing."""
    url, name = environ.get("LLM_URL", "").strip(), environ.get("LLM_MODEL", "").strip()
    if bool(url) != bool(name):
        missing = "LLM_MODEL" if url else "LLM_URL"
        raise RuntimeError(f"set {missing} as well: an OpenAI-compatible server needs LLM_URL and LLM_MODEL")
    if url:
        return ModelChoice("openai_compatible", name, url)
    if environ.get("ANTHROPIC_API_KEY", "").strip():
        return ModelChoice("anthropic", environ.get("ANTHROPIC_MODEL", "").strip() or _ANTHROPIC_MODEL)
    return ModelChoice("scripted", "scripted")
