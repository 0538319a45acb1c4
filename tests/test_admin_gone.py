"""What an open page still names and the site no longer has, deleted or pruned: a page says so, and nothing runs."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from flask_litro_agent.contracts import Actor, SessionKey
from flask_litro_agent.core.proposals import State
from flask_litro_agent.core.tables import proposal
from flask_litro_agent.installation import EXTENSION
from tests.asking import delete, eventually
from tests.pages import open_page
from tests.proposal_site import OPS, PROPOSALS, Browser, proposal_site

DAY = 86_400_000


@pytest.fixture
def app(tmp_path):
    app = proposal_site(tmp_path, LITRO_MAX_OPEN=100)
    app.extensions["people"]["ops"] = Actor("ops", "Olga", OPS.permissions | {"litro:admin"})
    return app


@pytest.fixture
def eve(app):
    return Browser(app, "eve")


@pytest.fixture
def ops(app):
    return Browser(app)


def ledger(app):
    return app.extensions[EXTENSION].books.ledger


def age(app, proposal_id, ms):
    statement = update(proposal).where(proposal.c.id == proposal_id)
    statement = statement.values(created_at=proposal.c.created_at - ms)
    app.extensions[EXTENSION].books.database.write(lambda held: held.execute(statement).close())


def prune(app):
    """Delete every row that is over, as the timer would after 180 days."""
    result = app.test_cli_runner().invoke(args=["litro", "prune", "--days", "0"])
    assert result.exit_code == 0, result.output


class TestDeletedSession:
    @pytest.fixture
    def proposal_id(self, eve):
        return eve.ask(order=7)["proposal_id"]

    @pytest.fixture
    def card(self, app, eve, ops, proposal_id):
        """The card on a page that was open when the session was deleted."""
        card = open_page(ops, "/litro/").card(proposal_id)
        assert delete(eve.client, session="s1", actor="eve").status_code == 204
        return card

    @pytest.mark.parametrize("button", ["Approve", "Dismiss"])
    def test_a_button_of_the_open_page_runs_nothing_and_says_why(self, app, proposal_id, card, button):
        page = card.press(button)
        assert (page.status, page.title) == (409, "Not any more")
        assert "Its session was deleted" in page.text
        assert app.extensions["done"] == []
        assert ledger(app).get(proposal_id).state is State.VOID

    def test_the_open_page_loaded_again_has_no_card_of_it(self, ops, proposal_id, card):
        assert open_page(ops, "/litro/").ids == []
        assert open_page(ops, f"/litro/proposals/{proposal_id}").card(proposal_id).buttons == []

    def test_the_link_to_the_conversation_is_a_page_that_says_so(self, ops, card):
        page = open_page(ops, "/litro/sessions/desk/s1?owner=eve")
        assert (page.status, page.title) == (404, "Not found")


class TestPruned:
    """The timer has run since the page was loaded."""

    @pytest.fixture
    def proposal_id(self, app, eve):
        proposal_id = eve.ask(order=7)["proposal_id"]
        age(app, proposal_id, 300_000)
        free(app)
        return proposal_id

    def test_a_button_of_the_open_page_finds_nothing_and_says_so(self, app, ops, proposal_id):
        card = open_page(ops, "/litro/").card(proposal_id)
        prune(app)
        page = card.press("Propose again")
        assert (page.status, page.title) == (404, "Not found")
        assert "there is no such proposal" in page.text
        assert app.extensions["done"] == []
        assert ledger(app).find(limit=1)[0] == []

    def test_control_before_it_the_button_proposes(self, ops, proposal_id):
        assert open_page(ops, "/litro/").card(proposal_id).press("Propose again").status == 303

    def test_the_way_back_of_a_decision_says_nothing_of_it(self, app, ops, eve):
        proposal_id = eve.ask()["proposal_id"]
        free(app)
        way = open_page(ops, "/litro/").card(proposal_id).press("Dismiss").location
        prune(app)
        page = open_page(ops, way)
        assert (page.status, page.notice, page.ids) == (200, "", [])

    @pytest.mark.parametrize("place", ["/litro/proposals/{}", PROPOSALS + "/{}"])
    def test_its_own_page_is_not_found(self, app, ops, proposal_id, place):
        prune(app)
        assert open_page(ops, place.format(proposal_id)).status == 404

    def test_the_next_page_of_an_open_ledger_goes_on_behind_the_row_that_is_gone(self, app, ops):
        parts = app.extensions[EXTENSION]
        for order in range(51):
            parts.gate.call("desk", "refund", {"order": order}, actor=OPS, origin="code")
        page = open_page(ops, "/litro/ledger")
        older = page.html.split('<a rel="next" href="')[1].split('"')[0].replace("&amp;", "&")
        for row in ledger(app).find(limit=50)[0]:
            age(app, row.id, DAY)
        prune(app)
        page = open_page(ops, older)
        assert page.status == 200
        assert "order: 0" in page.text

    def test_what_waits_stays_and_can_be_decided(self, app, ops, eve):
        proposal_id = eve.ask(order=7)["proposal_id"]
        card = open_page(ops, "/litro/").card(proposal_id)
        prune(app)
        assert card.press("Approve").status == 303
        assert app.extensions["done"] == [("refund", 7)]


def free(app):
    """Wait until the turn has given its lease back: a session in which somebody writes keeps its rows."""
    store = app.extensions[EXTENSION].store
    eventually(lambda: not store.is_leased(SessionKey("desk", "eve", "s1")))
