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

__all__ = ["FOLDER", "UNESCAPED", "ComponentLoader", "new_environment"]

FOLDER: Final = "components/"
#: Filters that hand a value to the page as markup.
UNESCAPED: Final = frozenset({"safe", "urlize", "xmlattr"})


class ComponentLoader(BaseLoader):
    """Loads the templates that were found at start-up, each from the loader that had it, and no other."""

    def __init__(self, found: Mapping[str, BaseLoader]) -> None:
        self._found = dict(found)

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
    """Return the environment; only a name that ends in ``.txt`` is not escaped: it never reaches a page."""
    environment = ImmutableSandboxedEnvironment(
        loader=loader,
        autoescape=_is_escaped,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in UNESCAPED:
        del environment.filters[name]
    environment.filters |= {"url": url, "tojson": _json}
    return environment


def _is_escaped(name: str | None) -> bool:
    return name is None or not name.endswith(".txt")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
