"""What a component and its props may be called: names that an html parser reads as nothing but themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from markupsafe import escape

__all__ = ["ASSET", "attributes", "component_fault", "rest"]

#: The name of a file beside the templates; one that begins with ``_`` is shared by several components.
ASSET: Final = re.compile(r"_?[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*\.(?:js|css)")

_COMPONENT: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+")
_LONGEST: Final = 64
#: Names with a hyphen that are no custom elements (HTML, "valid custom element name").
_TAKEN: Final = frozenset(
    {
        "annotation-xml",
        "color-profile",
        "font-face",
        "font-face-format",
        "font-face-name",
        "font-face-src",
        "font-face-uri",
        "missing-glyph",
    }
)
_PROP: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_HANDLER: Final = re.compile(r"on[a-z0-9]+")
#: Attributes that mean something to the browser, or to the page around the component.
_MEANT: Final = frozenset({"class", "id", "is", "nonce", "part", "popover", "slot", "style"})


def component_fault(name: object) -> str | None:
    """Return why this is no component's name, None when it is one."""
    if isinstance(name, str) and len(name) <= _LONGEST and _COMPONENT.fullmatch(name):
        return f"{name!r} is a name that html keeps for itself" if name in _TAKEN else None
    return (
        f"{str(name)[:_LONGEST]!r} is not the name of a component: it needs lower-case words with hyphens between"
        " them, such as 'product-card'"
    )


def attributes(props: Mapping[str, Any]) -> str:
    """Return the props that are plain values as attributes, ``temp_c`` as ``temp-c``; ValueError for a bad name.

    True is an attribute without a value; False and None are no attribute.
    """
    return "".join(_attribute(_checked(name), value) for name, value in props.items())


def rest(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return the props that no attribute can hold."""
    return {name: value for name, value in props.items() if not _is_plain(value)}


def _checked(name: str) -> str:
    if not _PROP.fullmatch(name):
        raise ValueError(
            f"{name[:_LONGEST]!r} is not the name of a prop: it needs letters, digits and single _"
        )
    if name in _MEANT or _HANDLER.fullmatch(name):
        raise ValueError(
            f"a prop cannot be called {name!r}: the browser has its own meaning for that attribute"
        )
    return name.replace("_", "-")


def _attribute(name: str, value: object) -> str:
    if not _is_plain(value) or value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(value)}"'


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)
