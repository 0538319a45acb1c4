"""A site with components in a temporary folder: templates, modules and stylesheets as files, and a renderer of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flask import Flask

from flask_litro_agent.renderers.catalogue import find_components
from flask_litro_agent.renderers.jinja import JinjaRenderer

__all__ = ["renderer_of", "weather_site", "write_asset", "write_template"]

URL = "/__litro/components"
CARD = """
<h3 title="{{ city }}">{{ city }}</h3>
<p>{{ temp_c }} °C</p>
<ul>{% for day in days %}<li><a href="{{ day.link | url }}">{{ day.summary }}</a></li>{% endfor %}</ul>
"""
WEATHER = {
    "city": "Lisbon",
    "temp_c": 21,
    "days": [{"summary": "sunny", "link": "/days/1"}],
}


def write_template(folder: Path, name: str, text: str) -> None:
    """Write ``templates/components/<name>``."""
    path = folder / "templates" / "components" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_asset(folder: Path, name: str, text: str) -> None:
    """Write ``static/components/<name>``."""
    path = folder / "static" / "components" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def weather_site(folder: Path) -> Path:
    """Write the component ``weather-card`` with its module and its stylesheet."""
    write_template(folder, "weather-card.html", CARD)
    write_asset(
        folder, "weather-card.js", "customElements.define('weather-card', class extends HTMLElement {});"
    )
    write_asset(folder, "weather-card.css", "p { color: green }")
    return folder


def renderer_of(folder: Path, kind: type[JinjaRenderer] = JinjaRenderer) -> JinjaRenderer:
    """Return a renderer of what was written there."""
    return kind(find_components([Flask("site", root_path=str(folder))]), url=URL)


def card(renderer: JinjaRenderer, name: str = "weather-card", **props: Any) -> str:
    """Return a component's html."""
    return renderer.render(name, {**WEATHER, **props}).html
