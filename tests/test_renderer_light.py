"""The renderer ``light``: the same templates without a shadow root, and nothing to bring to life."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from flask_litro_agent.contracts import Renderer
from flask_litro_agent.renderers.light import LightRenderer
from flask_litro_agent.testing.renderers import RendererContract
from tests.component_site import WEATHER, card, renderer_of, weather_site, write_template


class TestContract(RendererContract):
    component = "weather-card"
    props: ClassVar[Mapping[str, Any]] = WEATHER

    @pytest.fixture
    def renderer(self, tmp_path) -> Renderer:
        return renderer_of(weather_site(tmp_path), LightRenderer)


def test_a_components_content_is_its_children(tmp_path):
    renderer = renderer_of(weather_site(tmp_path), LightRenderer)
    assert card(renderer, days=[]) == (
        '<weather-card city="Lisbon" temp-c="21"><link rel="stylesheet" href="/__litro/components/weather-card.css">'
        '\n<h3 title="Lisbon">Lisbon</h3>\n<p>21 °C</p>\n<ul></ul></weather-card>'
    )


def test_nothing_is_hydrated(tmp_path):
    assert renderer_of(weather_site(tmp_path), LightRenderer).render("weather-card", WEATHER).hydrate is None


def test_a_component_inside_another_has_no_shadow_root_either(tmp_path):
    write_template(tmp_path, "outer-card.html", "{{ litro_component('inner-card') }}")
    write_template(tmp_path, "inner-card.html", "<p>in</p>")
    html = renderer_of(tmp_path, LightRenderer).render("outer-card", {}).html
    assert html == "<outer-card><inner-card><p>in</p></inner-card></outer-card>"
