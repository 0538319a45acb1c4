"""The demo as a person meets it: started by its own command, used in a real Chromium, killed in the middle."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page as BrowserPage
from playwright.sync_api import expect

from tests.chat_site import ask, part

pytest_plugins = ["tests.browser"]
pytestmark = [pytest.mark.browser, pytest.mark.server]

ROOT = Path(__file__).parent.parent


class Demo:
    """A running ``python -m example_app``."""

    def __init__(self, process: subprocess.Popen[str], line: str) -> None:
        self._process = process
        self.line = line
        self.url = line.split()[1]
        self.port = int(self.url.rsplit(":", 1)[1])

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(10)


@contextmanager
def demo(data: Path, *, port: int = 0, speed: str = "0") -> Iterator[Demo]:
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("LLM_", "ANTHROPIC_"))
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "example_app", "--port", str(port)],
        cwd=ROOT,
        env={**environ, "SHOP_DATA": str(data), "DEMO_SPEED": speed},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield Demo(process, process.stdout.readline())
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()


def visit(page: BrowserPage, address: str) -> None:
    page.goto(address)
    expect(part(page, "send")).to_be_visible()  # the page's script has run


def finish(page: BrowserPage, turns: int) -> None:
    ended = part(page, "turn", ":not([data-running])").filter(has_text=re.compile("tokens in|interrupted"))
    expect(ended).to_have_count(turns)


def test_the_start_line_says_where_which_model_who_may_sign_in_and_where_the_data_is(tmp_path: Path) -> None:
    with demo(tmp_path) as shop:
        assert re.fullmatch(
            r"Shop: http://127\.0\.0\.1:\d+ · model: scripted \(set LLM_URL \+ LLM_MODEL or ANTHROPIC_API_KEY\)"
            r" · sign in: .+ · data: .+\n",
            shop.line,
        )


def test_a_conversation_survives_a_reload(tmp_path: Path, page: BrowserPage) -> None:
    with demo(tmp_path) as shop:
        visit(page, f"{shop.url}/chat/concierge")
        expect(page.locator("body")).to_contain_text("scripted demo model")
        ask(page, "Which tents under 300 do you have?")
        finish(page, 1)
        before = part(page, "log").inner_text()
        assert "find_products" in before
        assert "Tent" in before
        page.reload()
        finish(page, 1)
        assert part(page, "log").inner_text() == before


def test_a_conversation_survives_kill_9_in_the_middle_of_an_answer(tmp_path: Path, page: BrowserPage) -> None:
    with demo(tmp_path, speed="0.2") as shop:
        visit(page, f"{shop.url}/chat/concierge")
        ask(page, "Which tents under 300 do you have?")
        expect(part(page, "log")).to_contain_text("I found", timeout=20_000)
        shop.kill()
        with demo(tmp_path, port=shop.port):
            expect(part(page, "log")).to_contain_text("interrupted", timeout=30_000)
            expect(part(page, "log")).to_contain_text("I found")
            ask(page, "When are you open in Oslo?")
            finish(page, 2)


def test_signing_in_keeps_the_conversation(tmp_path: Path, page: BrowserPage) -> None:
    with demo(tmp_path) as shop:
        visit(page, f"{shop.url}/chat/concierge")
        ask(page, "Where is my order?")
        finish(page, 1)
        chat = page.url
        page.goto(f"{shop.url}/sign-in")
        page.get_by_label("Name").fill("customer")
        page.get_by_label("Password").fill("outdoor")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()
        visit(page, chat)
        finish(page, 1)
        expect(part(page, "log")).to_contain_text("Where is my order?")
        ask(page, "Where is my order?")
        finish(page, 2)
        expect(part(page, "log")).to_contain_text("1111")
