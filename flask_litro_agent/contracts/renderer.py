"""A component as html: the protocol ``Renderer`` and its value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

__all__ = ["Rendered", "Renderer"]


@dataclass(frozen=True, slots=True)
class Rendered:
    """A component as html, and what the page needs to bring it to life."""

    html: str
    hydrate: Mapping[str, Any] | None = None


@runtime_checkable
class Renderer(Protocol):
    """Turns a component's name and props into html."""

    def render(self, component: str, props: Mapping[str, Any]) -> Rendered:
        """Return the html; raise for an unknown component."""
        ...
