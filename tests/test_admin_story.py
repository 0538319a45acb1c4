"""The operator's story on the demo shop, in Chromium: three wishes, a second operator at his keyboard, and the ledger.

Effects are counted in the shop's own database.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Locator, Route, expect
from playwright.sync_api import Page as Tab

from flask_litro_agent.core.ceiling import Level
from tests.asking import eventually
from tests.receivers import SECRET, Receiver, receiving
from tests.shop_desk import TREK, Person
from tests.shop_monday import Monday, found_state, monday

pytest_plugins = ["tests.browser"]
pytestmark = [pytest.mark.browser]

PATIENCE = 60_000
REFUND = "Refund 5 euros for order 1020 because it was scratched"
PRICE = "Set the price of the Trek 65 to 199 euros"
SHELF = "Publish a collection “Light nights” of sleeping bags"
NOTE = "Add a note about Anna Berg: prefers a call in the evening"
TENT = "Set the price of the Basecamp 4 to {} euros"
RAIN = "Make a collection called Wet days with waterproof jackets"
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    """Where messages to the operators arrive."""
    with receiving() as made:
        yield made


@pytest.fixture(scope="module")
def shop(tmp_path_factory, receiver: Receiver) -> Iterator[Monday]:
    telling = {"LITRO_WEBHOOK_URL": receiver.url, "LITRO_WEBHOOK_SECRET": SECRET}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEMO_SPEED", "0")
        with monday(tmp_path_factory.mktemp("story"), full=False, **telling) as opened:
            yield opened


@pytest.fixture(autouse=True)
def raised(shop: Monday) -> None:
    """Every story begins with agents that may propose."""
    shop.app.extensions["litro_agent"].books.ceiling.set("site", Level.EXECUTE, by="account:3")


@pytest.fixture
def window(chromium: Chromium, shop: Monday) -> Iterator[Callable[..., Tab]]:
    """Return a function that signs somebody in, in a browser of his own; the policy blocks nothing there."""
    contexts, faults = [], []

    def note(said) -> None:
        if "Content Security Policy" in said.text or "Content-Security-Policy" in said.text:
            faults.append(said.text)

    def open_window(username: str, then: str = "/litro/", **options) -> Tab:
        context = chromium.new_context(**options)
        contexts.append(context)
        tab = context.new_page()
        tab.set_default_timeout(PATIENCE)
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on("console", note)
        shop.sign_in(tab, username, then)
        return tab

    yield open_window
    for context in contexts:
        context.close()
    assert faults == []


def say(tab: Tab, text: str) -> None:
    """Ask in the chat and wait for the end of the answer."""
    before = tab.locator(".usage").count()
    tab.locator("#chat-text").fill(text)
    tab.keyboard.press("Enter")
    expect(tab.locator(".usage")).to_have_count(before + 1)


def walk(tab: Tab, to: str, *, most: int = 120) -> None:
    """Go on by Tab until the focus is on what has this name."""
    seen = []
    for _ in range(most):
        tab.keyboard.press("Tab")
        name = tab.evaluate(
            "() => { const at = document.activeElement;"
            " return (at.labels?.[0]?.textContent ?? at.textContent).trim().replace(/\\s+/g, ' ') }"
        )
        if name.startswith(to):
            return
        seen.append(name[:40])
    raise AssertionError(f"Tab never came to {to!r}, but to {seen}")


def press(tab: Tab, label: str) -> None:
    walk(tab, label)
    tab.keyboard.press("Enter")


def start_over(tab: Tab) -> None:
    """Take the focus back to where the page begins."""
    tab.evaluate("() => { document.activeElement.blur(); getSelection().removeAllRanges(); scrollTo(0, 0) }")


def wait(tab: Tab, claim: Callable[[], object]) -> None:
    """Wait until the claim is true, while the tab goes on."""
    until = time.monotonic() + PATIENCE / 1000
    while not claim():
        assert time.monotonic() < until, "it did not happen in time"
        tab.wait_for_timeout(50)


def hold(tab: Tab) -> list[Route]:
    """Hold what the tab sends to approve, and return the list in which it is then."""
    held: list[Route] = []
    tab.route("**/approve", held.append)
    return held


def card(tab: Tab, proposal_id: str) -> Locator:
    return tab.locator(f"#card-{proposal_id}")


def button(tab: Tab, proposal_id: str, label: str) -> Locator:
    return card(tab, proposal_id).get_by_role("button", name=label)


def texts(found: Locator) -> list[str]:
    return [" ".join(text.split()) for text in found.all_inner_texts()]


def asked(shop: Monday) -> list[str]:
    """Return the ids of all proposals, oldest first."""
    return [row.id for row in reversed(shop.ledger.find()[0])]


def prices(shop: Monday, sku: str = TREK) -> list[tuple[int, int]]:
    """Return every change of a price that was made, as before and after."""
    return shop.rows("SELECT before_cents, after_cents FROM price_change WHERE sku = ? ORDER BY rowid", sku)


def effects(shop: Monday) -> int:
    """Return how many rows all that was approved has written."""
    return sum(
        shop.rows(f"SELECT count(*) FROM {table}")[0][0]
        for table in ("refund", "price_change", "collection_version", "credit", "note")
    )


def told(receiver: Receiver, shop: Monday) -> set[str]:
    """Return the ids of the cards to which messages have led."""
    way = f"{shop.url}/litro/proposals/"
    return {got.json["data"]["url"].removeprefix(way) for got in receiver.got}


def test_the_whole_story_by_keyboard(shop: Monday, receiver: Receiver, window) -> None:
    olga, otto = window("operator", "/chat/assistant"), window("second")
    expect(otto).to_have_title("Inbox")
    otto.evaluate("window.isTheSame = true")

    for count, wish in enumerate((REFUND, PRICE, SHELF), 1):
        say(olga, wish)
        expect(otto).to_have_title(f"({count}) Inbox")
    refund, price, shelf = asked(shop)
    expect(otto.locator("article.card")).to_have_count(3)
    expect(otto.locator("#said")).to_have_text("3 proposals wait")
    eventually(lambda: told(receiver, shop) == {refund, price, shelf})
    assert effects(shop) == 0

    press(otto, "Approve: change_price")
    expect(otto.locator("p.notice")).to_contain_text("Done · Otto")
    expect(otto).to_have_title("(2) Inbox")
    assert prices(shop) == [(21_900, 19_900)]

    start_over(otto)
    walk(otto, "Note (optional): refund_order")
    otto.keyboard.type("Ask for a photo first")
    otto.keyboard.press("Enter")
    expect(otto.locator("p.notice")).to_contain_text("Dismissed")
    expect(otto).to_have_title("(1) Inbox")
    assert otto.evaluate("window.isTheSame")

    shop.leave(shelf, seconds=15)
    otto.reload()
    expect(button(otto, shelf, "Approve")).to_be_visible()
    expect(button(otto, shelf, "Approve")).to_have_count(0)
    expect(otto).to_have_title("Inbox")
    expect(button(otto, shelf, "Propose again")).to_be_visible()

    for text in ("approved and done", "dismissed", "expired: nobody decided in time"):
        expect(olga.locator(".tool-state", has_text=re.compile(f"^{text}$"))).to_have_count(1)
    say(olga, "What happened to it?")
    answer = olga.locator(".turn").last
    expect(answer).to_contain_text("was dismissed: nothing was changed (“Ask for a photo first”)")
    expect(answer).to_contain_text("€199.00 for PCK-TRK65-RED was approved and is done")
    expect(answer).to_contain_text("“Light nights” found nobody who decided in time")

    otto.goto(f"{shop.url}/litro/proposals/{price}")
    press(otto, "Propose the reverse")
    expect(otto.locator("p.notice")).to_contain_text("Its reverse is proposed")
    assert prices(shop) == [(21_900, 19_900)]
    start_over(otto)
    press(otto, "Approve: change_price")
    expect(otto.locator("p.notice")).to_contain_text("Done · Otto")
    assert prices(shop) == [(21_900, 19_900), (19_900, 21_900)]
    assert effects(shop) == 2

    otto.goto(f"{shop.url}/litro/ceiling")
    walk(otto, "Level of site")
    otto.keyboard.type("read")
    press(otto, "Set site")
    expect(otto.locator(".notice").first).to_contain_text("execute → read")
    say(olga, PRICE)
    expect(olga.locator(".turn").last).not_to_contain_text("I have proposed")
    assert len(asked(shop)) == 4
    otto.goto(f"{shop.url}/litro/tools")
    expect(otto.locator(".tool > summary", has_text="change_price").first).to_contain_text("hidden")

    otto.goto(f"{shop.url}/litro/ledger")
    assert sorted(texts(otto.locator(".rows .badge"))) == ["Dismissed", "Done", "Done", "Expired"]
    expect(otto.locator(".rows tr", has_text="refund_order")).to_contain_text("Ask for a photo first")
    otto.goto(f"{shop.url}/litro/audit?verify=1")
    expect(otto.locator(".notice")).to_contain_text("The chain is whole.")
    kinds = Counter(texts(otto.locator(".rows tbody td:nth-child(3)")))
    assert kinds == {"approved": 2, "executed": 2, "dismissed": 1, "ceiling": 2}


def test_the_same_decisions_without_a_script(shop: Monday, window) -> None:
    olga, otto = Person(shop.app, "operator"), window("second", java_script_enabled=False)
    before = effects(shop)
    note, price, shelf = (shop.ask(olga, wish, session="plain") for wish in (NOTE, TENT.format(279), RAIN))
    otto.reload()
    expect(otto).to_have_title("(3) Inbox")

    press(otto, "Approve: change_price")
    expect(otto.locator("p.notice")).to_contain_text("Done · Otto")
    card_note = button(otto, note, "Dismiss")
    walk(otto, "Note (optional): add_customer_note")
    otto.keyboard.type("She has told us already")
    otto.keyboard.press("Enter")
    expect(otto.locator("p.notice")).to_contain_text("Dismissed")
    expect(card_note).to_have_count(0)
    shop.leave(shelf, seconds=-1)
    press(otto, "Approve: save_collection")  # as the page still has it
    expect(otto).to_have_title("Not any more")
    expect(otto.locator("main")).to_contain_text("This proposal expired or was already handled")
    assert [found_state(shop, each) for each in (price, note, shelf)] == ["executed", "dismissed", "expired"]

    otto.goto(f"{shop.url}/litro/proposals/{price}")
    press(otto, "Propose the reverse")
    expect(otto.locator("p.notice")).to_contain_text("Its reverse is proposed")
    press(otto, "Approve: change_price")
    expect(otto.locator("p.notice")).to_contain_text("Done · Otto")
    assert effects(shop) - before == 2


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_two_operators_decide_the_same_card_in_the_same_moment(shop: Monday, window, scripts: bool) -> None:
    """One wins, and the other is told in words; the price is changed once."""
    wished = shop.ask(Person(shop.app, "operator"), TENT.format(269 if scripts else 259), session="race")
    before = effects(shop)
    tabs = [window(name, java_script_enabled=scripts) for name in ("operator", "second")]
    held = [hold(tab) for tab in tabs]
    for tab, caught in zip(tabs, held, strict=True):
        button(tab, wished, "Approve").click(no_wait_after=True)
        wait(tab, lambda caught=caught: caught)
    for (route,) in held:
        route.continue_()
    refused = [tab.get_by_text("This proposal expired or was already handled") for tab in tabs]
    done = [tab.locator("p.notice", has_text="Done") for tab in tabs]
    expect(done[0].or_(refused[0]).first).to_be_visible()
    expect(done[1].or_(refused[1]).first).to_be_visible()
    assert sorted((one.count(), other.count()) for one, other in zip(done, refused, strict=True)) == [
        (0, 1),
        (1, 0),
    ]
    assert effects(shop) - before == 1


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_a_double_click_a_reload_and_the_back_button_decide_nothing_twice(
    shop: Monday, window, scripts: bool
) -> None:
    wished = shop.ask(Person(shop.app, "operator"), TENT.format(249 if scripts else 239), session="twice")
    before = effects(shop)
    tab = window("second", java_script_enabled=scripts)
    button(tab, wished, "Approve").dblclick()
    expect(card(tab, wished).get_by_role("button", name="Approve")).to_have_count(0)
    wait(tab, lambda: found_state(shop, wished) == "executed")
    tab.reload()
    tab.go_back()
    tab.reload()
    expect(button(tab, wished, "Approve")).to_have_count(0)
    assert effects(shop) - before == 1
