"""Hostile props in a real browser: nothing runs, nothing is asked for, and the page has no element more."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from flask_litro_agent.renderers.jinja import JinjaRenderer
from flask_litro_agent.renderers.light import LightRenderer
from tests.component_site import card, renderer_of, weather_site
from tests.test_renderer_jinja import BAD_ADDRESSES, HOSTILE

pytest_plugins = ["tests.browser"]
pytestmark = pytest.mark.browser

ORIGIN = "http://shop.example/"
LOUD = "<script>window.ran = []; window.alert = (what) => ran.push(what); window.msgbox = alert</script>"
COUNT = """() => {
  const inside = (root) => [...root.querySelectorAll("*")].flatMap((each) =>
    [each.localName + [...each.attributes].map(({ name }) => " " + name).sort().join(""),
     ...(each.shadowRoot ? inside(each.shadowRoot) : [])]);
  return inside(document.body);
}"""


def open_page(page: Page, html: str) -> list[str]:
    """Show the html on a page of its own; return every address that it asked for."""
    asked: list[str] = []

    def answer(route) -> None:
        asked.append(route.request.url)
        body = f"<!doctype html><title>x</title>{LOUD}<body>{html}" if route.request.url == ORIGIN else ""
        route.fulfill(body=body, content_type="text/html; charset=utf-8")

    page.unroute_all()
    page.route("**/*", answer)
    page.goto(ORIGIN)
    page.wait_for_load_state("networkidle")
    return [address for address in asked if address not in (ORIGIN, f"{ORIGIN}favicon.ico")]


@pytest.mark.parametrize("kind", [JinjaRenderer, LightRenderer])
def test_hostile_texts_in_props_run_nothing_and_add_nothing(page: Page, tmp_path, kind) -> None:
    renderer = renderer_of(weather_site(tmp_path), kind)
    texts = [*HOSTILE, "plain"]
    open_page(page, "".join(_card(renderer, "plain") for _ in texts))
    expected = page.evaluate(COUNT)
    asked = open_page(page, "".join(_card(renderer, text) for text in texts))
    page.mouse.move(50, 50)
    assert page.evaluate("ran") == []
    assert page.evaluate(COUNT) == expected
    assert set(asked) <= {f"{ORIGIN}__litro/components/weather-card.css"}


def test_the_control_the_same_texts_run_where_nobody_escapes(page: Page) -> None:
    open_page(page, "".join(HOSTILE[:2]))
    assert page.evaluate("ran") == [1, 1]


def test_a_hostile_address_leads_to_an_empty_page(page: Page, tmp_path) -> None:
    renderer = renderer_of(weather_site(tmp_path))
    days = [{"summary": "day", "link": address} for address in BAD_ADDRESSES]
    open_page(page, card(renderer, days=days))
    links = page.locator("weather-card a")
    assert {link.evaluate("(each) => each.protocol") for link in links.all()} == {"about:"}
    links.first.click()
    page.wait_for_url("about:blank**")


def _card(renderer: JinjaRenderer, text: str) -> str:
    return card(renderer, city=text, temp_c=text, days=[{"summary": text, "link": "/x"}])
