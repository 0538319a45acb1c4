"""Token counts, collected while an answer arrives: the latest says it, and a later zero takes nothing back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask_litro_agent.contracts import Usage

__all__ = ["Tokens"]

#: our name -> where servers put it; the first that is there counts
_NAMES: dict[str, tuple[str, ...]] = {
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
    "cached_tokens": (
        "cache_read_input_tokens",
        "prompt_tokens_details.cached_tokens",
        "input_tokens_details.cached_tokens",
        "prompt_cache_hit_tokens",
        "cached_tokens",
    ),
    "cache_write_tokens": ("cache_creation_input_tokens", "prompt_tokens_details.cache_write_tokens"),
    "reasoning_tokens": (
        "completion_tokens_details.reasoning_tokens",
        "output_tokens_details.reasoning_tokens",
        "output_tokens_details.thinking_tokens",
        "reasoning_tokens",
    ),
}


class Tokens:
    """The counts of one answer."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._model: str | None = None

    @property
    def are_known(self) -> bool:
        return bool(self._counts)

    def take(self, usage: Any, *, model: Any = None) -> None:
        """Take a ``usage`` object of either dialect, and the name of the model that answers."""
        if isinstance(model, str) and model:
            self._model = model
        if not isinstance(usage, dict):
            return
        for name, places in _NAMES.items():
            counts = (_count(usage, place) for place in places)
            count = next((count for count in counts if count is not None), None)
            if count is not None and (count or not self._counts.get(name)):
                self._counts[name] = count

    def usage(self) -> Usage:
        return Usage(**self._counts, model=self._model)


def _count(usage: Mapping[str, Any], place: str) -> int | None:
    value: Any = usage
    for name in place.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    is_count = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 10**12
    return int(value) if is_count else None
