"""A Python regular expression as JSON Schema's ``pattern``, which is ECMA-262's.

The translation accepts at most what the original accepts: where the two dialects differ it takes the narrower
meaning (``\\d`` is ``[0-9]``), and it gives up where that is impossible. No pattern is run here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

__all__ = ["ecma_pattern", "literal"]

_TOKEN: Final = re.compile(
    r"""
      (?P<escape> \\ (?: x[0-9a-fA-F]{2} | u[0-9a-fA-F]{4} | U[0-9a-fA-F]{8} | [\s\S] ) )
    | (?P<set>    \[ \^? \]? (?: \\[\s\S] | [^\]\\] )* \] )
    | (?P<group>  \( (?: \? (?: P<\w+> | [:=!] )? )? )
    | (?P<repeat> (?: [*+?] | \{ (?: [0-9]+ (?: ,[0-9]* )? | ,[0-9]* ) \} ) [+?]? )
    | (?P<plain>  [\s\S] )
    """,
    re.VERBOSE,
)
_MEMBER: Final = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[\s\S])|[\s\S]")
_SYNTAX: Final = frozenset("^$\\.*+?()[]{}|")
_SET_SYNTAX: Final = frozenset("^]\\[-")
_KNOWN_FLAGS: Final = re.UNICODE | re.ASCII | re.DOTALL

_SPACE: Final = r" \t\n\r\f\v"
_CLASSES: Final = {"d": "0-9", "w": "A-Za-z0-9_", "s": _SPACE}
# ECMA's \s lacks the separators U+001C to U+001F and U+0085, which are space to Python
_EVERY_SPACE: Final = r"\s\x1c-\x1f\x85"


class _Untranslatable(Exception):
    """The two dialects differ here, and the narrower meaning cannot be written."""


def ecma_pattern(regex: re.Pattern[str] | re.Pattern[bytes]) -> str | None:
    """Return the pattern that accepts what ``regex.match`` accepts, or less; None when there is none."""
    if isinstance(regex.pattern, bytes) or regex.flags & ~_KNOWN_FLAGS:
        return None
    reader = _Translation(regex.pattern, regex.flags)
    try:
        return reader.anchored()
    except _Untranslatable:
        return None


def literal(text: str) -> str:
    """Return a pattern that matches exactly this text."""
    return "".join(f"\\{character}" if character in _SYNTAX else character for character in text)


class _Translation:
    """One pass over a pattern, token by token."""

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._ascii = bool(flags & re.ASCII)
        self._dot = r"[\s\S]" if flags & re.DOTALL else "."
        self._narrowed = not flags & re.DOTALL and "." in text
        self._negated = False
        self._depth = 0
        self._alternatives = False

    def anchored(self) -> str:
        body = "".join(self._tokens())
        if self._negated and self._narrowed:  # narrower inside (?!...) is wider as a whole
            raise _Untranslatable
        if self._alternatives:
            return f"^(?:{body})"
        return body if body.startswith("^") else f"^{body}"

    def _tokens(self) -> Iterator[str]:
        for match in _TOKEN.finditer(self._text):
            token = match[0]
            match match.lastgroup:
                case "escape":
                    yield self._escape(token[1:])
                case "set":
                    yield self._set(token)
                case "group":
                    yield self._group(token)
                case "repeat":
                    yield _repeat(token)
                case _:
                    yield self._plain(token)

    def _plain(self, character: str) -> str:
        match character:
            case ")":
                self._depth -= 1
            case "|":
                self._alternatives = self._alternatives or self._depth == 0
            case ".":
                return self._dot
            case "$":  # Python's also matches before a last newline
                self._narrowed = True
            case "{" | "}" | "]":
                return f"\\{character}"
        return character

    def _group(self, token: str) -> str:
        self._depth += 1
        if token == "(?":  # inline flags, lookbehind, conditions, references
            raise _Untranslatable
        self._negated = self._negated or token == "(?!"
        return "(" if token.startswith("(?P<") else token

    def _escape(self, name: str) -> str:
        if name in _CLASSES:
            self._narrowed = self._narrowed or not self._ascii
            return f"[{_CLASSES[name]}]"
        if name == "S" and not self._ascii:
            self._narrowed = True
            return f"[^{_EVERY_SPACE}]"
        if self._ascii and name.lower() in _CLASSES:
            return f"[^{_CLASSES[name.lower()]}]"
        match name:
            case "A":
                return "^"
            case "Z":
                return "$"
            case "b" | "B" if self._ascii:
                return f"\\{name}"
        return _character(name, literal)

    def _set(self, token: str) -> str:
        opening = "[^" if token.startswith("[^") else "["
        members = _MEMBER.findall(token[len(opening) : -1])
        return opening + "".join(self._member(member, opening == "[^") for member in members) + "]"

    def _member(self, member: str, negated: bool) -> str:  # a set is negated or not; there is no third thing
        if not member.startswith("\\"):
            return _set_literal(member) if member in "[]" else member
        name = member[1:]
        if name not in _CLASSES:
            return "\\b" if name == "b" else _character(name, _set_literal)
        if not negated or self._ascii:
            self._narrowed = self._narrowed or not self._ascii
            return _CLASSES[name]
        if name != "s":
            raise _Untranslatable
        self._narrowed = True
        return _EVERY_SPACE


def _repeat(token: str) -> str:
    if len(token) > 1 and token.endswith("+"):  # possessive
        raise _Untranslatable
    return token.replace("{,", "{0,")


def _character(name: str, quote: Callable[[str], str]) -> str:
    if name in {"n", "r", "t", "f", "v"} or (len(name) > 1 and name[0] in "xu"):
        return f"\\{name}"
    if name == "a":
        return r"\x07"
    if len(name) > 1:
        return quote(chr(int(name[1:], 16)))
    if name.isalnum():
        raise _Untranslatable
    return quote(name)


def _set_literal(character: str) -> str:
    return f"\\{character}" if character in _SET_SYNTAX else character
