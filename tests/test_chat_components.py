"""The site's own components in a conversation: a whole site with the element on a page, in a real Chromium."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask, Response
from playwright.sync_api import Page as Tab
from playwright.sync_api import Route, expect
from werkzeug.serving import make_server

from flask_litro_agent import LitroAgent
from tests.chat_site import POLICY, ask, finish, part
from tests.small_site import new_app, write_agent, write_tool

pytest_plugins = ["tests.browser"]
pytestmark = pytest.mark.browser

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Chat</title><link rel="icon" href="/i.svg">
<link rel="stylesheet" href="/page.css"><script type="module" src="/__litro/static/chat.js"></script></head>
<body><main><h1>Chat</h1><litro-chat agent="demo"></litro-chat></main></body></html>"""
CARD = """<p class="where">{{ city }}</p>
<p class="days">{{ days | length }} days</p><button type="button">Tell</button>"""
SHEET = ".where { color: rgb(1, 2, 3); }"
MODULE = """
customElements.define("weather-card", class extends HTMLElement {
  set days(days) { this.shadowRoot.querySelector(".days").textContent = days.join(", "); }
  connectedCallback() {
    this.shadowRoot.querySelector("button").addEventListener("click", () => this.classList.add("told"));
  }
});
"""
WEATHER = "return ui('weather-card', data={'city': 'Lisbon'}, city='Lisbon <b>', days=['sunny', 'rain'])"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """The address of a site with a weather-card and an agent that shows it."""
    write_tool(write_agent(tmp_path), "weather", WEATHER)
    for folder in ("templates/components", "static/components"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "templates/components/weather-card.html").write_text(CARD)
    (tmp_path / "static/components/weather-card.css").write_text(SHEET)
    (tmp_path / "static/components/weather-card.js").write_text(MODULE)
    app = new_app(tmp_path, LITRO_HOSTS=["127.0.0.1"])
    LitroAgent(app)
    add_page(app)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join(10)
    server.server_close()


def add_page(app: Flask) -> None:
    app.add_url_rule("/chat", "chat", lambda: Response(PAGE, headers=POLICY))
    app.add_url_rule("/i.svg", "icon", lambda: Response("<svg/>", mimetype="image/svg+xml"))
    style = "weather-card { outline: 3px solid rgb(4, 5, 6); }"
    app.add_url_rule("/page.css", "sheet", lambda: Response(style, mimetype="text/css"))


@pytest.fixture
def chat(site: str, page: Tab) -> Iterator[Tab]:
    page.goto(f"{site}/chat")
    expect(part(page, "send")).to_be_visible()
    yield page
    page.unroute_all(behavior="ignoreErrors")


def test_a_component_is_painted_before_its_module_and_then_alive(chat: Tab) -> None:
    said: list[str] = []
    chat.on("console", lambda message: said.append(message.text))
    held_back: list[Route] = []
    chat.route("**/components/weather-card.js", lambda route: held_back.append(route))
    ask(chat, "use weather")
    card = chat.locator("weather-card")
    expect(card.locator(".where")).to_have_text("Lisbon <b>")
    expect(card.locator(".where")).to_have_css("color", "rgb(1, 2, 3)")
    expect(card.locator(".days")).to_have_text("2 days")
    finish(chat)
    while not held_back:
        chat.wait_for_timeout(20)
    held_back[0].continue_()
    expect(card.locator(".days")).to_have_text("sunny, rain")
    card.get_by_role("button").click()
    expect(card).to_have_class("told")
    assert [line for line in said if "Security" in line or "Trusted" in line] == []


def test_a_reload_paints_it_again_from_the_log(chat: Tab) -> None:
    ask(chat, "use weather")
    finish(chat)
    chat.reload()
    expect(chat.locator("weather-card .days")).to_have_text("sunny, rain")
    expect(chat.locator("weather-card")).to_have_count(1)


def test_it_stands_in_the_pages_own_tree_until_another_session_is_shown(chat: Tab) -> None:
    ask(chat, "use weather")
    finish(chat)
    expect(chat.locator("weather-card")).to_have_css("outline-color", "rgb(4, 5, 6)")
    assert chat.evaluate("document.querySelectorAll('weather-card').length") == 1
    chat.get_by_role("button", name="New conversation").click()
    assert chat.evaluate("document.querySelectorAll('weather-card').length") == 0


def test_its_call_is_a_quiet_line_with_the_data(chat: Tab) -> None:
    ask(chat, "use weather")
    finish(chat)
    expect(part(chat, "tool-state")).to_have_text("done")
    part(chat, "tool").locator("summary").click()
    expect(part(chat, "tool-body").locator("pre").last).to_contain_text('"city": "Lisbon"')


def test_a_component_whose_module_fails_leaves_the_answer_whole(chat: Tab) -> None:
    chat.evaluate(
        "document.addEventListener('litro:component-error', ({ detail }) => (globalThis.failed = detail.error.message))"
    )
    chat.route("**/components/weather-card.js", lambda route: route.abort())
    ask(chat, "use weather")
    finish(chat)
    expect(chat.locator("weather-card .days")).to_have_text("2 days")
    chat.wait_for_function("globalThis.failed")
    assert "did not load" in chat.evaluate("failed")
    expect(part(chat, "text")).not_to_be_empty()
