r"""A text as a person can read it: no character of it stays unseen, and no two texts look the same.

What shows nothing, moves other letters, or joins its neighbour into another letter is written as ``\u202e`` or
``\U000e0041``. A backslash stands as it is until it could be taken for such an escape: then every backslash of the
text is doubled. A line break is ``↵`` and a new line.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["ESCAPED", "LOOKALIKE", "MIXED", "Visible", "escape", "is_seen", "visible", "visible_json"]

#: Marks: characters are written as escapes; a word has letters of several scripts; letters only look Latin.
ESCAPED: Final = "escaped"
MIXED: Final = "mixed scripts"
LOOKALIKE: Final = "lookalike"

_BREAK: Final = "↵"
_LIKE_ESCAPE: Final = re.compile(r"\\\\|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}")
#: Characters that Python calls printable and that show nothing: joiners, fillers, blanks, variation selectors.
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U00016fe4\U0001d159"
    "\U000e0100-\U000e01ef]"
)
_MOST_ACCENTS: Final = 8
#: Scripts that stand beside Latin letters in ordinary words, and signs that belong to no script.
_EAST_ASIAN: Final = frozenset(
    {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HALFWIDTH", "IDEOGRAPHIC", "BOPOMOFO", "HANGUL"}
)
_ANYWHERE: Final = _EAST_ASIAN | {"MICRO", "FEMININE", "MASCULINE", "MODIFIER", "COMBINING"}
#: Letters of other scripts that most typefaces draw like a Latin one.
_DOUBLES: Final = frozenset("АВЕЅІЈКМНОРСТУХҮԌԚԜаеѕіјорсухһӏԁԛԝүΑΒΕΖΗΙΚΜΝΟΡΤΥΧονϳօսոհՕՏՍᎠᎡᎢᎪᎫᎬᎳᎷᎻᏀᏃᏚᏞᏟᏢᏦᏩᏙᏔᏴ")


class Visible(NamedTuple):
    """A text whose every character shows, and what a reader must be told about it."""

    text: str
    marks: tuple[str, ...] = ()


def visible(text: str, *, breaks: bool = False) -> Visible:
    """Return the text as it is shown; with ``breaks`` its line breaks are kept beside their sign."""
    hidden = frozenset(_hidden(text, breaks=breaks))
    is_escaped = bool(hidden or _LIKE_ESCAPE.search(text))
    told = _escaped(text, hidden) if is_escaped else text
    marks = ((ESCAPED,) if is_escaped else ()) + (() if text.isascii() else tuple(_script_marks(text)))
    return Visible(told.replace("\n", f"{_BREAK}\n"), marks)


def visible_json(text: str) -> str:
    """Return JSON text whose every character shows, and that says the same value."""
    return "".join(each if is_seen(each) else json.dumps(each)[1:-1] for each in text)


def escape(character: str) -> str:
    """Return how one character is written where it cannot be shown."""
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def is_seen(character: str) -> bool:
    """Whether the character shows, and nothing but itself."""
    return character.isprintable() and not _UNSEEN.match(character)


def _escaped(text: str, hidden: frozenset[int]) -> str:
    return "".join(
        escape(character) if place in hidden else "\\\\" if character == "\\" else character
        for place, character in enumerate(text)
    )


def _hidden(text: str, *, breaks: bool) -> Iterator[int]:
    """Yield the places that must be escaped."""
    if text.isascii() and text.isprintable():
        return
    if unicodedata.is_normalized("NFC", text) and all(_is_plain(each, breaks=breaks) for each in set(text)):
        return
    cluster = ""  # the letter before, with its accents
    for place, character in enumerate(text):
        if breaks and character == "\n":
            cluster = ""
        elif not is_seen(character) or character == _BREAK:
            cluster = ""
            yield place
        elif _is_accent_of(cluster, character):
            cluster += character
        elif not _is_accent(character) and unicodedata.is_normalized("NFC", cluster + character):
            cluster = character
        else:
            yield place


def _is_plain(character: str, *, breaks: bool) -> bool:
    """Whether the character shows as itself wherever it stands in a text of normal form."""
    if breaks and character == "\n":
        return True
    return is_seen(character) and character != _BREAK and not _is_accent(character)


def _is_accent(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def _is_accent_of(cluster: str, mark: str) -> bool:
    """Whether the mark adds to the letter before it, and does not make another letter of it."""
    if not cluster or len(cluster) > _MOST_ACCENTS or not _is_accent(mark):
        return False
    return unicodedata.is_normalized("NFC", cluster + mark)


def _script_marks(text: str) -> Iterator[str]:
    scripts = {character: _script(character) for character in set(text)}
    by_script: dict[str, list[str]] = {}
    for character, script in scripts.items():
        by_script.setdefault(script, []).append(character)
    by_script.pop("", None)
    if len(by_script) > 1 and any(len(word) > 1 for word in _words(text, scripts)):
        yield MIXED
    by_script.pop("LATIN", None)
    if any(all(map(_is_double, letters)) for letters in by_script.values()):
        yield LOOKALIKE


def _words(text: str, scripts: dict[str, str]) -> Iterator[set[str]]:
    """Yield the scripts of each word; digits, accents, and letters that stand anywhere are of none."""
    word: set[str] = set()
    for character in text:
        if scripts[character]:
            word.add(scripts[character])
        elif not (character.isalnum() or _is_accent(character)):
            yield word
            word = set()
    yield word


def _script(character: str) -> str:
    """Return the first word of a letter's name, which is its script; nothing for what belongs to every script."""
    if character.isascii():
        return "LATIN" if character.isalpha() else ""
    if not (character.isalpha() or character.isdecimal()):
        return ""
    name = unicodedata.name(character, "").partition(" ")[0]
    return "" if name in _ANYWHERE else name


def _is_double(letter: str) -> bool:
    plain = unicodedata.normalize("NFKC", letter)
    return letter in _DOUBLES or (plain.isascii() and len(plain) == 1 and plain.isalnum())
