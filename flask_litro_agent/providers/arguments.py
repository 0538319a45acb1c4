"""A call's arguments, put together from the fragments that a server sends.

What cannot be trusted is never repaired and never replaced by ``{}``: the call becomes invalid and keeps its text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flask_litro_agent import strict_json
from flask_litro_agent.contracts import ToolCallEvent
from flask_litro_agent.errors import InvalidJSON

__all__ = ["Arguments"]

_RAW = 65536


@dataclass(slots=True)
class Arguments:
    """The arguments of one call while they arrive."""

    whole: Mapping[str, Any] | None = None
    _pieces: list[str] = field(default_factory=list)
    _size: int = 0

    @classmethod
    def of(cls, fragment: Any) -> Arguments:
        """Return what one fragment says."""
        arguments = cls()
        arguments.add(fragment)
        return arguments

    @property
    def text(self) -> str:
        """Everything so far, as text."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    @property
    def is_empty(self) -> bool:
        return self.whole is None and not self._size

    @property
    def is_complete(self) -> bool:
        """Whether what arrived is a whole JSON object."""
        return self.whole is not None or (self.text.rstrip().endswith("}") and self.read() is not None)

    @property
    def is_placeholder(self) -> bool:
        """Whether what arrived is an empty object, which some servers send before the real one."""
        return not self.whole and self.text.strip() in ("", "{}")

    def repeats(self, fragment: Any) -> bool:
        """Whether the fragment says again all that arrived: some servers send the buffer, not the difference."""
        if not isinstance(fragment, str):
            return bool(fragment == self.whole)
        return self._size > 0 and len(fragment) >= self._size and fragment.startswith(self.text)

    def add(self, fragment: Any) -> None:
        """Take a fragment: a text, or the whole object. Another value becomes its text, and so no arguments."""
        if isinstance(fragment, dict):
            self.whole = fragment if fragment or self.is_empty else self.whole
        elif fragment:
            text = fragment if isinstance(fragment, str) else json.dumps(fragment)
            if self.text.strip() and self.repeats(text):
                self._pieces, self._size = [], 0
            self._pieces.append(text)
            self._size += len(text)

    def read(self) -> dict[str, Any] | None:
        """Return the arguments, or None when they are not one JSON object."""
        text = self.text.strip()
        if self.whole is not None and text in ("", "{}"):
            return _strict(json.dumps(self.whole))
        if text in ("", "null"):
            return {}
        value = _strict(text)
        return value if value is not None else _after_placeholder(text)

    def call(self, id: str, name: str, *, is_cut: bool = False) -> ToolCallEvent:
        """Return the event of this call; ``is_cut`` says that the answer broke off at this call."""
        value = None if is_cut and self.is_empty else self.read()
        if value is None or not name:
            return ToolCallEvent(id, name, invalid=True, raw=self.text[:_RAW])
        return ToolCallEvent(id, name, value)


def _strict(text: str) -> dict[str, Any] | None:
    """Decode an object, or a JSON text that holds one (some servers encode twice)."""
    try:
        value = strict_json.decode(text)
        if isinstance(value, str):
            value = strict_json.decode(value)
    except InvalidJSON:
        return None
    return value if isinstance(value, dict) else None


def _after_placeholder(text: str) -> dict[str, Any] | None:
    """Decode ``{}{"a": 1}``: a placeholder and the real object."""
    rest = text
    while rest.startswith("{") and rest[1:].lstrip().startswith("}"):
        rest = rest[1:].lstrip()[1:].lstrip()
    return _strict(rest) if rest and rest != text else None
