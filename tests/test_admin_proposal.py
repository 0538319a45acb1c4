"""The page of one proposal: how it stands, what can be done, and what happened."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core import standing
from flask_litro_agent.core.tables import audit, proposal
from tests.pages import Page, open_page
from tests.proposal_site import Browser, proposal_site

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


@pytest.fixture
def proposal_id(eve):
    return eve.ask(order=7)["proposal_id"]


def page(browser, proposal_id, query="") -> Page:
    return open_page(browser, f"/litro/proposals/{proposal_id}{query}")


def ledger(app):
    return app.extensions["litro_agent"].books.ledger


def change(app, table, condition, **values):
    statement = update(table).where(condition).values(**values)
    app.extensions["litro_agent"].books.database.write(lambda held: held.execute(statement).close())


def expire(app, proposal_id):
    change(app, proposal, proposal.c.id == proposal_id, created_at=proposal.c.created_at - TTL)


def test_an_open_one_shows_its_card_its_time_and_what_it_will_run(app, ops, proposal_id):
    found = page(ops, proposal_id)
    assert found.status == 200
    assert "4 minutes left" in found.text
    assert found.card(proposal_id).buttons == ["Approve", "Dismiss"]
    assert '{"order":7}' in found.text
    assert f"litro-{proposal_id}" in found.text
    assert "Proposed by Eve" in found.text


@pytest.mark.parametrize("name", ["p0", "..", "%00", "a" * 33, "'--", "%F0%9F%98%80", "p1%0a"])
def test_what_is_no_proposal_is_a_404_page(ops, name):
    found = page(ops, name)
    assert found.status in (404, 308)
    assert "Traceback" not in found.html


def test_an_executed_one_tells_who_approved_what_came_out_and_offers_the_reverse(app, ops, proposal_id):
    page(ops, proposal_id).card(proposal_id).press("Approve")
    found = page(ops, proposal_id, f"?decided={proposal_id}")
    assert found.title.startswith("Done:")
    assert "Approved by Olga" in found.text
    assert "Carried out" in found.text
    assert '"paid": 7' in found.text
    assert "Done" in found.notice
    assert found.card(proposal_id).buttons == ["Propose the reverse"]


def test_the_reverse_is_a_new_proposal_and_each_leads_to_the_other(app, ops, proposal_id):
    page(ops, proposal_id).card(proposal_id).press("Approve")
    answer = page(ops, proposal_id).card(proposal_id).press("Propose the reverse")
    made = open_page(ops, answer.location)
    (new,) = made.ids
    assert new != proposal_id
    assert "Its reverse is proposed" in made.notice
    assert "This is the reverse of" in made.text
    assert f"/litro/proposals/{proposal_id}" in made.html
    assert "Its reverse was proposed:" in page(ops, proposal_id).text
    assert f"/litro/proposals/{new}" in page(ops, proposal_id).html
    assert app.extensions["done"] == [("refund", 7)]


def test_what_it_was_made_from_may_be_gone(app, ops, proposal_id):
    change(app, proposal, proposal.c.id == proposal_id, made_from="p0", relation="again")
    assert "no longer in the ledger" in page(ops, proposal_id).text


def test_what_cannot_be_undone_offers_no_reverse(app, eve):
    two = Browser(app, "two")
    proposal_id = eve.ask("charge")["proposal_id"]
    page(two, proposal_id).card(proposal_id).press("Approve")
    found = page(two, proposal_id)
    assert found.card(proposal_id).buttons == []
    assert "Cannot be undone" in found.text


def test_a_dismissed_one_tells_the_note_and_can_be_proposed_again(app, ops, proposal_id):
    page(ops, proposal_id).card(proposal_id).press("Dismiss", note="a\u202eb <i>")
    found = page(ops, proposal_id)
    assert "Dismissed by Olga" in found.text
    assert "a\\u202eb <i>" in found.text
    assert "<i>" not in found.html
    assert found.card(proposal_id).buttons == ["Propose again"]


def test_an_expired_one_says_when_and_can_be_proposed_again(app, ops, proposal_id):
    expire(app, proposal_id)
    found = page(ops, proposal_id)
    assert "Expired: nobody decided in time" in found.text
    assert found.card(proposal_id).buttons == ["Propose again"]


def test_a_void_one_says_why_and_offers_nothing(app, ops, proposal_id):
    app.extensions["people"].pop("eve")
    answer = page(ops, proposal_id).card(proposal_id).press("Approve")
    assert answer.status == 409
    assert "Whoever proposed it is no longer known." in answer.text
    found = page(ops, proposal_id)
    assert "Void" in found.text
    assert found.card(proposal_id).buttons == []
    assert "eve" in found.text, "whom nobody knows any more is named by the id"


class TestUnknown:
    @pytest.fixture
    def lost(self, eve, ops):
        proposal_id = eve.ask(order=13)["proposal_id"]
        ops.decide("approve", proposal_id)
        return proposal_id

    def test_it_says_what_is_known_and_where_the_error_is(self, app, ops, lost):
        found = page(ops, lost)
        assert "nobody can say whether it happened" in found.text
        assert "Olga approved it at" in found.text
        assert ledger(app).get(lost).error_id in found.text
        assert "canary-secret" not in found.html

    def test_its_answer_and_who_gave_it_are_in_the_history(self, app, ops, lost):
        page(ops, lost).card(lost).press("It happened", note="the bank has it")
        found = page(ops, lost)
        assert "Answered by Olga Happened, as an operator said" in found.text
        assert "the bank has it" in found.text
        assert found.card(lost).buttons == ["Propose the reverse"]

    def test_one_whose_process_died_says_so_without_a_time(self, app, ops, proposal_id):
        books = app.extensions["litro_agent"].books
        row = ledger(app).get(proposal_id)
        assert ledger(app).claim(row.id, row.digest, operator_id="ops", epoch=0)
        old = -standing.DEAD_MS - 120_000
        change(app, proposal, proposal.c.id == row.id, claimant=None, claimed_at=proposal.c.claimed_at + old)
        found = page(ops, proposal_id)
        assert "whether it was started was never written down" in found.text
        assert "Its answer did not come" in found.text
        assert [row.kind for row in books.audit.about(row.id)] == ["approved"]

    def test_a_tool_that_can_ask_the_other_side_offers_it(self, tmp_path):
        app = proposal_site(tmp_path, reconciles=True)
        lost = Browser(app, "eve").ask(order=13)["proposal_id"]
        ops = Browser(app)
        ops.decide("approve", lost)
        card = page(ops, lost).card(lost)
        assert card.buttons == ["It happened", "It did not happen", "Ask the other side", "Propose again"]
        answer = card.press("Ask the other side")
        assert "Happened, as the other side said" in open_page(ops, answer.location).notice


def test_whoever_may_look_but_not_decide_sees_it_without_buttons(app, ops, proposal_id):
    app.extensions["people"]["ops"] = Actor("ops", "Olga", frozenset({"litro:admin"}))
    found = page(ops, proposal_id)
    assert found.status == 200
    assert found.card(proposal_id).buttons == []


@pytest.mark.parametrize("actor", ["eve", "bob"])
def test_its_owner_and_a_stranger_get_no_page_of_it(app, proposal_id, actor):
    found = page(Browser(app, actor), proposal_id)
    assert found.status == 403
    assert '"order"' not in found.html


def test_a_destroyed_audit_row_takes_nothing_else_from_the_page(app, ops, proposal_id):
    page(ops, proposal_id).card(proposal_id).press("Dismiss")
    change(app, audit, audit.c.subject == proposal_id, data=b"\xff")
    found = page(ops, proposal_id)
    assert found.status == 200
    assert "Dismissed by Olga" in found.text
