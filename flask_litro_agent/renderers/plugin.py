"""The renderers that come with the package, registered like anybody's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from flask import Flask

from flask_litro_agent.contracts import Rendered, Renderer
from flask_litro_agent.hookspecs import hookimpl
from flask_litro_agent.renderers.catalogue import find_components, givers_of
from flask_litro_agent.renderers.jinja import JinjaRenderer
from flask_litro_agent.renderers.light import LightRenderer
from flask_litro_agent.settings import Settings
from flask_litro_agent.tools import ui

__all__ = ["register_renderers"]


@hookimpl
def register_renderers(app: Flask, settings: Settings) -> Mapping[str, Callable[..., Renderer]]:
    """Name ``jinja`` and ``light``: both render what is in ``templates/components/``."""

    def make(kind: type[JinjaRenderer]) -> Renderer:
        root = app.config["APPLICATION_ROOT"].rstrip("/")
        find = partial(find_components, givers_of(app))
        return kind(
            find(),
            url=f"{root}{settings.url_prefix}/components",
            nested=nested,
            reread=find if app.debug else None,
        )

    def nested(component: str, props: Mapping[str, Any]) -> Rendered:
        rendered: Rendered = app.extensions["litro_agent"].render(ui(component, data=None, **props))
        return rendered

    return {"jinja": lambda: make(JinjaRenderer), "light": lambda: make(LightRenderer)}
