"""Whole characters: what a server says in halves, and what JSON cannot say, as text that can be stored and sent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from flask_litro_agent import strict_json

__all__ = ["Characters", "cleaned", "whole_characters", "written"]


def whole_characters(text: str) -> str:
    """Return the text with split surrogate pairs joined, and lone halves and NUL as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "\ufffd")


class Characters:
    """Holds back half a character at the end of a delta until its other half comes."""

    def __init__(self) -> None:
        self._half = ""

    def take(self, text: str) -> str:
        """Return what is whole of everything so far."""
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return whole_characters(text[:-1] if self._half else text)

    def end(self) -> str:
        """Return what was held back."""
        half, self._half = self._half, ""
        return whole_characters(half)


def cleaned(value: Any) -> Any:
    """Return a JSON value with every text made whole, and null for NaN and Infinity."""
    match value:
        case str():
            return whole_characters(value)
        case Mapping():
            return {whole_characters(str(name)): cleaned(item) for name, item in value.items()}
        case list() | tuple():
            return [cleaned(item) for item in value]
        case float() if not math.isfinite(value):
            return None
    return value


def written(value: Any) -> str:
    """Return a JSON value, cleaned, as text; TypeError and ValueError for what is none."""
    return strict_json.encode(cleaned(value)).decode()
