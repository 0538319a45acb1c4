"""The operator's pages in a real Chromium: live, by keyboard, in two windows at once, and without JavaScript."""

from __future__ import annotations

import re
import threading

import pytest
from playwright.sync_api import expect
from sqlalchemy import update
from werkzeug.serving import make_server

from flask_litro_agent.core.proposals import State
from flask_litro_agent.core.tables import proposal
from tests.proposal_site import OPS, Browser, proposal_site

pytestmark = pytest.mark.browser
pytest_plugins = ["tests.browser"]

TTL = 300_000
SOON = 15_000


class Site:
    """A site on a port of its own, what it was asked for, and what happens behind the pages' back."""

    def __init__(self, folder, **config):
        self.app = proposal_site(folder, LITRO_STREAM_SECONDS=20, LITRO_SIGN_IN="/sign-in", **config)
        self.app.extensions["people"]["ops"] = type(OPS)("ops", "Olga", OPS.permissions | {"litro:admin"})
        self.app.add_url_rule("/sign-in", "sign-in", lambda: "<title>Sign in</title>")
        self._server = make_server("127.0.0.1", 0, self.app, threaded=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self.eve = Browser(self.app, "eve")

    def ask(self, order, *, seconds=None, tool="refund", session="s1", **more):
        """Have a proposal made that has so many seconds left."""
        proposal_id = self.eve.ask(tool, order, session=session, **more)["proposal_id"]
        if seconds is not None:
            self.age(proposal_id, TTL - seconds * 1000)
        return proposal_id

    def age(self, proposal_id, ms):
        statement = update(proposal).where(proposal.c.id == proposal_id)
        statement = statement.values(created_at=proposal.c.created_at - ms)
        self.app.extensions["litro_agent"].books.database.write(lambda held: held.execute(statement).close())

    def state(self, proposal_id):
        return self.app.extensions["litro_agent"].books.ledger.get(proposal_id).state

    @property
    def done(self):
        return self.app.extensions["done"]

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def site(tmp_path):
    site = Site(tmp_path)
    yield site
    site.close()


@pytest.fixture
def window(chromium, site):
    """Return a function that opens a window of an operator's; nothing in it may break the security policy."""
    faults, contexts = [], []

    def open_window(actor="ops", path="/litro/", **options):
        context = chromium.new_context(
            extra_http_headers={"X-Actor": actor}, base_url=site.address, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(SOON)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: _note(faults, said))
        page.goto(path)
        return page

    yield open_window
    for context in contexts:
        context.close()
    assert faults == []


def _note(faults, said):
    if said.type == "error" and "Content Security Policy" in said.text:
        faults.append(said.text)


def card(page, proposal_id):
    return page.locator(f"#card-{proposal_id}")


def press(page, proposal_id, label):
    card(page, proposal_id).get_by_role("button", name=label, exact=False).first.click()


def note(page, proposal_id):
    return card(page, proposal_id).locator("input.note")


class TestLive:
    def test_a_new_card_comes_without_a_reload_and_disturbs_nothing(self, site, window):
        first = site.ask(1)
        page = window()
        note(page, first).fill("half a sent")
        page.evaluate("window.isTheSame = true")
        second = site.ask(2, seconds=200)
        expect(card(page, second)).to_be_visible()
        expect(page).to_have_title("(2) Inbox")
        expect(page.locator("#count")).to_have_text("2 proposals wait")
        expect(page.locator("#said")).to_have_text("2 proposals wait")
        assert [each.get_attribute("id") for each in page.locator("article.card").all()] == [
            f"card-{second}",
            f"card-{first}",
        ]
        page.keyboard.type("ence")
        assert note(page, first).input_value() == "half a sentence"
        assert page.evaluate("window.isTheSame")

    def test_what_another_decides_goes_away(self, site, window):
        proposal_id = site.ask(1)
        page = window()
        Browser(site.app, "two").decide("dismiss", proposal_id)
        expect(card(page, proposal_id)).to_have_count(0)
        expect(page.get_by_text("Nothing waits for a decision.").first).to_be_visible()
        expect(page).to_have_title("Inbox")

    def test_a_card_in_which_somebody_writes_stays_and_says_that_it_is_over(self, site, window):
        proposal_id = site.ask(1)
        page = window()
        note(page, proposal_id).fill("because the customer")
        Browser(site.app, "two").decide("approve", proposal_id)
        expect(card(page, proposal_id).get_by_text("It no longer waits for you")).to_be_visible()
        expect(card(page, proposal_id).get_by_role("button")).to_have_count(0)
        assert note(page, proposal_id).input_value() == "because the customer"

    def test_the_page_stays_where_it_is_read(self, site, window):
        cards = [site.ask(order, session=f"s{order // 4}") for order in range(1, 9)]
        page = window()
        card(page, cards[5]).scroll_into_view_if_needed()
        before = card(page, cards[5]).bounding_box()["y"]
        urgent = site.ask(99, seconds=100, session="new")
        Browser(site.app, "two").decide("dismiss", cards[0])
        expect(card(page, urgent)).to_have_count(1)
        expect(card(page, cards[0])).to_have_count(0)
        assert abs(card(page, cards[5]).bounding_box()["y"] - before) < 3

    def test_a_card_that_expires_while_it_is_looked_at_loses_its_buttons_and_offers_to_ask_again(
        self, site, window
    ):
        proposal_id = site.ask(1, seconds=8)
        page = window()
        gone = card(page, proposal_id).get_by_role("button", name="Approve")
        expect(gone).to_have_count(0, timeout=30_000)
        expect(card(page, proposal_id).get_by_role("button", name="Propose again")).to_be_visible()
        press(page, proposal_id, "Propose again")
        expect(page.locator("p.notice")).to_contain_text("Proposed again")
        expect(page).to_have_title("(1) Inbox")
        assert site.done == []

    def test_a_clock_that_is_wrong_counts_the_servers_time(self, site, window):
        proposal_id = site.ask(1, seconds=290)
        page = window()
        page.clock.install(time="2031-01-01T00:00:00")
        page.reload()
        expect(card(page, proposal_id).locator(".left")).to_have_text(re.compile(r"4:[2-4]\d left"))
        expect(card(page, proposal_id).get_by_role("button", name="Approve")).to_be_visible()

    def test_a_card_far_below_is_counted_as_soon_as_it_comes_into_sight(self, site, window):
        cards = [site.ask(order, session=f"s{order // 4}") for order in range(1, 13)]
        page = window(viewport={"width": 1280, "height": 300})
        expect(card(page, cards[0]).locator(".left")).to_have_text(re.compile(r"\d:\d\d left"))
        expect(card(page, cards[-1]).locator(".left")).to_have_text(re.compile(r"\d minutes left"))
        card(page, cards[-1]).scroll_into_view_if_needed()
        expect(card(page, cards[-1]).locator(".left")).to_have_text(re.compile(r"\d:\d\d left"))

    def test_where_there_is_no_stream_the_page_asks_by_itself(self, site, window):
        page = window(path="/sign-in")
        page.clock.install()
        page.route("**/inbox/stream*", lambda route: route.fulfill(status=503, body="full"))
        page.goto("/litro/")
        expect(page.locator("#count")).to_have_text("Nothing waits for a decision.")
        page.wait_for_timeout(500)
        proposal_id = site.ask(1)
        page.clock.fast_forward(16_000)
        expect(card(page, proposal_id)).to_be_visible()

    def test_whoever_is_signed_out_meanwhile_is_told(self, site, window):
        site.ask(1)
        page = window()
        page.context.set_extra_http_headers({"X-Actor": ""})
        site.ask(2)
        expect(page.locator("#signed-out")).to_be_visible(timeout=SOON)

    def test_the_page_of_one_proposal_follows_as_well(self, site, window):
        proposal_id = site.ask(1)
        page = window(path=f"/litro/proposals/{proposal_id}")
        Browser(site.app, "two").decide("dismiss", proposal_id, note="ask her first")
        expect(page.get_by_text("Dismissed by Otto")).to_be_visible()
        expect(page.get_by_text("ask her first")).to_be_visible()
        expect(card(page, proposal_id).get_by_role("button", name="Propose again")).to_be_visible()


class TestDecisions:
    def test_a_click_decides_without_leaving_the_page(self, site, window):
        first, second = site.ask(1), site.ask(2)
        page = window()
        note(page, second).fill("kept")
        press(page, first, "Approve")
        expect(page.locator("p.notice")).to_contain_text("Done · Olga")
        expect(card(page, first)).to_have_count(0)
        assert note(page, second).input_value() == "kept"
        assert site.done == [("refund", 1)]
        assert page.evaluate("document.activeElement.id") == f"card-{second}"

    def test_a_double_click_runs_it_once(self, site, window):
        proposal_id = site.ask(1)
        page = window()
        card(page, proposal_id).get_by_role("button", name="Approve").dblclick()
        expect(page.locator("p.notice")).to_contain_text("Done")
        assert site.done == [("refund", 1)]

    def test_two_operators_in_two_windows_at_once(self, site, window):
        proposal_id = site.ask(1)
        pages = [window("ops"), window("two")]
        for page in pages:
            page.route("**/inbox/stream*", lambda route: route.abort())
            page.reload()
        press(pages[0], proposal_id, "Approve")
        expect(pages[0].locator("p.notice")).to_contain_text("Done")
        press(pages[1], proposal_id, "Dismiss")
        refusal = pages[1].locator("#refusal")
        expect(refusal).to_contain_text("This proposal expired or was already handled")
        expect(refusal).to_contain_text("Decided by Olga")
        refusal.get_by_role("button", name="Close").click()
        expect(card(pages[1], proposal_id)).to_have_count(0)
        assert site.done == [("refund", 1)]

    def test_the_back_button_and_a_reload_decide_nothing(self, site, window):
        proposal_id = site.ask(1)
        page = window(path=f"/litro/proposals/{proposal_id}")
        press(page, proposal_id, "Approve")
        expect(page.locator("p.notice")).to_contain_text("Done")
        press(page, proposal_id, "Propose the reverse")
        expect(page.locator("p.notice")).to_contain_text("Its reverse is proposed")
        page.go_back()
        page.reload()
        page.go_forward()
        page.reload()
        assert site.done == [("refund", 1)]
        expect(page.get_by_text("somebody else must approve it")).to_be_visible()

    def test_a_narrowed_list_stays_narrowed(self, site, window):
        for order in range(1, 5):
            site.ask(order, session="a")
        charges = [site.ask(order, tool="charge", session="b") for order in (11, 12)]
        page = window(path="/litro/?tool=charge")
        press(page, charges[0], "Dismiss")
        expect(page.locator("p.notice")).to_contain_text("Dismissed")
        expect(page.locator("article.card")).to_have_count(1)
        expect(page).to_have_title("(5) Inbox")

    def test_an_answer_that_never_comes_is_told_and_the_ledger_is_asked(self, site, window):
        proposal_id = site.ask(1)
        page = window()
        page.route("**/dismiss", lambda route: route.abort())
        press(page, proposal_id, "Dismiss")
        expect(page.locator("#refusal")).to_contain_text("The answer did not come")
        assert site.state(proposal_id) is State.PROPOSED

    def test_an_unknown_outcome_is_answered(self, site, window):
        proposal_id = site.ask(13)
        Browser(site.app).decide("approve", proposal_id)
        page = window()
        note(page, proposal_id).fill("asked the bank")
        press(page, proposal_id, "It did not happen")
        expect(page.locator("p.notice")).to_contain_text("Did not happen, as an operator said")


class TestKeyboard:
    def test_a_decision_by_keys_alone(self, site, window):
        first, second = site.ask(1), site.ask(2)
        page = window()
        page.keyboard.press("j")
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.id") == f"card-{second}"
        page.keyboard.press("k")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowUp")
        assert page.evaluate("document.activeElement.id") == f"card-{first}"
        for _ in range(8):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent").strip().startswith("Approve"):
                break
        page.keyboard.press("Enter")
        expect(page.locator("p.notice")).to_contain_text("Done")
        assert site.done == [("refund", 1)]

    def test_no_single_key_decides(self, site, window):
        proposal_id = site.ask(1)
        page = window()
        page.keyboard.press("j")
        for key in "abcdefghilmnopqrstuvwxyzAY0123456789":
            page.keyboard.press(key)
        page.keyboard.press("Space")
        assert site.state(proposal_id) is State.PROPOSED

    def test_enter_on_a_card_opens_it(self, site, window):
        proposal_id = site.ask(1)
        page = window()
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/litro/proposals/{proposal_id}")

    def test_the_keys_are_listed_and_can_be_switched_off_for_good(self, site, window):
        site.ask(1)
        page = window()
        page.keyboard.press("?")
        expect(page.locator("#keys")).to_be_visible()
        page.get_by_label("Use these keys in this browser").uncheck()
        page.keyboard.press("Escape")
        for _ in range(2):
            page.keyboard.press("j")
            assert page.evaluate("document.activeElement.tagName") != "ARTICLE"
            page.reload()
        page.get_by_role("button", name="Keys").click()
        expect(page.get_by_label("Use these keys in this browser")).not_to_be_checked()

    def test_a_slash_goes_to_the_filters_and_a_note_takes_every_key(self, site, window):
        cards = [site.ask(order, session=f"s{order // 4}") for order in range(1, 8)]
        page = window()
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.name") == "agent"
        note(page, cards[0]).focus()
        page.keyboard.type("j/k?")
        assert note(page, cards[0]).input_value() == "j/k?"
        expect(page.locator("#keys")).to_be_hidden()

    def test_the_first_tab_skips_to_the_content(self, site, window):
        page = window()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


class TestWithoutJavaScript:
    def test_the_whole_way_from_a_card_to_its_reverse(self, site, window):
        proposal_id = site.ask(7)
        page = window(java_script_enabled=False)
        expect(card(page, proposal_id)).to_contain_text("4 minutes left")
        press(page, proposal_id, "Approve")
        expect(page).to_have_url(f"{site.address}/litro/?decided={proposal_id}")
        expect(page.locator("p.notice")).to_contain_text("Done · Olga")
        page.locator("p.notice a").click()
        press(page, proposal_id, "Propose the reverse")
        expect(page.locator("p.notice")).to_contain_text("Its reverse is proposed")
        page.get_by_role("link", name="Inbox").first.click()
        expect(page).to_have_title("(1) Inbox")
        assert site.done == [("refund", 7)]

    def test_back_and_the_same_button_again_get_the_page_that_says_how_it_stands(self, site, window):
        proposal_id = site.ask(1)
        page = window(java_script_enabled=False)
        press(page, proposal_id, "Dismiss")
        page.go_back()
        if card(page, proposal_id).get_by_role("button", name="Approve").count():  # as the browser kept it
            press(page, proposal_id, "Approve")
            expect(page.get_by_role("heading", name="Not any more")).to_be_visible()
            expect(page.get_by_text("Decided by Olga")).to_be_visible()
        assert site.done == []
        assert site.state(proposal_id) is State.DISMISSED

    def test_an_expired_one_is_asked_for_again(self, site, window):
        proposal_id = site.ask(1, seconds=-1)
        page = window(java_script_enabled=False)
        press(page, proposal_id, "Propose again")
        expect(page.locator("p.notice")).to_contain_text("Proposed again")
        expect(page).to_have_title("(1) Inbox")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_window(site, window, width, scheme):
    wide = "a" * 400
    proposal_id = site.ask(1, text=wide)
    lost = site.ask(13, text=wide)
    Browser(site.app).decide("approve", lost)
    site.app.extensions["people"]["eve"] = type(OPS)("eve", "E" * 200, OPS.permissions)
    page = window(viewport={"width": width, "height": 844}, color_scheme=scheme)
    for path in ("/litro/", f"/litro/proposals/{proposal_id}", f"/litro/proposals/{lost}"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_a_printed_page_has_no_buttons(site, window):
    site.ask(1)
    page = window()
    page.emulate_media(media="print")
    expect(page.get_by_role("button", name="Approve")).to_be_hidden()
    expect(page.locator("article.card")).to_be_visible()
