"""Where in a template's html its values stand: read by the rules of an html tokenizer, as far as they matter here.

A template is read from left to right with all its branches after one another, so both sides of an ``if`` must leave
the html in the same place.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

__all__ = ["Place", "Reader", "Spot"]

_TAG: Final = re.compile(r"<(/?)([A-Za-z][^\s/>]*)")
_NAME: Final = re.compile(r"[^\s=/>]+")
#: Inside svg, <title> and <textarea> hold tags like any element: so they are read as if they did.
_RAW: Final = frozenset({"script", "style"})


class Place(enum.Enum):
    """What the html is made of."""

    TEXT = "text"
    COMMENT = "a comment"
    RAW = "the text of an element without tags"
    TAG = "a tag"
    UNQUOTED = "an attribute's value without quotes"
    QUOTED = "an attribute's value"


@dataclass(frozen=True, slots=True)
class Spot:
    """Where something stands: the place, the tag around it, and of an attribute its name and value so far."""

    place: Place
    tag: str = ""
    attribute: str = ""
    value: str = ""


@dataclass(slots=True)
class Reader:
    """Reads html piece by piece; ``spot`` is where it has come to."""

    spot: Spot = field(default_factory=lambda: Spot(Place.TEXT))
    _quote: str = ""
    _awaits_value: bool = False

    def read(self, text: str) -> Iterator[Spot]:
        """Go on through the text; yield where each attribute, its value, and each element without tags begins."""
        at = 0
        while at < len(text):
            match self.spot.place:
                case Place.TEXT:
                    at = self._text(text, at)
                case Place.COMMENT:
                    at = self._until(text, at, "-->")
                case Place.RAW:
                    at = self._raw(text, at)
                case Place.QUOTED:
                    at = self._quoted(text, at)
                case _:
                    before = self.spot
                    at = self._tag(text, at)
                    if self._is_told_after(before):
                        yield self.spot

    def _is_told_after(self, before: Spot) -> bool:
        return self.spot != before and (bool(self.spot.attribute) or self.spot.place is Place.RAW)

    def _text(self, text: str, at: int) -> int:
        start = text.find("<", at)
        if start < 0:
            return len(text)
        if text.startswith("<!--", start):
            self.spot = Spot(Place.COMMENT)
            return start + 4
        tag = _TAG.match(text, start)
        if tag is None:
            return start + 1
        self.spot, self._awaits_value = Spot(Place.TAG, tag[1] + tag[2].lower()), False
        return tag.end()

    def _until(self, text: str, at: int, end: str) -> int:
        found = text.find(end, at)
        if found < 0:
            return len(text)
        self.spot = Spot(Place.TEXT)
        return found + len(end)

    def _raw(self, text: str, at: int) -> int:
        found = re.compile(rf"</{re.escape(self.spot.tag)}(?=[\s/>])", re.IGNORECASE).search(text, at)
        if found is None:
            return len(text)
        self.spot = Spot(Place.TAG, f"/{self.spot.tag}")
        return found.end()

    def _quoted(self, text: str, at: int) -> int:
        end = text.find(self._quote, at)
        stop = len(text) if end < 0 else end
        spot = self.spot
        self.spot = Spot(Place.QUOTED, spot.tag, spot.attribute, spot.value + text[at:stop])
        if end < 0:
            return stop
        self.spot, self._awaits_value = Spot(Place.TAG, spot.tag), False
        return end + 1

    def _tag(self, text: str, at: int) -> int:
        character = text[at]
        if character == ">":
            return self._end_of_tag(at)
        if character.isspace() or (character == "/" and not self._awaits_value):
            if self.spot.place is Place.UNQUOTED:
                self.spot, self._awaits_value = Spot(Place.TAG, self.spot.tag), False
            return at + 1
        if self._awaits_value:
            return self._value(text, at)
        if character == "=":
            self._awaits_value = True
            return at + 1
        name = _NAME.match(text, at)
        end = name.end() if name else at + 1
        self.spot = Spot(Place.TAG, self.spot.tag, text[at:end].lower())
        return end

    def _value(self, text: str, at: int) -> int:
        tag, attribute = self.spot.tag, self.spot.attribute
        if text[at] in "\"'" and self.spot.place is Place.TAG:
            self._quote, self.spot = text[at], Spot(Place.QUOTED, tag, attribute)
        else:
            self.spot = Spot(Place.UNQUOTED, tag, attribute)
        return at + 1

    def _end_of_tag(self, at: int) -> int:
        tag = self.spot.tag
        self.spot = Spot(Place.RAW, tag) if tag in _RAW else Spot(Place.TEXT)
        self._awaits_value = False
        return at + 1

    def value(self) -> Spot:
        """Return where a value stands that the template writes here."""
        spot = self.spot
        if self._awaits_value and spot.place is Place.TAG:
            spot = self.spot = Spot(Place.UNQUOTED, spot.tag, spot.attribute)
        if spot.place is Place.QUOTED:
            self.spot = Spot(Place.QUOTED, spot.tag, spot.attribute, f"{spot.value}{{}}")
        return spot
