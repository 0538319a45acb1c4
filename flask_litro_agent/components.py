"""A site's components, for its agents and for its pages: props are checked, the renderer draws, a text form is made.

Whatever a browser may load for a component is in one list, made at start-up: what a renderer asks for beside it is an
error, wherever it got the name from.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from marshmallow import Schema, ValidationError

from flask_litro_agent.contracts import Asset, ComponentSource, Rendered, Renderer
from flask_litro_agent.core import output
from flask_litro_agent.core.visible import escape, is_seen
from flask_litro_agent.errors import ConfigurationError
from flask_litro_agent.tools import UIResult

__all__ = ["Components", "PropSchemas", "text_form"]

logger = logging.getLogger(__name__)

PropSchemas = Mapping[str, type[Schema] | Schema]

_MOST_PROPS: Final = 1024 * 1024  # bytes of JSON
_LONGEST_TEXT: Final = 4000


class Components:
    """What the app's renderer can draw. ``url`` is the path of the components' files, without a script root."""

    def __init__(self, renderer: Renderer | None, schemas: PropSchemas, *, url: str) -> None:
        self._renderer = renderer
        self._source: ComponentSource | None = renderer if isinstance(renderer, ComponentSource) else None
        self._schemas = {
            name: schema() if isinstance(schema, type) else schema for name, schema in schemas.items()
        }
        self._url = url
        faults = list(self._faults())
        if faults:
            raise ConfigurationError(faults)

    @property
    def names(self) -> list[str]:
        """The components that are known beforehand; those of a renderer that does not say are not among them."""
        return sorted(self._source.components) if self._source else []

    def render(self, component: UIResult) -> Rendered:
        """Return a component as html and text.

        ConfigurationError when the app has no renderer, ValueError for props that its schema refuses, TypeError for
        what is no ``Rendered``; and whatever the renderer raises, a LookupError for an unknown name as a rule.
        """
        if self._renderer is None:
            raise ConfigurationError(
                f"the component {component.component!r} needs a renderer: name an installed one in LITRO_RENDERER"
            )
        rendered = self._renderer.render(component.component, self._checked(component))
        if not (isinstance(rendered, Rendered) and isinstance(rendered.html, str)):
            raise TypeError(f"{type(self._renderer).__name__} must return Rendered(html, hydrate)")
        self._check_modules(component.component, rendered)
        text = text_form(component.data) if rendered.text is None else _clean(rendered.text)
        return dataclasses.replace(rendered, text=text)

    def text(self, component: UIResult) -> str:
        """Return the text form alone; where the component cannot be rendered, the one that its data has."""
        try:
            return self.render(component).text or ""
        except Exception:  # a renderer's, or a template's
            logger.warning("litro: the component %r has no text", component.component, exc_info=True)
            return text_form(component.data)

    def asset(self, name: str) -> Asset | None:
        """Return a module or a stylesheet by its file's name."""
        return self._assets.get(name)

    def listing(self, root: str = "") -> dict[str, Any]:
        """Return what a browser may load for each component; ``root`` is the path that the app is mounted at."""
        if self._source is None:
            return {}
        assets = self._assets
        return {
            name: {
                "modules": [
                    {"src": self._src(module, root), "integrity": assets[module].integrity}
                    for module in component.modules
                    if module in assets
                ],
                "style": self._src(component.style, root) if component.style else None,
            }
            for name, component in self._source.components.items()
        }

    def modules(self, names: Iterable[str], root: str = "") -> Iterator[tuple[str, str]]:
        """Yield address and integrity of these components' modules, of all without a name; LookupError if unknown."""
        listed = self.listing(root)
        for name in tuple(names) or listed:
            if name not in listed:
                raise LookupError(f"no component named {name!r}; there is: {', '.join(listed) or 'none'}")
            for module in listed[name]["modules"]:
                yield module["src"], module["integrity"]

    @property
    def _assets(self) -> Mapping[str, Asset]:
        return self._source.assets if self._source else {}

    def _src(self, name: str, root: str) -> str:
        return f"{root}{self._url}/{name}"

    def _checked(self, component: UIResult) -> Mapping[str, Any]:
        """Return the props as the component's schema has them, with None for what was left out."""
        schema = self._schemas.get(component.component)
        if schema is None:
            return component.props
        try:
            loaded = schema.load(dict(component.props))
        except ValidationError as error:
            wrong = json.dumps(error.messages, ensure_ascii=False)
            raise ValueError(f"the props of {component.component!r} are wrong: {wrong}") from None
        dumped = output.plain(schema.dump(loaded), limit=_MOST_PROPS)
        return {**dict.fromkeys(schema.fields), **dumped}

    def _check_modules(self, name: str, rendered: Rendered) -> None:
        """Refuse modules that were not there at start-up: a renderer may have their names from anywhere."""
        if self._source is None:
            return
        strange = [
            module for module in (rendered.hydrate or {}).get("modules", ()) if module not in self._assets
        ]
        if strange:
            raise ValueError(f"the component {name!r} asks for {strange[0]!r}, which is not in its folder")

    def _faults(self) -> Iterator[str]:
        if self._source is None:
            return
        for name in self._schemas:
            if name not in self._source.components:
                there = ", ".join(self.names) or "none"
                yield f"component {name!r} has a schema for its props and no template; there is: {there}"


def text_form(data: Any) -> str:
    """Return plain data as lines that a person can read: ``price: €199.00``."""
    return _clean("\n".join(_lines(data)))


def _lines(data: Any, indent: str = "") -> Iterator[str]:
    match data:
        case dict():
            for name, value in data.items():
                yield from _named(str(name).replace("_", " "), value, indent)
        case list():
            for value in data:
                lines = list(_lines(value, f"{indent}  "))
                yield from (f"{indent}- {lines[0].strip()}", *lines[1:]) if lines else ()
        case _:
            yield f"{indent}{_word(data)}"


def _named(name: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict | list) and value:
        yield f"{indent}{name}:"
        yield from _lines(value, f"{indent}  ")
    else:
        yield f"{indent}{name}: {_word(value)}"


def _word(value: Any) -> str:
    match value:
        case None | [] | {}:
            return "–"
        case bool():
            return "yes" if value else "no"
    return str(value)


def _clean(text: str) -> str:
    """Return the text with whatever shows nothing or turns the line around written out, and not too long."""
    shown = "".join(each if each == "\n" or is_seen(each) else escape(each) for each in text.strip())
    return shown if len(shown) <= _LONGEST_TEXT else f"{shown[: _LONGEST_TEXT - 1]}…"
