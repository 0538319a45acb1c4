"""Reasoning that a server leaves inside the text: ``<think>…</think>`` at its very start.

Only there is it a tag; anywhere else it is text. A piece that may still become a tag is held back.
"""

from __future__ import annotations

from collections.abc import Iterator

from flask_litro_agent.contracts import ReasoningDelta, TextDelta

__all__ = ["ThinkingTag"]

_OPEN = "<think>"
_CLOSE = "</think>"


class ThinkingTag:
    """Splits one answer's text into reasoning and text."""

    def __init__(self) -> None:
        self._state = "start"
        self._held = ""

    def take(self, text: str) -> Iterator[TextDelta | ReasoningDelta]:
        """Yield what is certain of everything so far."""
        self._held += text
        if self._state == "start":
            self._at_start()
        if self._state == "opened":
            self._held = self._held.lstrip()
            self._state = "inside" if self._held else "opened"
        if self._state == "inside":
            yield from self._inside()
        if self._state == "after":
            self._held = self._held.lstrip()
            self._state = "text" if self._held else "after"
        if self._state == "text":
            held, self._held = self._held, ""
            yield TextDelta(held)

    def end(self) -> Iterator[TextDelta | ReasoningDelta]:
        """Yield what was held back."""
        held, self._held = self._held, ""
        yield ReasoningDelta(held) if self._state == "inside" else TextDelta(held)

    def _at_start(self) -> None:
        begun = self._held.lstrip()
        if begun.startswith(_OPEN):
            self._state, self._held = "opened", begun.removeprefix(_OPEN)
        elif begun and not _OPEN.startswith(begun):
            self._state = "text"

    def _inside(self) -> Iterator[ReasoningDelta]:
        before, tag, after = self._held.partition(_CLOSE)
        if tag:
            self._state, self._held = "after", after
            yield ReasoningDelta(before)
            return
        keep = next((size for size in range(len(_CLOSE) - 1, 0, -1) if before.endswith(_CLOSE[:size])), 0)
        self._held = before[len(before) - keep :]
        yield ReasoningDelta(before[: len(before) - keep])
