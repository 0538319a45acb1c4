"""Every page of the operator's by axe-core: light and dark, wide and narrow, every part opened."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from tests import axe
from tests.shop_monday import Monday, monday

pytest_plugins = ["tests.browser"]
pytestmark = [pytest.mark.browser]

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
PAGES = (
    "/litro/",
    "/litro/?tool=refund_order",
    "/litro/?agent=nobody",
    *(f"/litro/proposals/<{state}>" for state in ("open", "list", "unknown", "executed", "failed")),
    *(f"/litro/proposals/<{state}>" for state in ("dismissed", "void", "expired")),
    "/litro/?decided=<dismissed>",
    "/litro/ledger",
    "/litro/ledger?q=nothing+is+like+this",
    "/litro/audit",
    "/litro/audit?verify=1",
    "/litro/sessions",
    "/litro/sessions?owner=nobody",
    "/litro/sessions/assistant/monday-executed?owner=account:3",
    "/litro/sessions/assistant/monday-open?owner=account:3&from=1&until=4",
    "/litro/tools",
    "/litro/ceiling",
    "/litro/usage",
    "/litro/proposals/nowhere",
)
LISTEN = """addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`))"""
OPEN = "() => document.querySelectorAll('details').forEach((one) => { one.open = true })"


@pytest.fixture(scope="module")
def source() -> str:
    return axe.source()


@pytest.fixture(scope="module")
def shop(tmp_path_factory, source) -> Iterator[Monday]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEMO_SPEED", "0")
        with monday(tmp_path_factory.mktemp("axe")) as opened:
            yield opened


@pytest.fixture(scope="module")
def told() -> list[str]:
    """What the pages' consoles said."""
    return []


@pytest.fixture(scope="module")
def second(chromium: Chromium, shop: Monday, told: list[str]) -> Iterator[Tab]:
    """The tab of the second operator."""
    tab = chromium.new_context(viewport=WIDE).new_page()
    tab.add_init_script(LISTEN)
    tab.on("console", lambda message: told.append(f"{tab.url}: {message.text}"))
    tab.route("**/favicon.ico", lambda route: route.fulfill(status=204))
    shop.sign_in(tab, "second")
    yield tab
    tab.context.close()


def visit(tab: Tab, shop: Monday, path: str) -> None:
    for state, proposal_id in shop.ids.items():
        path = path.replace(f"<{state}>", proposal_id)
    tab.set_viewport_size(WIDE)
    tab.emulate_media(color_scheme="light")
    tab.goto(shop.url + path)
    tab.evaluate(OPEN)


def faults(tab: Tab, source: str) -> dict[str, list[str]]:
    """Judge a page four times: whole when it is light, and for its colours when it is dark."""
    found = {}
    for width in (WIDE, NARROW):
        tab.set_viewport_size(width)
        for scheme, rules in (("light", None), ("dark", ["color-contrast"])):
            tab.emulate_media(color_scheme=scheme)
            found[f"{scheme} {width['width']}"] = [*axe.judge(tab, source, rules=rules), *too_wide(tab)]
    return {how: lines for how, lines in found.items() if lines}


def too_wide(tab: Tab) -> Iterator[str]:
    page, window = tab.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
    if page > window:
        yield f"the page is {page - window} px wider than the window"


@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_on_a_page(
    second: Tab, shop: Monday, source: str, told: list[str], path: str
) -> None:
    told.clear()
    visit(second, shop, path)
    assert faults(second, source) == {}
    assert [line for line in told if "status of 404" not in line] == []


def test_axe_finds_nothing_on_the_page_that_says_no(
    second: Tab, shop: Monday, source: str, told: list[str]
) -> None:
    visit(second, shop, "/litro/proposals/<open>")
    told.clear()
    second.evaluate(
        "([from, to]) => { const form = document.querySelector('form[action$=dismiss]');"
        " form.action = form.action.replace(from, to); HTMLFormElement.prototype.submit.call(form) }",
        [shop.ids["open"], shop.ids["void"]],
    )
    expect(second).to_have_title("Not any more")
    assert faults(second, source) == {}
    assert [line for line in told if "policy" in line] == []


def test_axe_finds_nothing_in_the_list_of_keys(second: Tab, shop: Monday, source: str) -> None:
    visit(second, shop, "/litro/")
    second.keyboard.press("?")
    expect(second.locator("#keys")).to_be_visible()
    assert faults(second, source) == {}


def test_faults_are_found_where_there_are_some(
    second: Tab, shop: Monday, source: str, told: list[str]
) -> None:
    """The control: a label is taken away, a text is hardly darker than its paper, and a style stands in the page."""
    visit(second, shop, "/litro/sessions")
    told.clear()
    second.evaluate("""() => {
      const field = document.querySelector("input[name=owner]");
      field.parentElement.replaceWith(field);
      document.querySelector("h1").style.color = "#ccc";
      document.querySelector("main").setAttribute("style", "color: red");
      document.querySelector("main").style.minWidth = "600px";
    }""")
    found = faults(second, source)
    assert sorted(found) == ["dark 390", "light 1280", "light 390"]
    assert [line.split(":")[0] for line in found["light 1280"]] == ["color-contrast", "label"]
    assert "wider than the window" in found["dark 390"][0]
    assert any("policy: style-src-attr" in line for line in told)
