"""The pages' words in the language of a request: by Flask-Babel where the site has it, English otherwise.

Our catalogues have the domain ``litro_agent``. A site's own of that name, in its own folders, win word by word. What no
catalogue has, or has in a form that cannot be filled in, is shown in English.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from flask import current_app

__all__ = ["DOMAIN", "FOLDER", "direction", "language", "mark", "say", "say_many"]

logger = logging.getLogger(__name__)

DOMAIN: Final = "litro_agent"
FOLDER: Final = Path(__file__).parents[2] / "translations"
_KEPT: Final = "litro_agent_words"
_BROKEN: Final = (KeyError, ValueError, TypeError)


def say(text: str, **values: object) -> str:
    """Return the text in the language of this request; ``values`` stand at its ``%(name)s``."""
    words = _catalogue()
    told = words.gettext(text) if words is not None and text else text
    return _filled(told, text, values) if values else str(told)


def say_many(one: str, many: str, count: int, **values: object) -> str:
    """Return the text that fits the number, which stands at ``%(count)s``."""
    words, english = _catalogue(), one if count == 1 else many
    told = english if words is None else words.ngettext(one, many, count)
    return _filled(told, english, {"count": count, **values})


def mark(text: str) -> str:
    """Return the text as it is: it is said later, and translated then."""
    return text


def language() -> str:
    """Return the tag of the language that the pages are in: a catalogue's translation of the text ``en``."""
    return say("en")


def direction() -> str:
    """Return the direction in which that language is written, ``ltr`` or ``rtl``."""
    if language() == "en":
        return "ltr"
    return str(_flask_babel().get_locale().text_direction)


def _filled(told: str, english: str, values: Mapping[str, object]) -> str:
    try:
        return told % values
    except _BROKEN:
        logger.warning("litro admin: a translation cannot be filled in: %r", told)
        return english % values


def _catalogue() -> Any:
    """Return the words of this request's language; None where the site has no Flask-Babel."""
    if "babel" not in current_app.extensions:
        return None
    kept = current_app.extensions.get(_KEPT)
    if kept is None:
        kept = current_app.extensions[_KEPT] = _Shelf()
    return kept.catalogue()


class _Shelf:
    """One app's catalogues, each read once; of two folders that have one, the site's wins word by word."""

    def __init__(self) -> None:
        self._babel = _flask_babel()
        folders = [str(FOLDER), *self._babel.get_babel().translation_directories]
        self._domain = self._babel.Domain(folders, domain=DOMAIN)
        self._unreadable: set[str] = set()

    def catalogue(self) -> Any:
        """Return the catalogue of this request's language, None for one that cannot be read."""
        language = str(self._babel.get_locale())
        if language in self._unreadable:
            return None
        try:
            return self._domain.get_translations()
        except Exception:  # a file of the site's, in whatever way it is broken
            logger.exception(
                "litro admin: the catalogue for %s cannot be read: its pages are in English", language
            )
            self._unreadable.add(language)
            return None


def _flask_babel() -> Any:
    import flask_babel  # an optional dependency, which is there when its extension is

    return flask_babel
