"""The demo's chat page: the shop's words around the element, in its own colours."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from tests import axe
from tests.chat_site import ask, finish, part
from tests.shop_monday import Monday, monday

pytest_plugins = ["tests.browser"]
pytestmark = [pytest.mark.browser]


@pytest.fixture(scope="module")
def shop(tmp_path_factory) -> Iterator[Monday]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEMO_SPEED", "0")
        with monday(tmp_path_factory.mktemp("page"), full=False) as opened:
            yield opened


@pytest.fixture
def chat(shop: Monday, page: Tab) -> Tab:
    """The concierge's page, as a visitor finds it."""
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"{shop.url}/chat/concierge")
    expect(part(page, "send")).to_be_visible()
    return page


def test_the_chat_is_two_lines_of_the_page(shop: Monday) -> None:
    text = shop.app.test_client().get("/chat/concierge").text
    assert text.count("<script") == 1
    assert re.search(r'<litro-chat agent="concierge" label="Concierge"[^>]*>', text)
    assert '<script type="module" src="/__litro/static/chat.js">' in text


def test_it_says_which_model_answers_and_what_to_ask(chat: Tab) -> None:
    expect(chat.locator(".chat-model")).to_contain_text("scripted demo model")
    question = chat.locator("[data-ask]").first.inner_text()
    chat.locator("[data-ask]").first.click()
    finish(chat)
    expect(part(chat, "user")).to_have_text(question)


def test_it_has_the_shops_own_colours(chat: Tab) -> None:
    accent = chat.evaluate("getComputedStyle(document.querySelector('.brand, .button')).color")
    assert accent
    expect(part(chat, "send")).to_have_css("background-color", "rgb(47, 93, 80)")
    chat.emulate_media(color_scheme="dark")
    expect(part(chat, "send")).to_have_css("background-color", "rgb(143, 199, 178)")
    chat.emulate_media(color_scheme=None)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_axe_finds_nothing(chat: Tab, scheme: str, width: int) -> None:
    chat.set_viewport_size({"width": width, "height": 800})
    chat.emulate_media(color_scheme=scheme)
    judge = axe.source()
    assert list(axe.judge(chat, judge)) == []
    ask(chat, "Which tents under 300 do you have?")
    finish(chat)
    for summary in part(chat, "log").locator("summary").all():
        summary.click()
    assert list(axe.judge(chat, judge)) == []
    assert chat.evaluate("document.documentElement.scrollWidth <= innerWidth")
    chat.get_by_role("button", name="Conversations").click()
    expect(part(chat, "session-row").first).to_be_visible()
    assert list(axe.judge(chat, judge)) == []
    chat.emulate_media(color_scheme=None)
    chat.set_viewport_size({"width": 1280, "height": 720})


def test_no_policy_of_the_page_is_broken(shop: Monday, chromium: Chromium) -> None:
    context = chromium.new_context()
    tab = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(f"{shop.url}/chat/concierge")
    ask(tab, "Which tents under 300 do you have?")
    finish(tab)
    context.close()
    assert [text for text in said if re.search("Security|Uncaught|Trusted", text)] == []
    assert [url for url in asked if not url.startswith(f"{shop.url}/")] == []
