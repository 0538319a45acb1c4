"""The Jinja environment of components: apart from the site's own, sandboxed, and escaping is always on.

What makes markup out of a value (``safe``, ``urlize``, ``xmlattr``) does not exist in it, and ``tojson`` is a text
like any other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from jinja2 import BaseLoader, Environment, StrictUndefined, TemplateNotFound
from jinja2.sandbox import ImmutableSandboxedEnvironment

from flask_litro_agent.renderers.urls import url

__all__ = ["FOLDER", "UNESCAPED", "ComponentLoader", "new_environment", "new_text_environment"]

FOLDER: Final = "components/"
#: Filters that hand a value to the page as markup.
UNESCAPED: Final = frozenset({"safe", "urlize", "xmlattr"})


class ComponentLoader(BaseLoader):
    """Loads the templates that were found at start-up, each from the loader that had it, and no other."""

    def __init__(self, found: Mapping[str, BaseLoader]) -> None:
        self._found = dict(found)

    def of(self, ending: str) -> ComponentLoader:
        """Return a loader of those alone whose names end so."""
        return ComponentLoader({name: each for name, each in self._found.items() if name.endswith(ending)})

    def get_source(
        self, environment: Environment, template: str
    ) -> tuple[str, str | None, Callable[[], bool] | None]:
        """Return the template's text."""
        if template not in self._found:
            raise TemplateNotFound(template)
        return self._found[template].get_source(environment, template)

    def list_templates(self) -> list[str]:
        """Return every name."""
        return sorted(self._found)


def new_environment(loader: ComponentLoader) -> ImmutableSandboxedEnvironment:
    """Return the environment of the templates that are html: it knows no other ones, which are not escaped."""
    return _environment(loader.of(".html"), is_escaped=True)


def new_text_environment(loader: ComponentLoader) -> ImmutableSandboxedEnvironment:
    """Return the environment of the text forms: nothing is escaped, and no page ever gets what it makes."""
    return _environment(loader.of(".txt"), is_escaped=False)


def _environment(loader: ComponentLoader, *, is_escaped: bool) -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        loader=loader,
        autoescape=is_escaped,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in UNESCAPED:
        del environment.filters[name]
    environment.filters |= {"url": url, "tojson": _json}
    return environment


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
