"""Every page of the operator's by axe-core: light and dark, wide and narrow, every part opened."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page as Tab

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
            found[f"{scheme} {width['width']}"] = list(axe.judge(tab, source, rules=rules))
    return {how: lines for how, lines in found.items() if lines}


@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_on_a_page(
    second: Tab, shop: Monday, source: str, told: list[str], path: str
) -> None:
    told.clear()
    visit(second, shop, path)
    assert faults(second, source) == {}
    assert [line for line in told if "status of 404" not in line] == []


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_never_wider_than_a_phone(second: Tab, shop: Monday, path: str) -> None:
    visit(second, shop, path)
    second.set_viewport_size(NARROW)
    assert second.evaluate("() => document.documentElement.scrollWidth") <= NARROW["width"]


def test_the_page_that_asks_to_sign_in_has_no_fault_either(
    chromium: Chromium, shop: Monday, source: str
) -> None:
    tab = chromium.new_context().new_page()
    tab.goto(f"{shop.url}/litro/")
    assert faults(tab, source) == {}
    tab.context.close()


def test_axe_finds_a_fault_where_there_is_one(second: Tab, shop: Monday, source: str) -> None:
    """The control: a label taken away, and a text that is hardly darker than its paper."""
    visit(second, shop, "/litro/sessions")
    second.evaluate(
        "() => { document.querySelector('input[name=owner]').parentElement.replaceWith("
        "document.querySelector('input[name=owner]')); document.querySelector('h1').style.color = '#ccc' }"
    )
    found = "\n".join(faults(second, source)["light 1280"])
    assert "label: " in found
    assert "color-contrast: " in found
    assert faults(second, source)["dark 1280"] == []
