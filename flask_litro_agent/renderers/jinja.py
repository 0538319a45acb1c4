"""Components as Declarative Shadow DOM: painted before any script has run, and no style of the page reaches inside.

<product-card name="Fjell 2" in-stock><template shadowrootmode="open">
  <link rel="stylesheet" href="/__litro/components/product-card.css"> … the template …
</template></product-card>
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Environment, TemplateNotFound
from markupsafe import Markup, escape

from flask_litro_agent.contracts import Asset, Component, Rendered
from flask_litro_agent.renderers import names
from flask_litro_agent.renderers.catalogue import Catalogue
from flask_litro_agent.renderers.environment import FOLDER, new_environment, new_text_environment

__all__ = ["JinjaRenderer"]

Nested = Callable[[str, Mapping[str, Any]], Rendered]


class JinjaRenderer:
    """Renders a catalogue's templates; ``url`` is the path under which the components' files are served.

    ``nested`` renders a component inside another's template, and is this renderer unless the site checks props
    first. ``reread`` gives the catalogue as it is now, while a site is being written.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        url: str,
        nested: Nested | None = None,
        reread: Callable[[], Catalogue] | None = None,
    ) -> None:
        self._now = reread or (lambda: catalogue)
        self._url = url
        self._nested = nested or self.render
        self._environments = None if reread else _environments(catalogue)

    @property
    def components(self) -> Mapping[str, Component]:
        """Return every component, by name."""
        return self._now().components

    @property
    def assets(self) -> Mapping[str, Asset]:
        """Return every module and stylesheet, by name."""
        return self._now().assets

    def render(self, component: str, props: Mapping[str, Any]) -> Rendered:
        """Return the component; LookupError for an unknown one, ValueError for a prop that cannot have its name."""
        catalogue = self._now()
        known = _known(component, catalogue.components)
        attributes = names.attributes(props)
        inside = _Inside(self._nested)
        pages, texts = self._environments or _environments(catalogue)
        template = pages.get_template(f"{FOLDER}{component}.html")
        content = template.render(props, litro_component=inside.component)
        return Rendered(
            f"<{component}{attributes}>{self._wrapped(self._link(known) + content)}</{component}>",
            self._hydrate(known, props, inside.modules),
            _text(texts, component, props),
        )

    def _wrapped(self, content: str) -> str:
        return f'<template shadowrootmode="open">{content}</template>'

    def _hydrate(
        self, known: Component, props: Mapping[str, Any], nested: Mapping[str, None]
    ) -> Mapping[str, Any] | None:
        rest, modules = names.rest(props), list(dict.fromkeys((*known.modules, *nested)))
        if not (rest or modules):
            return None
        return {"component": known.name, "props": rest, "modules": modules}

    def _link(self, known: Component) -> str:
        if known.style is None:
            return ""
        return f'<link rel="stylesheet" href="{escape(self._url)}/{known.style}">'


class _Inside:
    """What ``litro_component`` is in a template: another component, whose modules the outer one brings along."""

    def __init__(self, nested: Nested) -> None:
        self._nested = nested
        self.modules: dict[str, None] = {}

    def component(self, name: str, /, **props: Any) -> Markup:
        """Return the component's html."""
        rendered = self._nested(name, _as_data(props))
        self.modules |= dict.fromkeys((rendered.hydrate or {}).get("modules", ()))
        return Markup(rendered.html)


def _environments(catalogue: Catalogue) -> tuple[Environment, Environment]:
    return new_environment(catalogue.loader), new_text_environment(catalogue.loader)


def _as_data(value: Any) -> Any:
    """Return a prop with its texts as texts: html that a template made would not be escaped where it comes to stand."""
    match value:
        case str():
            return str.__str__(value)
        case dict():
            return {_as_data(name): _as_data(each) for name, each in value.items()}
        case list() | tuple():
            return [_as_data(each) for each in value]
    return value


def _known(component: str, components: Mapping[str, Component]) -> Component:
    fault = names.component_fault(component)
    if fault is not None:
        raise LookupError(fault)
    if component not in components:
        raise LookupError(f"no component named {component!r}{_near(component, components)}")
    return components[component]


def _text(environment: Environment, component: str, props: Mapping[str, Any]) -> str | None:
    try:
        template = environment.get_template(f"{FOLDER}{component}.txt")
    except TemplateNotFound:
        return None
    return template.render(props)


def _near(component: str, components: Mapping[str, Component]) -> str:
    near = difflib.get_close_matches(component, components, n=1)
    there = ", ".join(sorted(components)) or f"none (templates/{FOLDER} has no template)"
    return f"; did you mean {near[0]!r}?" if near else f"; there is: {there}"
