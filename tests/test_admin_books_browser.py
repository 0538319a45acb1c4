"""The ledger's, ceiling's, tools' and usage's pages in Chromium: by keyboard, without a script, at a phone's width."""

from __future__ import annotations

import threading

import pytest
from werkzeug.serving import make_server

from flask_litro_agent import Actor
from flask_litro_agent.core.ceiling import Level
from flask_litro_agent.core.usage import Used
from flask_litro_agent.installation import EXTENSION
from tests.proposal_site import OPS, Browser, proposal_site

pytest_plugins = ["tests.browser"]
pytestmark = pytest.mark.browser

PATHS = ("ledger", "ledger?state=dismissed", "audit?verify=1", "ceiling", "tools", "usage", "usage?days=90")


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """A site with a little of everything in its books."""
    made = proposal_site(tmp_path_factory.mktemp("site"))
    made.extensions["people"]["ops"] = Actor("ops", "Olga", OPS.permissions | {"litro:admin"})
    eve, ops = Browser(made, "eve"), Browser(made)
    ops.decide("approve", eve.ask(order=1)["proposal_id"])
    ops.decide("dismiss", eve.ask(order=2)["proposal_id"], note="not this week")
    eve.ask(order=3)
    used = Used(turns=3, failed=1, input_tokens=900, output_tokens=40)
    made.extensions[EXTENSION].books.usage.add(used, agent="desk", actor="eve", model="m")
    return made


@pytest.fixture(scope="module")
def base(app):
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.port}/litro/"
    server.shutdown()
    thread.join()
    server.server_close()


def opened(chromium, **options):
    """Return a page of the operator's, and what its console said."""
    context = chromium.new_context(extra_http_headers={"X-Actor": "ops"}, **options)
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    return page, said


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"color_scheme": "dark"},
        {"viewport": {"width": 390, "height": 844}},
        {"java_script_enabled": False},
    ],
    ids=["light", "dark", "phone", "no script"],
)
def test_every_page_keeps_its_policy_and_its_width(chromium, base, options):
    page, said = opened(chromium, **options)
    for path in PATHS:
        assert page.goto(base + path).status == 200
        assert page.locator("h1").is_visible()
        if options.get("java_script_enabled", True):
            wide = page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert wide <= 0, path
    assert [text for text in said if "favicon" not in text and "404" not in text] == []
    page.context.close()


@pytest.mark.parametrize("scripts", [True, False])
def test_the_ceiling_is_lowered_by_keyboard_alone(chromium, base, app, scripts):
    books = app.extensions[EXTENSION].books
    books.ceiling.set("site", Level.PROPOSE, by="ops")
    before = books.ceiling.levels().epoch
    page, _ = opened(chromium, java_script_enabled=scripts)
    page.goto(f"{base}ceiling")
    while page.evaluate("document.activeElement.name") != "level":
        page.keyboard.press("Tab")
    page.keyboard.type("off")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ceiling?changed=*")
    assert books.ceiling.levels().site is Level.OFF
    assert "Vanished from the agents" in page.locator("[role=status].notice").inner_text()
    page.reload()
    page.go_back()
    assert books.ceiling.levels().epoch == before + 1, "a reload and the back button change nothing"
    books.ceiling.set("site", Level.PROPOSE, by="ops")
    books.ceiling.clear("site", by="ops")
    page.context.close()


def test_the_ledger_is_filtered_by_its_form_and_the_page_can_be_shared(chromium, base):
    page, _ = opened(chromium)
    page.goto(f"{base}ledger")
    page.get_by_label("Search").fill("order: 2")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ledger?*q=order*")
    assert page.locator("tbody tr").count() == 1
    other, _ = opened(chromium)
    other.goto(page.url)
    assert other.locator("tbody tr").inner_text() == page.locator("tbody tr").inner_text()
    page.context.close()
    other.context.close()


def test_a_plots_bars_have_colours_in_light_and_in_dark(chromium, base):
    for scheme in ("light", "dark"):
        page, _ = opened(chromium, color_scheme=scheme)
        page.goto(f"{base}usage")
        fills = page.evaluate(
            "[...document.querySelectorAll('svg rect')].map(bar => getComputedStyle(bar).fill)"
        )
        assert fills
        assert "rgb(0, 0, 0)" not in fills
        page.context.close()
