"""A page with the chat element over the failing server, and how the tests get about in it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from playwright.sync_api import Locator, expect
from playwright.sync_api import Page as Tab

from tests import client_files
from tests.fake_wire import FakeWire, Page, Turn

POLICY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types litro"
}
HEAD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Chat</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<link rel="icon" href="/icon.svg"><link rel="stylesheet" href="/page.css">
<script type="module" src="/__litro/static/chat.js"></script></head><body><main>"""
ELEMENT = """<litro-chat agent="demo" label="Concierge" address usage>
<h1 slot="header">Concierge</h1>
<div slot="empty"><p>What would you like to know?</p>
<button data-ask>When do you open?</button> <button data-ask="Which tents sleep two?">Tents</button></div>
</litro-chat>"""
FOOT = "</main></body></html>"
SHEET = b"html { color-scheme: light dark; } body { margin: 0; padding: 0 1rem; }"
ICON = b"<svg xmlns='http://www.w3.org/2000/svg'/>"


def chat_page(element: str = ELEMENT, *, head: str = HEAD) -> Page:
    """Return the page's answer."""
    return Page("text/html; charset=utf-8", (head + element + FOOT).encode(), POLICY)


def serve_chat(wire: FakeWire, element: str = ELEMENT) -> None:
    """Serve the page and the client's files, under a policy that allows nothing inline."""
    client_files.serve(wire, POLICY)
    wire.pages["/page.css"] = Page("text/css", SHEET, POLICY)
    wire.pages["/icon.svg"] = Page("image/svg+xml", ICON, POLICY)
    wire.pages["/chat"] = chat_page(element)


def part(tab: Tab | Locator, name: str, more: str = "") -> Locator:
    """Return what has this part; ``more`` is a selector on it."""
    return tab.locator(
        f"litro-chat [part~={name}]{more}" if isinstance(tab, Tab) else f"[part~={name}]{more}"
    )


def visit(tab: Tab, wire: FakeWire, fragment: str = "") -> None:
    """Open the page and wait until its element is there."""
    tab.goto(f"{wire.url}/chat{fragment}")
    expect(part(tab, "composer")).to_be_visible()


def ask(tab: Tab, text: str = "Which tents sleep two?") -> None:
    part(tab, "input").fill(text)
    part(tab, "input").press("Enter")


def session_of(tab: Tab) -> str:
    return str(tab.evaluate("document.querySelector('litro-chat').session"))


def finish(tab: Tab, turns: int = 1) -> None:
    """Wait until so many turns were shown to their end."""
    expect(part(tab, "actions")).to_have_count(turns)
    expect(part(tab, "send")).to_be_visible()


def held(*steps: Any) -> tuple[Callable[[Turn], Iterator[Any]], threading.Event]:
    """Return a script that waits in the middle of its answer; and what lets it go on."""
    go = threading.Event()

    def script(turn: Turn) -> Iterator[Any]:
        yield "text-delta", {"text": "Half an answer"}
        while not go.wait(0.01) and not turn.stop.is_set():
            continue
        yield from steps

    return script, go


def says(text: str) -> Callable[[Turn], Iterator[Any]]:
    """Return a script whose answer is this text, in small pieces."""

    def script(turn: Turn) -> Iterator[Any]:
        for start in range(0, len(text), 7):
            yield "text-delta", {"text": text[start : start + 7]}
        yield "message", {"role": "assistant", "text": text}

    return script
