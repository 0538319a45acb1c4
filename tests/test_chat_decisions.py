"""An operator decides in the conversation: the demo's chat page in Chromium, over the real shop."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Locator, expect
from playwright.sync_api import Page as Tab

from flask_litro_agent.core.proposals import State
from tests.chat_site import ask, part
from tests.shop_desk import TREK
from tests.shop_monday import Monday, monday

pytest_plugins = ["tests.browser"]
pytestmark = [pytest.mark.browser]

PATIENCE = 60_000
PRICE = "Set the price of the Trek 65 to {} euros"
REFUND = "Refund 5 euros for order 1020 because it was scratched"


@pytest.fixture(scope="module")
def shop(tmp_path_factory) -> Iterator[Monday]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEMO_SPEED", "0")
        with monday(tmp_path_factory.mktemp("decisions"), full=False) as opened:
            yield opened


@pytest.fixture
def chat(chromium: Chromium, shop: Monday) -> Iterator[Callable[[str], Tab]]:
    """Return a function that opens somebody's chat; no error and no breach of the page's policy goes unnoticed."""
    contexts, faults = [], []

    def open_chat(username: str) -> Tab:
        context = chromium.new_context()
        contexts.append(context)
        tab = context.new_page()
        tab.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on("console", lambda said: faults.append(said.text) if "Content Security" in said.text else None)
        shop.sign_in(tab, username, "/chat/assistant")
        tab.wait_for_url(
            "**/chat/assistant#*"
        )  # the page's script has run: it names the session in the address
        return tab

    yield open_chat
    for context in contexts:
        context.close()
    assert faults == []


def propose(shop: Monday, tab: Tab, text: str) -> str:
    """Say it, wait for the end of the answer, and return the id of what was proposed."""
    before = part(tab, "usage").count()
    ask(tab, text)
    expect(part(tab, "usage")).to_have_count(before + 1)
    return shop.ledger.find(limit=1)[0][0].id


def card(tab: Tab) -> Locator:
    """The last proposal's card."""
    return part(tab, "proposal").last


def prices(shop: Monday) -> list[int]:
    rows = shop.rows("SELECT after_cents FROM price_change WHERE sku = ? ORDER BY rowid", TREK)
    return [row[0] for row in rows]


def test_what_would_run_is_shown_and_approved_without_a_reload(shop: Monday, chat) -> None:
    olga = chat("operator")
    proposal_id = propose(shop, olga, PRICE.format(199))
    decision = part(card(olga), "decision")
    expect(decision).to_contain_text("What would run")
    expect(decision).to_contain_text(TREK)
    expect(decision).to_contain_text("Before")
    assert prices(shop) == []
    olga.evaluate("window.isTheSame = true")
    decision.get_by_role("button", name="Approve").dblclick()
    expect(part(card(olga), "proposal-state")).to_have_text("approved and done")
    expect(card(olga).get_by_role("button")).to_have_count(0)
    assert olga.evaluate("window.isTheSame")
    assert prices(shop) == [19_900]
    assert shop.ledger.get(proposal_id).decided_by == shop.ledger.get(proposal_id).proposer


def test_a_dismissal_takes_its_note_along(shop: Monday, chat) -> None:
    olga = chat("operator")
    proposal_id = propose(shop, olga, PRICE.format(189))
    part(card(olga), "note-input").fill("not <before> Friday")
    card(olga).get_by_role("button", name="Dismiss").click()
    expect(part(card(olga), "proposal-state")).to_have_text("dismissed")
    assert shop.ledger.get(proposal_id).note == "not <before> Friday"


def test_whoever_asked_for_what_needs_four_eyes_can_only_dismiss_it(shop: Monday, chat) -> None:
    olga = chat("operator")
    propose(shop, olga, REFUND)
    expect(card(olga)).to_contain_text("somebody else must approve it")
    expect(card(olga).get_by_role("button")).to_have_text(["Dismiss"])


def test_whoever_is_no_operator_sees_no_button(shop: Monday, chat) -> None:
    sam = chat("support")
    propose(shop, sam, "Refund 4 euros for order 1021 because it was scratched")
    sam.wait_for_timeout(1000)
    expect(part(card(sam), "proposal-state")).to_have_text("waits for approval")
    expect(card(sam).get_by_role("button")).to_have_count(0)


def test_what_another_decides_and_what_expires_takes_the_buttons_away(shop: Monday, chat) -> None:
    olga = chat("operator")
    proposal_id = propose(shop, olga, PRICE.format(179))
    expect(card(olga).get_by_role("button", name="Approve")).to_be_visible()
    shop.leave(proposal_id, seconds=-1)
    card(olga).get_by_role("button", name="Approve").click()
    expect(card(olga)).to_contain_text("This proposal expired or was already handled")
    expect(card(olga).get_by_role("button")).to_have_count(0)
    assert shop.ledger.get(proposal_id).state is State.EXPIRED
    olga.reload()
    expect(part(card(olga), "proposal-state")).to_have_text("expired: nobody decided in time")
    expect(card(olga).get_by_role("button")).to_have_count(0)


def test_a_reload_offers_an_open_one_again(shop: Monday, chat) -> None:
    olga = chat("operator")
    propose(shop, olga, PRICE.format(169))
    olga.reload()
    expect(card(olga).get_by_role("button", name="Approve")).to_be_visible()


def test_how_much_time_is_left_stands_on_the_card(shop: Monday, chat) -> None:
    sam = chat("support")
    proposal_id = propose(shop, sam, "Refund 3 euros for order 1022 because it was scratched")
    shop.leave(proposal_id, seconds=90)
    sam.reload()
    expect(part(card(sam), "time-left")).to_have_text(re.compile(r"^1:[0-3]\d left$"))
    shop.leave(proposal_id, seconds=3)
    sam.reload()
    expect(part(card(sam), "proposal-state")).to_have_text("expired: nobody decided in time")
