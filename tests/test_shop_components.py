"""The shop's components in Chromium: painted before any script, alive with one, under the shop's own policy."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Literal

import pytest
from flask import Flask
from playwright.sync_api import Browser, Page, expect
from werkzeug.serving import make_server

from example_app import create_app
from example_app.shop import _HEADERS
from tests import axe

pytest_plugins = ["tests.browser"]
pytestmark = pytest.mark.browser

TENTS = "Which tents under 350 are in stock?"
FJELL = "Add to basket: Fjell 2 Tent, green"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Flask:
    return create_app({"SHOP_DATA": tmp_path_factory.mktemp("shop")})


@pytest.fixture(scope="module")
def answered(app: Flask) -> str:
    """The html of three product cards, as a conversation's event has it."""
    answer = app.test_client().post(
        "/__litro/agent/concierge/s1", json={"text": TENTS}, headers={"X-Litro-Agent": "1"}
    )
    lines = [json.loads(line) for line in answer.text.split("\n") if line]
    return next(line["payload"]["html"] for line in lines if line["kind"] == "ui")


@pytest.fixture(scope="module")
def address(app: Flask) -> Iterator[str]:
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def scriptless(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(java_script_enabled=False)
    yield context.new_page()
    context.close()


def test_without_scripts_the_shops_page_shows_its_cards_in_their_styles(
    scriptless: Page, address: str
) -> None:
    scriptless.goto(f"{address}/?category=tents")
    expect(scriptless.locator("product-card")).to_have_count(5)
    expect(scriptless.get_by_role("button", name=FJELL)).to_be_visible()
    card = scriptless.locator("product-card article").first
    expect(card).to_have_css("display", "flex")


def test_without_scripts_a_conversations_cards_are_painted_from_their_html_alone(
    scriptless: Page, address: str, answered: str
) -> None:
    page = f"<!doctype html><title>Bare</title>{answered}"
    scriptless.route(
        "**/bare", lambda route: route.fulfill(body=page, content_type="text/html; charset=utf-8")
    )
    scriptless.goto(f"{address}/bare")
    expect(scriptless.locator("product-card")).to_have_count(3)
    expect(scriptless.get_by_text("€289.00")).to_be_visible()
    expect(scriptless.locator("product-list ul")).to_have_css("display", "grid")


def test_without_scripts_an_article_gets_into_the_basket_by_two_clicks(
    scriptless: Page, address: str
) -> None:
    scriptless.goto(f"{address}/?category=tents")
    scriptless.get_by_role("button", name=FJELL).click()
    scriptless.get_by_role("button", name="Add to basket", exact=True).click()
    expect(scriptless.locator("shop-basket")).to_contain_text("1 × Fjell 2 Tent, green")


def test_with_scripts_one_click_does_and_the_page_stays(page: Page, address: str) -> None:
    page.goto(f"{address}/?category=tents")
    page.evaluate("document.body.dataset.mark = 'same page'")
    page.locator("product-card[sku='TNT-FJ2-GRN'] .add[data-ready]").click()
    expect(page.locator("[data-basket-count]")).to_have_text("1")
    expect(page.locator("body[data-mark='same page']")).to_have_count(1)


def test_a_button_works_by_keyboard(page: Page, address: str) -> None:
    page.goto(f"{address}/?category=tents")
    for key, count in (("Enter", "1"), ("Space", "2")):
        page.locator("product-card[sku='TNT-FJ2-GRN'] .add[data-ready]").press(key)
        expect(page.locator("[data-basket-count]")).to_have_text(count)


@pytest.mark.parametrize("path", ["/", "/?category=tents", "/basket?add=TNT-FJ2-GRN"])
def test_the_shops_policy_has_nothing_to_complain_of(page: Page, address: str, path: str) -> None:
    assert "script-src 'self'" in _HEADERS["Content-Security-Policy"]
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"{address}{path}")
    page.wait_for_load_state("networkidle")
    assert said == []


def test_a_module_whose_bytes_are_others_than_its_integrity_does_not_run(page: Page, address: str) -> None:
    page.route(
        "**/components/product-card.js",
        lambda route: route.fulfill(body="window.evil = 1", headers={"content-type": "text/javascript"}),
    )
    page.goto(f"{address}/?category=tents")
    page.wait_for_load_state("networkidle")
    assert page.evaluate(
        "[window.evil, customElements.get('product-card')].every((each) => each === undefined)"
    )
    page.unroute("**/components/product-card.js")


def test_in_the_chat_the_cards_come_alive_and_fill_the_basket(page: Page, address: str) -> None:
    page.goto(f"{address}/chat/concierge")
    page.get_by_role("textbox").fill(TENTS)
    page.keyboard.press("Enter")
    expect(page.locator("litro-chat product-card")).to_have_count(3)
    page.locator("litro-chat product-card[sku='TNT-FJ2-GRN'] .add[data-ready]").click()
    expect(page.locator("[data-basket-count]")).to_have_text("1")
    page.reload()
    expect(page.locator("litro-chat product-card")).to_have_count(3)
    page.locator("litro-chat product-card[sku='TNT-FJ2-GRN'] .add[data-ready]").click()
    expect(page.locator("[data-basket-count]")).to_have_text("2")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/?category=tents", "/basket?add=TNT-FJ2-GRN"])
def test_axe_finds_nothing_wrong_with_the_shops_pages(
    page: Page, address: str, path: str, scheme: Literal["light", "dark"]
) -> None:
    source = axe.source()
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{address}{path}")
    page.wait_for_load_state("networkidle")
    assert list(axe.judge(page, source)) == []
