"""hydrate.js in a real Chromium: components of the server made alive, and modules that must not be loaded."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page as BrowserPage
from playwright.sync_api import expect

from tests import client_files, npm
from tests.fake_wire import FakeWire, Page

pytest_plugins = ["tests.browser"]
pytestmark = pytest.mark.browser

POLICY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; require-trusted-types-for 'script'; trusted-types litro; base-uri 'none'"
}
PAGE = b"""<!doctype html><html lang="en"><title>Components</title><link rel="icon" href="/icon.svg">
<div id="host"></div><div id="other"></div></html>"""
CARD = """<weather-card city="Lisbon"><template shadowrootmode="open">
<link rel="stylesheet" href="/__litro/components/weather-card.css"><p>Lisbon</p><button>More</button>
</template></weather-card>"""
UI = {"call_id": "c1", "name": "get_weather", "html": CARD, "data": {"city": "Lisbon"}}
# what a module of each kind looks like: it finds the server's shadow root, and counts what happened to it
PLAIN = """
customElements.define("weather-card", class extends HTMLElement {
  #days = [];
  get days() { return this.#days; }
  set days(days) { this.#days = days; this.say(`Lisbon, ${days.length} days`); }
  say(text) { this.shadowRoot.querySelector("p").textContent = text; }
  connectedCallback() {
    globalThis.upgrades = (globalThis.upgrades ?? 0) + 1;
    this.shadowRoot.querySelector("button").addEventListener("click", () => this.say("clicked"));
  }
});
"""
FIELDS = """customElements.define("weather-card", class extends HTMLElement { days = ["its own"]; });"""
THROWING = """
customElements.define("weather-card", class extends HTMLElement {
  connectedCallback() { throw new Error("the component is broken"); }
  set days(days) { throw new Error("and its setter too"); }
});
"""
LIT = """
import { LitElement, css, html } from "lit";
customElements.define("weather-card", class extends LitElement {
  static properties = { city: {}, days: { attribute: false } };
  static styles = css`p { color: rgb(1, 2, 3); }`;
  createRenderRoot() {
    this.shadowRoot?.replaceChildren();
    return super.createRenderRoot();
  }
  render() { return html`<p @click=${() => (this.city = "Porto")}>${this.city}, ${this.days?.length} days</p>`; }
});
"""
FAST = """
import { FASTElement, attr, html, observable } from "fast";
class Card extends FASTElement {}
attr(Card.prototype, "city");
observable(Card.prototype, "days");
const move = (card) => (card.city = "Porto");
const template = html`<p @click=${move}>${(card) => card.city}, ${(card) => card.days?.length} days</p>`;
Card.define({ name: "weather-card", template });
"""
Show = Callable[..., Any]


def integrity(module: str | bytes) -> str:
    body = module.encode() if isinstance(module, str) else module
    return "sha384-" + base64.b64encode(hashlib.sha384(body).digest()).decode()


def serve_component(wire: FakeWire, module: str, *, src: str | None = None, **change: Any) -> None:
    """Serve a weather-card with this module, and the list that names it."""
    path = f"{wire.prefix}/components/weather-card.js"
    wire.pages[path] = Page("text/javascript", module.encode())
    wire.pages[f"{wire.prefix}/components/weather-card.css"] = Page("text/css", b"p { font-weight: 700; }")
    entry = {"src": src or path, "integrity": integrity(module), **change}
    listed = {"components": {"weather-card": {"modules": [entry], "style": None}}}
    wire.pages[f"{wire.prefix}/components.json"] = Page("application/json", json.dumps(listed).encode())


def hydrating(*modules: str, **props: Any) -> dict[str, Any]:
    """A payload that asks for these modules and properties."""
    hydrate = {"component": "weather-card", "props": props, "modules": list(modules)}
    return {**UI, "hydrate": hydrate}


@pytest.fixture
def wire() -> Iterator[FakeWire]:
    wire = FakeWire()
    client_files.serve(wire, POLICY)
    wire.pages["/"] = Page("text/html", PAGE, POLICY)
    wire.pages["/icon.svg"] = Page("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'/>")
    serve_component(wire, PLAIN)
    yield wire
    wire.close()


@pytest.fixture
def show(wire: FakeWire, page: BrowserPage) -> Show:
    """Hydrate a payload on a fresh page; what it came to."""
    page.goto(wire.url)
    return lambda ui, host="host": hydrate(page, ui, host)


def hydrate(page: BrowserPage, ui: dict[str, Any], host: str = "host") -> Any:
    return page.evaluate(
        """async ({ui, host}) => {
          const { hydrateUIResult } = await import("/__litro/static/litro.js");
          const place = document.getElementById(host);
          try { return (await hydrateUIResult(place, JSON.parse(ui)))?.localName ?? null; }
          catch (error) { return `${error.name}: ${error.message}`; }
        }""",
        {"ui": json.dumps(ui), "host": host},
    )


def text(page: BrowserPage, host: str = "host") -> str:
    return str(
        page.evaluate(
            f"document.querySelector('#{host} weather-card').shadowRoot.querySelector('p').textContent"
        )
    )


def loaded(wire: FakeWire) -> list[str]:
    """What was asked for below the component folder, scripts only."""
    return [seen.path for seen in wire.requests if "/components/" in seen.path and seen.path.endswith(".js")]


def test_a_component_stands_there_before_any_of_its_scripts(
    show: Show, page: BrowserPage, wire: FakeWire
) -> None:
    assert show(UI) == "weather-card"
    expect(page.locator("#host p")).to_have_css("font-weight", "700")
    assert text(page) == "Lisbon"
    assert loaded(wire) == []


def test_nobody_sees_a_component_before_its_stylesheet_is_there(show: Show, page: BrowserPage) -> None:
    held = []
    page.route("**/weather-card.css", lambda route: held.append(route))
    show(UI)
    expect(page.locator("#host weather-card")).to_have_css("visibility", "hidden")
    held.pop().fulfill(body="p { font-weight: 700; }", content_type="text/css")
    expect(page.locator("#host p")).to_be_visible()
    expect(page.locator("#host p")).to_have_css("font-weight", "700")
    page.unroute("**/weather-card.css")


@pytest.mark.parametrize("answer", ["failed", "nothing"])
def test_a_stylesheet_that_does_not_come_keeps_no_component_from_sight(
    show: Show, page: BrowserPage, answer: str
) -> None:
    page.route("**/weather-card.css", lambda route: route.abort() if answer == "failed" else None)
    show(UI)
    expect(page.locator("#host p")).to_be_visible(timeout=30_000)
    page.unroute("**/weather-card.css")


def test_its_module_upgrades_it_over_the_servers_shadow_root(show: Show, page: BrowserPage) -> None:
    assert show(hydrating("weather-card.js", days=[1, 2])) == "weather-card"
    assert text(page) == "Lisbon, 2 days"
    page.locator("#host button").click()
    assert text(page) == "clicked"


def test_every_way_to_parse_gives_the_same_shadow_roots(wire: FakeWire, page: BrowserPage) -> None:
    nested = f"<outer-box><template shadowrootmode='open'><p>outer</p>{CARD}</template></outer-box>after"
    missing = ["", "delete Element.prototype.setHTMLUnsafe;", "delete Document.parseHTMLUnsafe;"]
    roots = """(() => { const open = (node) => node.shadowRoot
        ? `<${node.localName}#${[...node.shadowRoot.childNodes].map(open).join("")}>`
        : node.childNodes.length ? `<${node.localName}>${[...node.childNodes].map(open).join("")}`
        : node.textContent.trim();
      return open(document.getElementById("host")); })()"""
    drawn = []
    for number in range(len(missing)):
        page.goto(wire.url)
        page.evaluate("".join(missing[: number + 1]))
        hydrate(page, {**UI, "html": nested})
        drawn.append(page.evaluate(roots))
    assert drawn[0] == "<div><outer-box#<p>outer<weather-card#<link><p>Lisbon<button>More>>after".replace(
        "<link>", ""
    )
    assert drawn == drawn[:1] * 3


def test_the_same_result_again_changes_nothing(show: Show, page: BrowserPage) -> None:
    ui = hydrating("weather-card.js", days=[1, 2])
    show(ui)
    page.locator("#host button").click()
    show(ui)
    assert text(page) == "clicked"
    assert page.evaluate("upgrades") == 1


def test_another_result_takes_its_place(show: Show, page: BrowserPage) -> None:
    show(hydrating("weather-card.js", days=[1, 2]))
    show(hydrating("weather-card.js", days=[1]))
    assert text(page) == "Lisbon, 1 days"
    assert page.locator("#host weather-card").count() == 1


def test_properties_set_before_the_class_is_there_are_not_lost(show: Show, page: BrowserPage) -> None:
    assert show(hydrating(days=[1, 2, 3])) == "weather-card"
    assert text(page) == "Lisbon"
    page.evaluate("code => import(code)", "/__litro/components/weather-card.js")
    assert text(page) == "Lisbon, 3 days"


def test_a_class_with_fields_of_its_own_gets_the_servers_values(
    wire: FakeWire, show: Show, page: BrowserPage
) -> None:
    serve_component(wire, FIELDS)
    show(hydrating("weather-card.js", days=["the server's"]))
    assert page.evaluate("document.querySelector('weather-card').days") == ["the server's"]


@pytest.mark.parametrize("name", ["innerHTML", "outerHTML", "onclick", "__proto__", "constructor", "style"])
def test_data_never_becomes_what_every_element_has(show: Show, page: BrowserPage, name: str) -> None:
    found = show(hydrating("weather-card.js", days=[1], **{name: "<img src=x onerror=alert(1)>"}))
    assert found.startswith(f"ComponentError: weather-card.{name}: ")
    assert text(page) == "Lisbon, 1 days"
    assert page.locator("#host img").count() == 0


def test_a_component_that_throws_leaves_the_others_whole(
    wire: FakeWire, page: BrowserPage, chromium: Any
) -> None:
    serve_component(wire, THROWING)
    context = chromium.new_context()
    tab = context.new_page()  # a tab of its own: the error is meant to be seen
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(wire.url)
    found = hydrate(tab, hydrating("weather-card.js", days=[1]))
    assert "and its setter too" in found
    assert errors == ["the component is broken"]
    assert text(tab) == "Lisbon"
    assert hydrate(tab, {**UI, "html": "<p>another</p>"}, "other") == "p"
    context.close()


@pytest.mark.parametrize(
    "name",
    [
        "https://evil.test/x.js",
        "//evil.test/x.js",
        "/../x.js",
        "../static/litro.js",
        "..%2fx.js",
        "data:text/javascript,alert(1)",
        "blob:http://127.0.0.1/x.js",
        "weather-card.js?x=1",
        "weather-card.js#x",
        "./weather-card.js",
        "\\\\evil.test\\x.js",
        "weather-card.js\n",
        "other.js",
        "",
        None,
        {"src": "weather-card.js"},
    ],
)
def test_a_module_that_is_not_in_the_list_is_refused(
    show: Show, page: BrowserPage, wire: FakeWire, name: Any
) -> None:
    found = show(hydrating(name, days=[1]))
    assert found.startswith("ComponentError: the module ")
    assert found.endswith("is not in the list of components")
    assert loaded(wire) == []
    assert text(page) == "Lisbon"


@pytest.mark.parametrize(
    "src",
    [
        "https://evil.test/__litro/components/weather-card.js",
        "//evil.test/__litro/components/weather-card.js",
        "/__litro/components/../static/litro.js",
        "/__litro/components/sub/weather-card.js",
        "/__litro/components/weather-card.js?x=1",
        "/static/weather-card.js",
        "data:text/javascript,alert(1)",
        "javascript:alert(1)",
        "blob:http://127.0.0.1/weather-card.js",
        7,
    ],
)
def test_a_list_that_points_elsewhere_is_not_followed(wire: FakeWire, show: Show, src: Any) -> None:
    serve_component(wire, PLAIN, src=src)
    assert "is not in the list of components" in show(hydrating("weather-card.js"))
    assert loaded(wire) == []


@pytest.mark.parametrize("value", [None, "", "sha256", "md5-abc", "sha384-<>"])
def test_a_module_without_a_hash_is_refused(wire: FakeWire, show: Show, value: Any) -> None:
    serve_component(wire, PLAIN, integrity=value)
    assert "is not in the list of components" in show(hydrating("weather-card.js"))


def test_a_module_that_is_not_what_its_hash_says_does_not_run(
    wire: FakeWire, show: Show, page: BrowserPage
) -> None:
    serve_component(wire, PLAIN, integrity=integrity(PLAIN + " "))
    assert "did not load" in show(hydrating("weather-card.js", days=[1]))
    assert page.evaluate("'upgrades' in globalThis") is False
    assert text(page) == "Lisbon"


def test_a_list_that_redirects_is_not_followed(wire: FakeWire, show: Show) -> None:
    del wire.pages["/__litro/components.json"]
    assert show(hydrating("weather-card.js")).startswith("ComponentError: the list of components")


def test_a_list_of_another_origin_is_not_asked_for(show: Show, page: BrowserPage) -> None:
    found = page.evaluate(
        """async (ui) => {
          const { hydrateUIResult } = await import("/__litro/static/litro.js");
          const host = document.getElementById("host");
          return hydrateUIResult(host, ui, { base: "http://evil.test/__litro" }).catch((error) => error.message);
        }""",
        hydrating("weather-card.js"),
    )
    assert found == "the components of http://evil.test are not ours"


def test_a_module_runs_once_however_many_components_ask_for_it(show: Show, wire: FakeWire) -> None:
    show(hydrating("weather-card.js", days=[1]))
    show(hydrating("weather-card.js", days=[2]), "other")
    assert len(loaded(wire)) == 1
    assert len([seen for seen in wire.requests if seen.path.endswith("components.json")]) == 1


def test_a_result_without_html_is_shown_by_its_text(show: Show, page: BrowserPage) -> None:
    stale = {**UI, "html": None, "stale": True}
    assert show({**stale, "text": "Lisbon <b>sunny</b>"}) is None
    expect(page.locator("#host")).to_have_text("Lisbon <b>sunny</b>")
    show(stale)
    expect(page.locator("#host")).to_contain_text('"city": "Lisbon"')


def test_scripts_in_the_html_do_not_run(show: Show, page: BrowserPage) -> None:
    show({**UI, "html": "<p>a</p><script>globalThis.ran = true</script>"})
    page.wait_for_timeout(50)
    assert page.evaluate("globalThis.ran") is None


def test_no_policy_of_the_page_is_broken(wire: FakeWire, page: BrowserPage) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(wire.url)
    hydrate(page, hydrating("weather-card.js", days=[1]))
    assert [line for line in said if "Security" in line or "Trusted" in line] == []


def library_page(wire: FakeWire, imports: dict[str, str]) -> None:
    """Serve a page with an import map, which a policy without inline scripts would not let through."""
    found = f'<script type="importmap">{json.dumps({"imports": imports})}</script>'
    wire.pages["/"] = Page("text/html", PAGE.replace(b"<div", found.encode() + b"<div", 1))


def serve_package(wire: FakeWire, folder: Path, name: str) -> None:
    client_files.serve_folder(wire, folder, f"/npm/{name}")


def test_an_element_written_with_lit_upgrades_over_the_servers_shadow_root(
    wire: FakeWire, page: BrowserPage
) -> None:
    packages = {"lit": "3.3.3", "lit-html": "3.3.3", "lit-element": "4.2.2", "@lit/reactive-element": "2.1.2"}
    for name, version in packages.items():
        serve_package(wire, npm.package(name, version), name)
    imports = {f"{name}/": f"/npm/{name}/" for name in packages}
    mains = {"lit": "/npm/lit/index.js", "lit-html": "/npm/lit-html/lit-html.js"}
    reactive = {"@lit/reactive-element": "/npm/@lit/reactive-element/reactive-element.js"}
    library_page(wire, {**imports, **mains, **reactive})
    serve_component(wire, LIT)
    page.goto(wire.url)
    assert hydrate(page, hydrating("weather-card.js", days=[1, 2])) == "weather-card"
    expect(page.locator("#host p")).to_have_text("Lisbon, 2 days")
    expect(page.locator("#host p")).to_have_css("color", "rgb(1, 2, 3)")
    page.locator("#host p").click()
    expect(page.locator("#host p")).to_have_text("Porto, 2 days")


def test_an_element_written_with_fast_upgrades_over_the_servers_shadow_root(
    wire: FakeWire, page: BrowserPage
) -> None:
    serve_package(wire, npm.package("@microsoft/fast-element", "3.0.3"), "fast")
    library_page(wire, {"fast": "/npm/fast/dist/fast-element.min.js"})
    serve_component(wire, FAST)
    page.goto(wire.url)
    assert hydrate(page, hydrating("weather-card.js", days=[1, 2])) == "weather-card"
    expect(page.locator("#host p")).to_have_text("Lisbon, 2 days")
    page.locator("#host p").click()
    expect(page.locator("#host p")).to_have_text("Porto, 2 days")
