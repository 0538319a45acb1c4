"""A component as html: the protocol ``Renderer`` and its values."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

__all__ = ["Asset", "Component", "ComponentSource", "Rendered", "Renderer"]


@dataclass(frozen=True, slots=True)
class Rendered:
    """A component as html, and what the page needs to bring it to life.

    ``hydrate`` is ``{"component": name, "props": {...}, "modules": ["name.js", ...]}``. ``text`` says the same
    without markup, for terminals and letters; without it the text is made from the tool's data.
    """

    html: str
    hydrate: Mapping[str, Any] | None = None
    text: str | None = None


@runtime_checkable
class Renderer(Protocol):
    """Turns a component's name and props into html."""

    def render(self, component: str, props: Mapping[str, Any]) -> Rendered:
        """Return the html; raise for an unknown component."""
        ...


@dataclass(frozen=True, slots=True)
class Asset:
    """A module or a stylesheet of components, as it is served: ``product-card.js``."""

    name: str
    content: bytes = field(repr=False)

    @property
    def integrity(self) -> str:
        """The digest that a browser checks the file by (W3C Subresource Integrity)."""
        return f"sha384-{base64.b64encode(hashlib.sha384(self.content).digest()).decode()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """A component that there is; ``modules`` and ``style`` are names of assets."""

    name: str
    modules: tuple[str, ...] = ()
    style: str | None = None


@runtime_checkable
class ComponentSource(Protocol):
    """A renderer that knows its components beforehand: what a browser may load of them, and nothing else."""

    @property
    def components(self) -> Mapping[str, Component]:
        """Return every component, by name."""
        ...

    @property
    def assets(self) -> Mapping[str, Asset]:
        """Return every file that is served, by name."""
        ...
