"""Where in a template's html its values stand: read by the rules of an html tokenizer, as far as they matter here.

A template is read from left to right. Each branch of an ``if`` begins where the ``if`` stands, and all of them must
end in the same place: whoever reads two branches as one text sees another html than the browser does.
"""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

__all__ = ["Place", "Reader", "Spot"]

#: What html takes for a space, which is less than Python does: a no-break space is a part of a name or a value.
_SPACES: Final = " \t\n\f\r"
_TAG: Final = re.compile(rf"<(/?)([A-Za-z][^{_SPACES}/>]*)")
_NAME: Final = re.compile(rf"[^{_SPACES}=/>]+")
_COMMENT: Final = re.compile(r"<!--(-?>)?")
_END_OF_COMMENT: Final = re.compile(r"--!?>")
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
    DIVIDED = "a name that something of Jinja's divides"


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
    _is_in_name: bool = False
    _is_divided: bool = False

    @property
    def state(self) -> tuple[object, ...]:
        """What must be the same at the end of every branch."""
        quoted = (self.spot.attribute, self._quote) if self.spot.place is Place.QUOTED else ()
        return (self.spot.place, self.spot.tag, self._awaits_value, *quoted)

    def copy(self) -> Reader:
        """Return another reader that has come to the same place."""
        return dataclasses.replace(self)

    def interrupt(self) -> None:
        """Note that a statement stands here: whatever name was before it may not be the one that goes on behind."""
        if self.spot.place is Place.TAG and not self._awaits_value:
            self.spot = Spot(Place.TAG, self.spot.tag)

    def join(self, others: Iterable[Reader]) -> bool:
        """Go on behind branches that the others have read; False when they are not all in the same place."""
        ends = list(others)
        self._is_in_name = self._is_in_name or any(each._is_in_name for each in ends)
        return all(each.state == self.state for each in ends)

    def read(self, text: str) -> Iterator[Spot]:
        """Go on through the text; yield where each attribute, its value, and each element without tags begins."""
        at = 0
        self._is_divided = self._is_in_name
        while at < len(text):
            match self.spot.place:
                case Place.TEXT:
                    at = self._text(text, at)
                case Place.COMMENT:
                    at = self._comment(text, at)
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
        told = bool(self.spot.attribute) or self.spot.place in (Place.RAW, Place.UNQUOTED)
        return told and self.spot != before

    def _text(self, text: str, at: int) -> int:
        start = text.find("<", at)
        if start < 0:
            return len(text)
        comment = _COMMENT.match(text, start)
        if comment is not None:
            self.spot = Spot(Place.TEXT if comment[1] else Place.COMMENT)
            return comment.end()
        tag = _TAG.match(text, start)
        if tag is None:
            return start + 1
        self.spot, self._awaits_value = Spot(Place.TAG, tag[1] + tag[2].lower()), False
        self._is_in_name = True
        return tag.end()

    def _comment(self, text: str, at: int) -> int:
        end = _END_OF_COMMENT.search(text, at)
        if end is None:
            return len(text)
        self.spot = Spot(Place.TEXT)
        return end.end()

    def _raw(self, text: str, at: int) -> int:
        found = re.compile(rf"</{re.escape(self.spot.tag)}(?=[{_SPACES}/>])", re.IGNORECASE).search(text, at)
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
        if character in _SPACES or (character == "/" and not self._awaits_value):
            return self._space(at)
        if character == ">":
            return self._end_of_tag(at)
        if self._awaits_value:
            return self._value(text, at)
        return self._equals(at) if character == "=" else self._name(text, at)

    def _space(self, at: int) -> int:
        if self.spot.place is Place.UNQUOTED:
            self.spot, self._awaits_value = Spot(Place.TAG, self.spot.tag), False
        self._is_in_name = self._is_divided = False
        return at + 1

    def _equals(self, at: int) -> int:
        """Read the sign; without a name before it a browser takes it, and what follows, for a name."""
        if not self.spot.attribute:
            self.spot = Spot(Place.UNQUOTED, self.spot.tag)
        self._awaits_value, self._is_in_name = True, False
        return at + 1

    def _name(self, text: str, at: int) -> int:
        name = _NAME.match(text, at)
        end = name.end() if name else at + 1
        place = Place.DIVIDED if self._is_divided else Place.TAG
        self.spot = Spot(place, self.spot.tag, text[at:end].lower())
        self._is_in_name, self._is_divided = True, False
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
        self._awaits_value = self._is_in_name = False
        return at + 1

    def value(self) -> Spot:
        """Return where a value stands that the template writes here."""
        spot = self.spot
        if self._awaits_value and spot.place is Place.TAG:
            spot = self.spot = Spot(Place.UNQUOTED, spot.tag, spot.attribute)
        if spot.place is Place.QUOTED:
            self.spot = Spot(Place.QUOTED, spot.tag, spot.attribute, f"{spot.value}{{}}")
        return spot
