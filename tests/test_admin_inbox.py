"""The inbox: what waits, in which order, for whom, and what a form of it is answered with."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import update

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.proposals import State
from flask_litro_agent.core.tables import proposal
from tests.asking import site
from tests.pages import Page, open_page
from tests.proposal_site import EVE, OPS, PROPOSALS, Browser, proposal_site

TTL = 300_000


@pytest.fixture
def app(tmp_path):
    return proposal_site(tmp_path)


@pytest.fixture
def eve(app):
    return Browser(app, "eve")


@pytest.fixture
def ops(app):
    return Browser(app)


def inbox(browser, query="", **headers) -> Page:
    return open_page(browser, f"/litro/{query}", **headers)


def ledger(app):
    return app.extensions["litro_agent"].books.ledger


def age(app, proposal_id, ms):
    statement = update(proposal).where(proposal.c.id == proposal_id)
    statement = statement.values(created_at=proposal.c.created_at - ms)
    app.extensions["litro_agent"].books.database.write(lambda held: held.execute(statement).close())


class TestWhatWaits:
    def test_an_empty_one_says_so(self, ops):
        page = inbox(ops)
        assert page.status == 200
        assert "Nothing waits for a decision." in page.text
        assert page.title == "Inbox"

    def test_a_site_without_write_tools_says_why_there_is_nothing(self, tmp_path):
        app = site(tmp_path)
        app.extensions["litro_agent"].identity._request_loader = lambda: OPS
        app.extensions["litro_agent"].identity._actor_loader = lambda actor_id: OPS
        page = inbox(Browser(app))
        assert "No tool of this site changes anything" in page.text

    def test_unknown_outcomes_come_first_then_deadlines_then_what_expired(self, app, eve, ops):
        late, soon = eve.ask(order=1)["proposal_id"], eve.ask(order=2)["proposal_id"]
        age(app, soon, 60_000)
        gone = eve.ask(order=3)["proposal_id"]
        age(app, gone, TTL)
        lost = eve.ask(order=13)["proposal_id"]
        ops.decide("approve", lost)
        page = inbox(ops)
        assert page.ids == [lost, soon, late, gone]
        assert page.title == "(3) Inbox"
        assert page.heading_before(gone) == "Expired in the last day"

    def test_an_open_card_shows_its_arguments_its_time_and_both_buttons(self, eve, ops):
        proposal_id = eve.ask(order=7)["proposal_id"]
        card = inbox(ops).card(proposal_id)
        assert "7" in card.text
        assert "4 minutes left" in card.text
        assert card.buttons == ["Approve", "Dismiss"]

    def test_a_card_says_who_asked_in_which_words(self, eve, ops):
        proposal_id = eve.ask(order=7)["proposal_id"]
        card = inbox(ops).card(proposal_id)
        assert "Asked by Eve" in card.text
        assert '["call", "refund", {"order": 7}]' in card.text

    def test_an_unknown_one_is_told_in_words_with_its_key_and_its_buttons(self, eve, ops):
        proposal_id = eve.ask(order=13)["proposal_id"]
        ops.decide("approve", proposal_id)
        card = inbox(ops).card(proposal_id)
        assert "Nobody can say whether this happened" in card.text
        assert f"litro-{proposal_id}" in card.text
        assert card.buttons == ["It happened", "It did not happen", "Propose again"]
        assert "canary-secret" not in card.text

    def test_an_expired_one_can_be_proposed_again_and_nothing_else(self, app, eve, ops):
        proposal_id = eve.ask()["proposal_id"]
        age(app, proposal_id, TTL)
        assert inbox(ops).card(proposal_id).buttons == ["Propose again"]

    def test_what_a_model_or_a_person_wrote_is_text(self, app, eve, ops):
        """E4."""
        hostile = "<img src=x onerror=alert(1)></script>{{7*7}}"
        app.extensions["people"]["eve"] = Actor("eve", hostile, EVE.permissions)
        eve.ask(order=1, text=hostile)
        page = inbox(ops)
        assert "<img" not in page.html
        assert "{{7*7}}" in page.text

    def test_the_clock_of_the_server_is_on_the_page(self, app, eve, ops):
        proposal_id = eve.ask()["proposal_id"]
        page, row = inbox(ops), ledger(app).get(proposal_id)
        assert abs(int(re.search(r'data-now="(\d+)"', page.html)[1]) - row.read_at) < 60_000
        assert f'data-expires="{row.expires_at}"' in page.html


class TestWhoDecides:
    def test_who_lacks_the_tools_permission_is_told_so_and_has_no_buttons(self, app, eve, ops):
        proposal_id = eve.ask()["proposal_id"]
        app.extensions["people"]["ops"] = Actor("ops", "Olga", frozenset({"litro:approve"}))
        card = inbox(ops).card(proposal_id)
        assert "you need the permission refunds:edit yourself" in card.text
        assert card.buttons == []

    def test_who_asked_for_what_needs_four_eyes_can_only_dismiss_it(self, ops):
        proposal_id = ops.ask("charge")["proposal_id"]
        card = inbox(ops).card(proposal_id)
        assert "somebody else must approve it" in card.text
        assert card.buttons == ["Dismiss"]

    def test_who_may_only_look_sees_cards_without_buttons(self, app, eve, ops):
        proposal_id = eve.ask()["proposal_id"]
        app.extensions["people"]["ops"] = Actor("ops", "Olga", frozenset({"litro:admin"}))
        card = inbox(ops).card(proposal_id)
        assert "you need the permission litro:approve" in card.text
        assert card.buttons == []

    @pytest.mark.parametrize(("actor", "status"), [("bob", 403), ("", 401)])
    def test_nobody_else_enters(self, app, eve, actor, status):
        eve.ask(order=4711)
        page = inbox(Browser(app, actor))
        assert (page.status, page.title) == (status, "Not allowed" if actor else "Sign in first")
        assert 'href="/">Back to the site' in page.html
        assert "4711" not in page.html

    def test_every_page_has_a_way_back_to_the_site(self, ops):
        assert 'href="/">Back to the site' in inbox(ops).html

    def test_somebody_signed_out_is_led_to_the_sign_in_and_back(self, tmp_path):
        app = proposal_site(tmp_path, LITRO_SIGN_IN="/sign-in?way=staff")
        page = inbox(Browser(app, ""), "?agent=desk")
        assert (page.status, page.location) == (
            303,
            "/sign-in?way=staff&next=%2Flitro%2F%3Fagent%3Ddesk",
        )


class TestFilters:
    @pytest.fixture
    def busy(self, app, eve, ops):
        for order in range(3):
            eve.ask("refund", order=100 + order, session="a")
        for order in range(3):
            ops.ask("charge", order=200 + order, session="b")
        return ops

    def test_a_few_cards_need_none(self, eve, ops):
        eve.ask()
        assert 'id="filters"' not in inbox(ops).html

    def test_they_narrow_the_list_and_leave_the_count(self, busy):
        page = inbox(busy, "?tool=charge&proposer=ops")
        assert len(page.ids) == 3
        assert page.title == "(6) Inbox"
        assert "3 of 6 shown" in page.text
        assert "Olga" in page.text

    def test_a_decision_leaves_it_narrowed(self, app, busy):
        page = inbox(busy, "?tool=charge&proposer=ops&agent=")
        first, *rest = page.ids
        answer = page.card(first).press("Dismiss")
        assert answer.location == f"/litro/?tool=charge&proposer=ops&decided={first}"
        page = open_page(busy, answer.location)
        assert page.ids == rest
        assert "Dismissed" in page.notice
        assert "2 of 5 shown" in page.text

    def test_so_does_every_other_button(self, app, busy):
        lost = Browser(app, "eve").ask("refund", order=13, session="c")["proposal_id"]
        busy.decide("approve", lost)
        answer = inbox(busy, "?tool=refund").card(lost).press("It happened")
        assert answer.location == f"/litro/?tool=refund&decided={lost}"

    def test_a_proposals_own_page_knows_no_filter(self, app, busy):
        (proposal_id, *_) = inbox(busy).ids
        form = busy.form(proposal_id, back="proposal", tool="charge")
        answer = busy.submit("dismiss", proposal_id, form)
        assert answer.headers["Location"] == f"/litro/proposals/{proposal_id}?decided={proposal_id}"

    @pytest.mark.parametrize("value", ["a%00", "x" * 256])
    def test_a_form_whose_filter_cannot_be_decides_nothing(self, app, busy, value):
        (proposal_id, *_) = inbox(busy, "?tool=refund").ids
        form = busy.form(proposal_id, back="inbox", tool=value.replace("%00", "\x00"))
        assert busy.submit("approve", proposal_id, form).status_code == 400
        assert app.extensions["done"] == []

    def test_a_filter_that_nothing_passes_says_so(self, busy):
        page = inbox(busy, "?agent=%3Cb%3E")
        assert page.ids == []
        assert "Nothing that waits is like this." in page.text
        assert "<b>" not in page.html


class TestForms:
    @pytest.fixture
    def proposal_id(self, eve):
        return eve.ask()["proposal_id"]

    @pytest.mark.parametrize(
        ("button", "said", "done"),
        [("Approve", "Done", [("refund", 1)]), ("Dismiss", "Dismissed", [])],
    )
    def test_a_button_decides_and_leads_back_with_a_notice(self, app, ops, proposal_id, button, said, done):
        answer = inbox(ops).card(proposal_id).press(button)
        assert (answer.status, answer.location) == (303, f"/litro/?decided={proposal_id}")
        page = open_page(ops, answer.location)
        assert said in page.notice
        assert "Olga" in page.notice
        assert page.ids == []
        assert app.extensions["done"] == done

    def test_a_note_goes_with_a_dismissal(self, app, ops, proposal_id):
        inbox(ops).card(proposal_id).press("Dismiss", note="ask her <first>")
        assert ledger(app).get(proposal_id).note == "ask her <first>"

    def test_loading_the_answer_again_decides_nothing(self, app, ops, proposal_id):
        place = inbox(ops).card(proposal_id).press("Approve").location
        for _ in range(2):
            assert open_page(ops, place).status == 200
        assert app.extensions["done"] == [("refund", 1)]

    def test_a_double_click_gets_a_page_that_says_how_it_stands(self, app, ops, proposal_id):
        """D2."""
        card = inbox(ops).card(proposal_id)
        card.press("Approve")
        page = card.press("Approve")
        assert (page.status, page.title) == (409, "Not any more")
        assert "This proposal expired or was already handled" in page.text
        assert "Done" in page.text
        assert "Decided by Olga" in page.text
        assert f"/litro/proposals/{proposal_id}" in page.html
        assert app.extensions["done"] == [("refund", 1)]

    def test_an_unknown_one_is_answered_from_the_list(self, app, eve, ops):
        proposal_id = eve.ask(order=13)["proposal_id"]
        ops.decide("approve", proposal_id)
        answer = inbox(ops).card(proposal_id).press("It did not happen", note="asked the bank")
        assert "Did not happen, as an operator said" in open_page(ops, answer.location).notice
        assert ledger(app).get(proposal_id).outcome == "failed"

    def test_an_expired_one_is_proposed_again_and_waits_on_the_list(self, app, ops, proposal_id):
        age(app, proposal_id, TTL)
        answer = inbox(ops).card(proposal_id).press("Propose again")
        page = open_page(ops, answer.location)
        assert "Proposed again" in page.notice
        (new,) = page.ids
        assert page.card(new).buttons == ["Approve", "Dismiss"]
        assert ledger(app).get(new).made_from == proposal_id

    @pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example", "/litro/", "", "ledger"])
    def test_no_form_leads_anywhere_else_and_such_a_one_decides_nothing(self, app, ops, proposal_id, back):
        answer = ops.submit("approve", proposal_id, ops.form(proposal_id, back=back))
        assert answer.status_code == 400
        assert app.extensions["done"] == []

    def test_json_has_no_page_to_go_back_to(self, app, ops, proposal_id):
        assert ops.decide("approve", proposal_id, back="inbox").status_code == 400
        assert app.extensions["done"] == []

    def test_the_owner_who_may_not_see_the_pages_is_led_to_his_card(self, app, eve, proposal_id):
        age(app, proposal_id, TTL)
        app.extensions["people"]["ops"] = OPS
        eve.actor = "ops"
        token = eve.token(proposal_id)
        eve.actor = "eve"
        answer = eve.submit("again", proposal_id, {"csrf_token": token, "back": "inbox"})
        assert answer.status_code == 303
        assert answer.headers["Location"].startswith(f"{PROPOSALS}/")


class TestNotices:
    @pytest.mark.parametrize("told", ["p1", "", "%00", "..", "x" * 400])
    def test_a_link_that_names_no_proposal_says_nothing(self, ops, told):
        page = inbox(ops, f"?decided={told}")
        assert (page.status, page.notice) == (200, "")

    def test_a_forged_link_says_only_what_is_true(self, app, eve, ops):
        proposal_id = eve.ask()["proposal_id"]
        page = inbox(ops, f"?decided={proposal_id}")
        assert "It waits for a decision." in page.notice
        assert ledger(app).get(proposal_id).state is State.PROPOSED


class TestHeaders:
    def test_every_page_has_them_and_so_has_an_error_of_a_form(self, eve, ops):
        proposal_id = eve.ask()["proposal_id"]
        refusal = open_page(ops, f"{PROPOSALS}/{proposal_id}/approve", form={"digest": "0"})
        assert refusal.status == 400
        for page in (inbox(ops), refusal, inbox(Browser(ops.app, "bob"))):
            assert page.headers["Cache-Control"] == "no-store"
            assert page.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
            assert page.headers["X-Frame-Options"] == "DENY"
            assert " style=" not in page.html
            assert not re.search(r"<(script|style)>| on[a-z]+=", page.html)

    def test_another_sites_page_is_no_way_in_and_a_link_in_a_letter_is(self, ops):
        foreign = {"Sec-Fetch-Site": "cross-site"}
        navigation = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        assert inbox(ops, **foreign).status == 403
        assert inbox(ops, **foreign, **navigation).status == 200
        assert inbox(ops, **foreign, **{**navigation, "Sec-Fetch-Dest": "iframe"}).status == 403


@pytest.mark.parametrize("query", ["agent=a%00", "proposer=eve&proposer=bob", "tool=" + "a" * 256])
def test_a_filter_that_no_database_takes_is_refused_in_words(ops, query):
    assert open_page(ops, f"/litro/?{query}").status == 400
