"""Components without a shadow root: the page's own styles reach inside, and no script is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask_litro_agent.contracts import Component
from flask_litro_agent.renderers.jinja import JinjaRenderer

__all__ = ["LightRenderer"]


class LightRenderer(JinjaRenderer):
    """The same templates as the component's children."""

    def _wrapped(self, content: str) -> str:
        return content

    def _hydrate(self, known: Component, props: Mapping[str, Any], nested: Mapping[str, None]) -> None:
        return None
