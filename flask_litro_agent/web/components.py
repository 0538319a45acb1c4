"""What a browser loads for components: the list of them, and each module and stylesheet in it.

Both are public, like the files under ``/static``: they hold the site's own code and nothing about a person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from flask import Response, jsonify, request
from markupsafe import Markup
from werkzeug.exceptions import NotFound

from flask_litro_agent.components import Components
from flask_litro_agent.core import output
from flask_litro_agent.tools import UIResult

__all__ = ["ComponentViews", "page_functions"]

_TYPES: Final = {"js": "text/javascript", "css": "text/css"}
_MOST_PROPS: Final = 1024 * 1024
_SCRIPT: Final = Markup('<script type="module" src="{}" integrity="{}"></script>')


class ComponentViews:
    """The views of one app's components."""

    def __init__(self, components: Components) -> None:
        self._components = components

    def routes(self) -> Iterator[tuple[str, str, Callable[..., Any], Sequence[str]]]:
        """Yield (rule, endpoint, view, methods)."""
        yield "/components.json", "components", self.list, ["GET"]
        yield "/components/<file>", "component_file", self.file, ["GET"]

    def list(self) -> Response:
        """Say what may be loaded for each component."""
        return _cached(jsonify(components=self._components.listing(request.root_path)))

    def file(self, file: str) -> Response:
        """Serve a module or a stylesheet."""
        asset = self._components.asset(file)
        if asset is None:
            raise NotFound
        return _cached(Response(asset.content, mimetype=_TYPES[asset.name.rpartition(".")[2]]))


def page_functions(components: Components) -> dict[str, Callable[..., Markup]]:
    """Return what the site's own templates call."""

    def litro_component(name: str, /, **props: Any) -> Markup:
        """Return a component as it would stand in a conversation."""
        plain = output.plain(props, limit=_MOST_PROPS)
        return Markup(components.render(UIResult(name, None, plain)).html)

    def litro_component_modules(*names: str) -> Markup:
        """Return the script tags of these components' modules, of every component's without a name."""
        tags = [_SCRIPT.format(*module) for module in components.modules(names, request.root_path)]
        return Markup("\n").join(tags)

    return {"litro_component": litro_component, "litro_component_modules": litro_component_modules}


def _cached(response: Response) -> Response:
    """Let a browser keep the answer and ask each time whether it still holds."""
    response.headers["Cache-Control"] = "no-cache"
    response.add_etag()
    response.make_conditional(request)
    return response
