"""RendererContract: what a page counts on when a component is rendered.

class TestJinja(RendererContract):
    component = "weather-card"
    props = {"city": "Lisbon", "days": [{"summary": "sunny"}]}

    @pytest.fixture
    def renderer(self):
        return JinjaRenderer(folder)
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any, ClassVar

import pytest

from flask_litro_agent import strict_json
from flask_litro_agent.contracts import ComponentSource, Rendered, Renderer

__all__ = ["HOSTILE", "RendererContract"]

#: texts that add a tag, an attribute or a comment wherever they are not escaped for their place
HOSTILE = (
    '"><script>alert(1)</script>',
    "'><script>alert(1)</script>",
    "x onmouseover=alert(1)",
    '" onmouseover="alert(1)',
    "' onmouseover='alert(1)",
    "</template><img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "</style><svg onload=alert(1)>",
    "<!--",
    "--><b>",
)
_PLAIN = "Lisbon"


class RendererContract:
    """Every renderer gives html whose tags are its own, whatever stands in the props."""

    #: a component that the renderer knows
    component: str
    #: props that it can be rendered with; every text among them is replaced by hostile ones
    props: ClassVar[Mapping[str, Any]]

    @pytest.fixture
    def renderer(self) -> Renderer:
        """Return the renderer to test."""
        raise NotImplementedError("override the fixture 'renderer'")

    def test_a_component_is_rendered_to_html(self, renderer: Renderer) -> None:
        rendered = renderer.render(self.component, self.props)
        assert isinstance(rendered, Rendered)
        assert isinstance(rendered.html, str)
        assert _tags(rendered.html), "a component has at least its own tag"

    def test_what_hydrates_it_is_plain_json(self, renderer: Renderer) -> None:
        hydrate = renderer.render(self.component, self.props).hydrate
        assert hydrate is None or strict_json.decode(strict_json.encode(dict(hydrate))) == hydrate

    def test_the_text_form_is_text_without_markup(self, renderer: Renderer) -> None:
        text = renderer.render(self.component, _with_text(self.props, _PLAIN)).text
        assert text is None or (isinstance(text, str) and not _tags(text))

    def test_what_it_asks_for_is_what_it_lists(self, renderer: Renderer) -> None:
        """A renderer without ``components`` and ``assets`` has nothing served, and lists nothing."""
        if not isinstance(renderer, ComponentSource):
            return
        hydrate = renderer.render(self.component, self.props).hydrate or {}
        styles = [each.style for each in renderer.components.values() if each.style]
        modules = [module for each in renderer.components.values() for module in each.modules]
        assert self.component in renderer.components
        assert {*hydrate.get("modules", ()), *styles, *modules} <= set(renderer.assets)

    def test_an_unknown_component_is_an_error(self, renderer: Renderer) -> None:
        with pytest.raises(Exception):  # noqa: B017, PT011  # a renderer raises what it likes
            renderer.render("no-such-component-anywhere", self.props)

    @pytest.mark.parametrize("component", ["", "../secret", "/etc/passwd", "a b", "<script>", "x\x00y"])
    def test_a_name_that_is_no_components_is_an_error(self, renderer: Renderer, component: str) -> None:
        with pytest.raises(Exception):  # noqa: B017, PT011  # a renderer raises what it likes
            renderer.render(component, self.props)

    @pytest.mark.parametrize("text", HOSTILE)
    def test_text_in_props_adds_no_tag_and_no_attribute(self, renderer: Renderer, text: str) -> None:
        plain = renderer.render(self.component, _with_text(self.props, _PLAIN)).html
        hostile = renderer.render(self.component, _with_text(self.props, text)).html
        assert _tags(hostile) == _tags(plain)

    def test_the_props_are_left_as_they_were(self, renderer: Renderer) -> None:
        props = copy.deepcopy(dict(self.props))
        renderer.render(self.component, props)
        assert props == self.props

    def test_equal_props_give_equal_html(self, renderer: Renderer) -> None:
        first = renderer.render(self.component, copy.deepcopy(dict(self.props)))
        assert renderer.render(self.component, copy.deepcopy(dict(self.props))) == first


def _with_text(value: Any, text: str) -> Any:
    match value:
        case str():
            return text
        case Mapping():
            return {name: _with_text(item, text) for name, item in value.items()}
        case list() | tuple():
            return [_with_text(item, text) for item in value]
    return value


def _tags(html: str) -> list[tuple[str, ...]]:
    parser = _Tags()
    parser.feed(html)
    parser.close()
    return parser.seen


class _Tags(HTMLParser):
    """The skeleton of a page: each tag with the names of its attributes, each end, each comment."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, ...]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, *(name for name, _ in attrs)))

    def handle_endtag(self, tag: str) -> None:
        self.seen.append((f"/{tag}",))

    def handle_comment(self, data: str) -> None:
        self.seen.append(("!--",))
