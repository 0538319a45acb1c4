"""One Monday of the demo shop in Chromium: three wishes, four eyes, one undone, and the ceiling lowered at the end.

With JavaScript, without, and by keys alone. What a single page does in its corners (a double click, the back button, a
reload, a clock that is wrong) stands in test_admin_browser.py, and the chat's in test_chat_decisions.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Locator, expect
from playwright.sync_api import Page as Tab

from flask_litro_agent.core.proposals import State
from tests.chat_site import ask as say
from tests.chat_site import part
from tests.shop_desk import TREK, Person
from tests.shop_monday import Monday, monday

pytest_plugins = ["tests.browser"]
pytestmark = [pytest.mark.browser]

PATIENCE = 60_000
PRICE = "Set the price of the Trek 65 to {} euros"
REFUND = "Refund 20 euros for order 1104 because the zip broke"
COLLECTION = "Publish a collection “Light nights” of sleeping bags"
NOTE = "Ask for a photo of the zip first"
LISTEN = """addEventListener("securitypolicyviolation", (event) =>
  console.error(`Content Security: ${event.violatedDirective} ${event.blockedURI}`))"""

Window = Callable[..., Tab]


@pytest.fixture(scope="module")
def shop(tmp_path_factory) -> Iterator[Monday]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEMO_SPEED", "0")
        with monday(tmp_path_factory.mktemp("story"), full=False) as opened:
            yield opened


@pytest.fixture(scope="module")
def cookies(chromium: Chromium, shop: Monday) -> dict[str, dict]:
    """Sign both operators in once, by the shop's form."""
    kept = {}
    for username in ("operator", "second"):
        context = chromium.new_context()
        shop.sign_in(context.new_page(), username)
        kept[username] = context.storage_state()
        context.close()
    return kept


@pytest.fixture
def window(chromium: Chromium, shop: Monday, cookies: dict[str, dict]) -> Iterator[Window]:
    """Return a function that opens an operator's page; an uncaught error or a breach of its policy fails the test."""
    contexts, faults = [], []
    expect.set_options(timeout=PATIENCE)

    def open_window(username: str, path: str, *, script: bool = True) -> Tab:
        context = chromium.new_context(
            storage_state=cookies[username], base_url=shop.url, java_script_enabled=script
        )
        contexts.append(context)
        tab = context.new_page()
        tab.set_default_timeout(PATIENCE)
        tab.add_init_script(LISTEN)
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on("console", lambda said: faults.append(said.text) if "Content Security" in said.text else None)
        tab.goto(path)
        if path.startswith("/chat/"):
            tab.wait_for_url("**/chat/assistant#*")  # the page's script has run: it names the session
        return tab

    yield open_window
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture(autouse=True)
def open_ceiling(shop: Monday) -> Iterator[None]:
    """Give back what a story took away, and leave nothing in the inbox."""
    yield
    books = shop.app.extensions["litro_agent"].books
    if "site" in books.ceiling.overview().stored:
        books.ceiling.clear("site", by="account:4")
    for row in books.ledger.find(limit=50)[0]:
        if row.state is State.PROPOSED:
            shop.leave(row.id, seconds=-100_000)


def ask(shop: Monday, chat: Tab, text: str) -> str:
    """Say it, wait for the end of the answer, and return the id of the newest proposal."""
    before = part(chat, "usage").count()
    say(chat, text)
    expect(part(chat, "usage")).to_have_count(before + 1)
    return shop.ledger.find(limit=1)[0][0].id


def told(chat: Tab, tool: str) -> Locator:
    """How the chat says that the last proposal of a tool stands."""
    return part(part(chat, "proposal", f"[data-tool={tool}]").last, "proposal-state")


def card(page: Tab, proposal_id: str) -> Locator:
    return page.locator(f"#card-{proposal_id}")


def press(page: Tab, proposal_id: str, label: str) -> None:
    card(page, proposal_id).get_by_role("button", name=re.compile(f"^{label}")).click()


def dismiss(page: Tab, proposal_id: str, note: str) -> None:
    card(page, proposal_id).locator("input.note").fill(note)
    press(page, proposal_id, "Dismiss")


def set_site(page: Tab, level: str) -> None:
    """Set the whole site's level on the ceiling's page."""
    page.goto("/litro/ceiling")
    page.get_by_label("Level of site").select_option(level)
    page.get_by_role("button", name="Set site", exact=True).click()


def undo_from_the_ledger(page: Tab, shop: Monday, proposal_id: str) -> str:
    """Find the change in the ledger, propose its reverse and approve that; return the reverse's id."""
    page.goto("/litro/ledger?state=executed")
    row = page.locator("tbody tr", has=page.locator(f"a[href$='{proposal_id}']"))
    row.get_by_role("button", name=re.compile("^Propose the reverse")).click()
    expect(page.locator("p.notice")).to_contain_text("Its reverse is proposed")
    reverse = shop.ledger.find(limit=1)[0][0].id
    press(page, reverse, "Approve")
    expect(page.locator("p.notice")).to_contain_text("Done")
    return reverse


def prices(shop: Monday) -> list[int]:
    """What the Trek 65 has cost since the first day, in cents."""
    rows = shop.rows("SELECT after_cents FROM price_change WHERE sku = ? ORDER BY rowid", TREK)
    return [row[0] for row in rows]


def states(shop: Monday, *ids: str) -> list[State]:
    return [shop.ledger.get(one).state for one in ids]


def test_three_wishes_are_seen_decided_told_undone_and_booked(shop: Monday, window: Window) -> None:
    before = shop.rows("SELECT price_cents FROM product WHERE sku = ?", TREK)[0][0]
    otto = window("second", "/litro/")
    olga = window("operator", "/chat/assistant")
    price, refund, collection = (ask(shop, olga, text) for text in (PRICE.format(199), REFUND, COLLECTION))

    expect(otto).to_have_title("(3) Inbox")
    press(otto, price, "Approve")
    expect(told(olga, "change_price")).to_have_text("approved and done")
    expect(card(otto, price)).to_have_count(0)
    dismiss(otto, refund, NOTE)
    expect(told(olga, "refund_order")).to_have_text("dismissed")
    expect(part(olga, "log")).to_contain_text(NOTE)
    shop.leave(collection, seconds=4)
    otto.reload()
    expect(card(otto, collection).get_by_role("button")).to_have_text([re.compile("^Propose again")])
    assert states(shop, price, refund, collection) == [State.EXECUTED, State.DISMISSED, State.EXPIRED]

    ask(shop, olga, "What has happened?")
    answer = part(olga, "log")
    expect(answer).to_contain_text("The price of €199.00 for PCK-TRK65-RED was approved and is done.")
    expect(answer).to_contain_text(f"for order 1104 was dismissed: nothing was changed (“{NOTE}”).")
    expect(answer).to_contain_text("“Light nights” found nobody who decided in time: nothing was changed.")
    expect(told(olga, "save_collection")).to_contain_text("expired")

    reverse = undo_from_the_ledger(otto, shop, price)
    assert prices(shop)[-2:] == [19_900, before]

    set_site(otto, "read")
    expect(otto.locator("[role=status].notice")).to_contain_text("Vanished from the agents")
    expect(otto.locator("[role=status].notice")).to_contain_text("assistant.change_price")
    assert ask(shop, olga, PRICE.format(189)) == reverse, "nothing was proposed"
    expect(answer).to_contain_text("only look things up")

    otto.goto("/litro/ledger")
    for one, words in ((price, "Done"), (refund, "Dismissed"), (collection, "Expired"), (reverse, "Done")):
        row = otto.locator("tbody tr", has=otto.locator(f"a[href$='{one}']"))
        expect(row.locator(".badge")).to_have_text(words)
    otto.goto("/litro/audit?verify=1")
    expect(otto.locator("main")).to_contain_text("approved")
    assert prices(shop)[-1] == before


def test_the_same_without_javascript(shop: Monday, window: Window) -> None:
    before = shop.rows("SELECT price_cents FROM product WHERE sku = ?", TREK)[0][0]
    olga = Person(shop.app, "operator")
    wishes = (PRICE.format(198), REFUND.replace("20", "21"), COLLECTION.replace("Light", "Long"))
    price, refund, collection = (shop.ask(olga, text, session="plain") for text in wishes)
    shop.leave(collection, seconds=-1)
    otto = window("second", "/litro/", script=False)
    expect(otto).to_have_title("(2) Inbox")
    press(otto, price, "Approve")
    expect(otto.locator("p.notice")).to_contain_text("Done · Otto Lang")
    dismiss(otto, refund, NOTE)
    expect(otto.locator("p.notice")).to_contain_text("Dismissed · Otto Lang")
    press(otto, collection, "Propose again")
    expect(otto.locator("p.notice")).to_contain_text("Proposed again")
    undo_from_the_ledger(otto, shop, price)
    assert prices(shop)[-2:] == [19_800, before]
    set_site(otto, "off")
    expect(otto.locator("[role=status].notice")).to_contain_text("Vanished from the agents")
    otto.reload()
    expect(otto.locator(".notice.unknown")).to_contain_text("1 open proposal cannot be approved")
    assert states(shop, price, refund, collection) == [State.EXECUTED, State.DISMISSED, State.EXPIRED]


def test_the_same_by_keys_alone(shop: Monday, window: Window) -> None:
    before = shop.rows("SELECT price_cents FROM product WHERE sku = ?", TREK)[0][0]
    olga, otto = window("operator", "/chat/assistant"), window("second", "/litro/")
    olga.keyboard.type(PRICE.format(197))
    olga.keyboard.press("Enter")
    expect(otto).to_have_title("(1) Inbox")
    otto.keyboard.press("j")
    go(otto, "Approve")
    expect(otto.locator("p.notice")).to_contain_text("Done")
    go(otto, "Ledger")
    otto.wait_for_url("**/litro/ledger")
    go(otto, "Propose the reverse")
    expect(otto.locator("p.notice")).to_contain_text("Its reverse is proposed")
    go(otto, "Approve")
    expect(otto.locator("p.notice")).to_contain_text("Done")
    assert prices(shop)[-2:] == [19_700, before]
    olga.keyboard.type(PRICE.format(196))
    olga.keyboard.press("Enter")
    expect(olga.get_by_role("button", name="Approve")).to_be_visible()
    go(olga, "Approve", back=True)
    expect(told(olga, "change_price")).to_have_text("approved and done")
    assert prices(shop)[-1] == 19_600


FOCUSED = """() => {
  let at = document.activeElement;
  while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at.textContent.trim();
}"""


def go(page: Tab, label: str, *, back: bool = False) -> None:
    """Move the focus by Tab to what is called so, and press Enter."""
    page.locator("main").get_by_text(label).or_(page.locator("nav").get_by_text(label)).first.wait_for()
    for _ in range(120):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        if page.evaluate(FOCUSED).startswith(label):
            return page.keyboard.press("Enter")
    raise AssertionError(f"no way by Tab to {label!r}")


def test_two_operators_approve_at_the_same_moment(shop: Monday, window: Window) -> None:
    proposal_id = shop.ask(Person(shop.app, "operator"), PRICE.format(195), session="both")
    already = len(prices(shop))
    pages = [window(username, "/litro/") for username in ("operator", "second")]
    for page in pages:
        page.route("**/inbox/stream*", lambda route: route.abort())  # nobody is told before he has clicked
        page.reload()
    for page in pages:
        page.evaluate(
            "(id) => void setTimeout(() => document.querySelector(`#card-${id} .button.main`).click(), 100)",
            proposal_id,
        )
    for page in pages:
        expect(page.locator("p.notice, #refusal[open]").first).to_be_visible()
    (loser,) = (page for page in pages if page.locator("#refusal[open]").count())
    (winner,) = (page for page in pages if page is not loser)
    expect(winner.locator("p.notice")).to_contain_text("Done")
    expect(loser.locator("#refusal .sentence")).to_have_text("This proposal expired or was already handled")
    assert prices(shop)[already:] == [19_500]
