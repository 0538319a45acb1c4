"""Identifiers that a server accepts: the tools' names, and the ids of calls.

Servers demand an alphabet and a length; what is legal stays as it is, and what is made instead is always made the
same, so that a history is told in the same words in every turn.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from flask_litro_agent.contracts import ToolSpec

__all__ = ["Ids", "Names"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class Names:
    """The tools' names as a server accepts them, and back. Legal names stay as they are."""

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        names = list(dict.fromkeys(tool.name for tool in tools))
        self._sent = {name: name for name in names if _NAME.fullmatch(name)}
        for name in names:
            if name not in self._sent:
                self._sent[name] = _legal_name(name, taken=self._sent.values())
        self._original = {sent: name for name, sent in self._sent.items()}

    def sent(self, name: str) -> str:
        """Return the name to send, also for a tool that is no longer there."""
        return self._sent.get(name) or (name if _NAME.fullmatch(name) else _legal_name(name, taken=()))

    def original(self, sent: str) -> str:
        """Return the tool's own name."""
        return self._original.get(sent, sent)

    def __contains__(self, sent: str) -> bool:
        return sent in self._original


class Ids:
    """Call ids that are legal and used once; the same history always gives the same ids."""

    def __init__(self, legal: re.Pattern[str]) -> None:
        self._legal = legal
        self._used: set[str] = set()

    def legal(self, id: str) -> str:
        """Return the id, or another one where it is not legal or used before."""
        wanted, attempt = id, 0
        while wanted in self._used or not self._legal.fullmatch(wanted):
            wanted, attempt = _digest(f"{id}#{attempt}", 9), attempt + 1
        self._used.add(wanted)
        return wanted


def _legal_name(name: str, *, taken: Iterable[str]) -> str:
    legal = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "tool"
    if legal in taken or len(name) > 64:
        legal = f"{legal[:55]}_{_digest(name, 8)}"
    return legal


def _digest(text: str, length: int) -> str:
    """Return letters and digits made from the text."""
    number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16])
    digits = ""
    while len(digits) < length:
        number, digit = divmod(number, len(_ALPHABET))
        digits += _ALPHABET[digit]
    return digits
