"""A real Chromium for the tests, as a pytest plugin.

``pytest_plugins = ["tests.browser"]`` gives a module ``chromium`` and ``page``. What a page stores belongs to its
origin, so a test whose server has a port of its own starts with nothing.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "/usr/bin/chromium")
#: How long an expectation may take to come true, in ms: a busy machine is slow.
PATIENCE = 30_000
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

expect.set_options(timeout=20_000)  # a test says what comes, not how fast


def find_chromium() -> str | None:
    """Return the path of a Chromium on this machine."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for a module's tests; each test has its own profile by ``page``."""
    path = find_chromium()
    if path is None:
        pytest.skip("chromium is missing: apt-get install chromium")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def tab(chromium: Browser) -> Iterator[Page]:
    """One tab for a module's tests: a new profile for each costs half a second."""
    page = chromium.new_context().new_page()
    yield page
    page.context.close()


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    """The tab, empty and without cookies; an error that no script caught fails the test."""
    errors: list[str] = []

    def note(error: Error) -> None:
        errors.append(str(error))

    tab.on("pageerror", note)
    yield tab
    tab.context.set_offline(False)
    tab.goto("about:blank")
    tab.context.clear_cookies()
    tab.remove_listener("pageerror", note)
    assert errors == []
