"""What goes wrong between a page and its form: a page that says so, nothing lost, nothing decided by accident."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

import pytest
from flask import session
from sqlalchemy import create_engine

from flask_litro_agent import LitroAgent
from flask_litro_agent.core.proposals import State
from flask_litro_agent.errors import AgentError, ConfigurationError
from tests.pages import ACCEPT, Page, open_page
from tests.proposal_site import PROPOSALS, Browser, proposal_site

HANDLED = "This proposal expired or was already handled"


@pytest.fixture
def app(tmp_path):
    return proposal_site(tmp_path, LITRO_SIGN_IN="/sign-in")


@pytest.fixture
def ops(app):
    return Browser(app)


@pytest.fixture
def proposal_id(app):
    return Browser(app, "eve").ask(order=7)["proposal_id"]


@pytest.fixture
def card(ops, proposal_id):
    return open_page(ops, "/litro/").card(proposal_id)


def nothing_happened(app, proposal_id):
    row = app.extensions["litro_agent"].books.ledger.get(proposal_id)
    return row.state is State.PROPOSED and app.extensions["done"] == []


def says(page: Page, status: int, *words: str) -> bool:
    assert (page.status, page.headers["Content-Type"]) == (status, "text/html; charset=utf-8")
    assert [word for word in words if word not in page.text] == []
    return True


class TestSignedOut:
    @pytest.mark.parametrize("button", ["Approve", "Dismiss"])
    def test_nothing_is_decided_and_the_page_leads_to_the_sign_in_and_back(
        self, app, ops, proposal_id, card, button
    ):
        ops.actor = ""
        page = card.press(button)
        assert says(page, 401, "You are signed out. Nothing was decided")
        assert f'href="/sign-in?next=%2Flitro%2Fproposals%2F{proposal_id}"' in page.html
        assert "7" not in page.text.replace(proposal_id, ""), "whoever has left is shown nothing of it"
        assert nothing_happened(app, proposal_id)

    def test_so_it_does_when_the_session_went_with_the_sign_in(self, app, ops, proposal_id, card):
        ops.client.delete_cookie("session")
        ops.actor = ""
        assert says(card.press("Approve"), 401, "You are signed out")
        assert nothing_happened(app, proposal_id)

    def test_a_site_that_names_no_sign_in_says_it_in_words(self, tmp_path):
        app = proposal_site(tmp_path)
        proposal_id = Browser(app, "eve").ask()["proposal_id"]
        ops = Browser(app)
        card = open_page(ops, "/litro/").card(proposal_id)
        ops.actor = ""
        page = card.press("Approve")
        assert says(page, 401, "You are signed out")
        assert re.findall('href="(.*?)"', page.html.split("<main")[1]) == ["/"]  # the way back to the site

    def test_another_who_has_signed_in_meanwhile_decides_nothing_with_it(self, app, ops, proposal_id, card):
        ops.actor = "bob"
        assert says(card.press("Approve"), 404, "there is no such proposal")
        assert nothing_happened(app, proposal_id)


class TestToken:
    def test_a_lost_one_is_told_and_the_card_is_offered_again(self, app, ops, proposal_id, card):
        ops.client.delete_cookie("session")
        page = card.press("Approve")
        assert says(page, 400, "token is missing, too old or another person's", "Load the proposal again")
        assert f'href="/litro/proposals/{proposal_id}"' in page.html
        assert nothing_happened(app, proposal_id)

    def test_the_card_that_is_loaded_again_works(self, app, ops, proposal_id, card):
        ops.client.delete_cookie("session")
        card.press("Approve")
        fresh = open_page(ops, f"/litro/proposals/{proposal_id}").card(proposal_id)
        assert fresh.press("Approve").status == 303
        assert app.extensions["done"] == [("refund", 7)]

    def test_one_that_is_too_old_is_told(self, tmp_path):
        app = proposal_site(tmp_path, WTF_CSRF_TIME_LIMIT=-1)
        proposal_id = Browser(app, "eve").ask()["proposal_id"]
        assert says(open_page(Browser(app), "/litro/").card(proposal_id).press("Approve"), 400, "too old")
        assert nothing_happened(app, proposal_id)


class TestTwoOperators:
    def test_the_second_is_told_what_the_first_has_decided(self, app, proposal_id, card):
        two = Browser(app, "two")
        theirs = open_page(two, "/litro/").card(proposal_id)
        card.press("Dismiss", note="ask her first")
        page = theirs.press("Approve")
        assert says(page, 409, HANDLED, "Dismissed", "Decided by Olga", "ask her first")
        assert app.extensions["done"] == []

    def test_a_digest_that_is_not_the_rows_shows_the_card_anew(self, app, ops, proposal_id):
        """D11."""
        form = ops.form(proposal_id, back="inbox", digest="0" * 64)
        page = open_page(ops, f"{PROPOSALS}/{proposal_id}/approve", form)
        assert says(page, 409, "is not the one that the page showed")
        assert nothing_happened(app, proposal_id)


class TestFaults:
    def test_a_database_that_is_away_is_a_page(self, app, ops, proposal_id, card, monkeypatch):
        database = app.extensions["litro_agent"].books.database
        monkeypatch.setattr(database, "_given", create_engine("sqlite:////nowhere/at/all.db"))
        page = card.press("Approve")
        assert page.status == 503
        assert "sqlite" not in page.html.lower()
        assert open_page(ops, "/litro/").status == 503
        monkeypatch.undo()
        assert nothing_happened(app, proposal_id)

    def test_an_error_that_nobody_expected_is_a_page_with_an_id(self, app, card, monkeypatch, caplog):
        def broken(*arguments, **more):
            raise RuntimeError("canary-secret")

        monkeypatch.setattr(app.extensions["litro_agent"].books.ledger, "dismiss", broken)
        page = card.press("Dismiss")
        assert says(page, 500, "Something went wrong", "internal error")
        assert "canary-secret" not in page.html
        assert "canary-secret" in caplog.text

    @pytest.mark.parametrize("error", [RuntimeError("canary-secret"), SystemExit("canary-secret")], ids=repr)
    def test_a_loader_that_raises_leaves_a_sentence(self, app, proposal_id, card, monkeypatch, error):
        identity = app.extensions["litro_agent"].identity

        def broken(actor_id):
            raise error

        monkeypatch.setattr(identity, "_actor_loader", broken)
        page = card.press("Approve")
        assert page.status == 503
        assert "nothing was done, try again" in page.text
        assert "canary-secret" not in page.html
        monkeypatch.undo()
        assert nothing_happened(app, proposal_id)


class TestWhoGetsAPage:
    """A program that sends a form gets its sentence as text, also where the pages are open."""

    @pytest.mark.parametrize("accept", [None, "*/*", "text/plain", "application/json"])
    def test_a_program_does_not(self, ops, proposal_id, accept):
        headers = {} if accept is None else {"Accept": accept}
        answer = ops.submit("approve", proposal_id, {"digest": "0"}, **headers)
        assert (answer.status_code, answer.mimetype) == (400, "text/plain")

    def test_json_never_does(self, ops, proposal_id):
        answer = ops.decide("approve", proposal_id, token="", headers={"Accept": ACCEPT})
        assert (answer.status_code, answer.mimetype) == (400, "application/json")

    def test_nobody_does_where_the_pages_are_closed(self, tmp_path):
        app = proposal_site(tmp_path, LITRO_ADMIN_PREFIX=None)
        proposal_id = Browser(app, "eve").ask()["proposal_id"]
        ops = Browser(app)
        answer = ops.submit("approve", proposal_id, {"digest": "0"}, Accept=ACCEPT)
        assert (answer.status_code, answer.mimetype) == (400, "text/plain")
        answer = ops.submit("approve", proposal_id, ops.form(proposal_id, back="inbox"))
        assert answer.headers["Location"] == f"{PROPOSALS}/{proposal_id}"
        assert open_page(ops, "/litro/").status == 404


class TestFreshness:
    """LITRO_APPROVAL_FRESHNESS over HTTP: refunds are always protected."""

    @pytest.fixture
    def proved(self):
        return {"at": time.time()}

    @pytest.fixture
    def app(self, tmp_path, proved):
        return proposal_site(
            tmp_path,
            authenticated_at=lambda: proved["at"],
            LITRO_APPROVAL_FRESHNESS=300,
            LITRO_SIGN_IN="/sign-in",
        )

    @pytest.mark.parametrize("told", [None, 0.0, "old"])
    def test_a_card_offers_the_sign_in_instead_of_its_button(self, ops, proposal_id, proved, told):
        proved["at"] = time.time() - 301 if told == "old" else told
        card = open_page(ops, "/litro/").card(proposal_id)
        assert "You signed in too long ago to approve this." in card.text
        assert f"/sign-in?next=%2Flitro%2Fproposals%2F{proposal_id}" in card.html
        assert card.buttons == ["Dismiss"]

    @pytest.mark.parametrize("zoned", [True, False])
    def test_a_fresh_one_approves(self, app, proposal_id, card, proved, zoned):
        proved["at"] = datetime.now(UTC) if zoned else int(time.time())
        assert card.press("Approve").status == 303
        assert app.extensions["done"] == [("refund", 7)]

    def test_a_page_that_was_open_for_too_long_decides_nothing(self, app, proposal_id, card, proved):
        proved["at"] -= 301
        page = card.press("Approve")
        assert says(page, 401, "prove once more who you are", "Sign in")
        assert f"/sign-in?next=%2Flitro%2Fproposals%2F{proposal_id}" in page.html
        assert nothing_happened(app, proposal_id)

    def test_json_gets_the_same_as_a_401(self, app, ops, proposal_id, proved):
        proved["at"] = None
        answer = ops.decide("approve", proposal_id)
        assert (answer.status_code, answer.json["name"]) == (401, "SignInNeeded")
        assert ops.get(proposal_id).json["hindrance"] == "stale"
        assert nothing_happened(app, proposal_id)

    @pytest.mark.parametrize("told", ["1", True, float("nan"), datetime(2026, 1, 1)])
    def test_what_is_no_time_is_an_error_and_never_fresh(self, app, ops, proposal_id, proved, told):
        form = ops.form(proposal_id)
        proved["at"] = told
        assert ops.submit("approve", proposal_id, form).status_code == 500
        assert nothing_happened(app, proposal_id)

    def test_the_setting_without_a_function_stops_the_app(self, tmp_path):
        with pytest.raises(ConfigurationError, match=r"@litro\.authenticated_at"):
            proposal_site(tmp_path / "other", LITRO_APPROVAL_FRESHNESS=300)

    def test_registering_it_too_late_is_an_error(self, app):
        litro = LitroAgent()
        litro._initialised = True
        with pytest.raises(ConfigurationError, match="authenticated_at was registered after init_app"):
            litro.authenticated_at(lambda: session.get("at"))


@pytest.mark.parametrize("letter", ["a", "\u6f22", "\U0001f600"])
def test_the_longest_note_fits_into_a_form_whatever_it_is_written_in(app, proposal_id, card, letter):
    assert card.press("Dismiss", note=letter * 2000).status == 303
    assert app.extensions["litro_agent"].books.ledger.get(proposal_id).note == letter * 2000


def test_no_character_of_a_tools_words_stays_unseen_in_a_refusal(app, ops, proposal_id, card, monkeypatch):
    def raises(*args, **more):
        raise AgentError("order of M\u202eallory", status=409)

    monkeypatch.setattr(app.extensions["litro_agent"].gate, "approve", raises)
    page = card.press("Approve")
    assert page.status == 409
    assert "\u202e" not in page.html
    assert "M\\u202eallory" in page.text
