"""The filter ``url``: an address that a browser may follow, never one that it would run."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["NOWHERE", "url"]

#: What stands in the place of an address that is none: a browser shows an empty page.
NOWHERE: Final = "about:invalid"

_ABSOLUTE: Final = re.compile(r"(?:https?://[^/?#\\\s]|mailto:|tel:)[^\s\\]*", re.IGNORECASE)
_RELATIVE: Final = re.compile(r"(?:/(?![/\\])|[?#]|\.{1,2}/)[^\s\\]*|")


def url(value: object) -> str:
    """Return the address if it is a path of this site, or http, https, mailto or tel; ``about:invalid`` otherwise."""
    address = str(value)
    if not address.isprintable():
        return NOWHERE
    return address if _RELATIVE.fullmatch(address) or _ABSOLUTE.fullmatch(address) else NOWHERE
