"""Who asked for a proposal, and in which words: from the session's log, and never worth more than the card."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from flask_litro_agent import Actor
from flask_litro_agent.core.visible import visible
from flask_litro_agent.errors import StoreError
from flask_litro_agent.web.admin.asked import Asked, Excerpt, Person, asked
from flask_litro_agent.web.admin.scenes import Scenes
from tests.asking import delete, events, post, rounds
from tests.proposal_site import OPS, Browser, proposal_site

NAMES = {"eve": "Eve", "ops": "Olga\u202e"}


@pytest.fixture
def site(tmp_path):
    return proposal_site(tmp_path)


def ask(site, *script, session="s1", actor="eve"):
    """Run a turn; return the proposals that it made."""
    found = events(post(site.test_client(), rounds(*script), session=session, actor=actor))
    made = [event["payload"]["proposal_id"] for event in found if event["kind"] == "proposal"]
    return [installed(site).books.ledger.get(each) for each in made]


def installed(site):
    return site.extensions["litro_agent"]


def who(site, proposal, *, store=None, links=False):
    with site.test_request_context():
        there = store or installed(site).store
        return asked(proposal, Scenes(there), name=lambda each: NAMES.get(each, each), links=links)


CALL = ["call", "refund", {"order": 1}]


def test_the_persons_message_and_the_agents_words_of_that_round_are_found(site):
    (proposal,) = ask(
        site, [["say", "I look."], ["call", "echo", {"value": 1}]], [["say", "I propose it."], CALL]
    )
    found = who(site, proposal)
    assert found.proposer == Person(visible("eve"), visible("Eve"))
    assert found.owner is None
    assert found.words.text.startswith('[[["say", "I look."]')
    assert found.said.text.strip() == "I propose it."
    assert found.missing is None


def test_what_was_said_in_an_earlier_round_or_turn_is_not_taken_for_it(site):
    ask(site, [["say", "An earlier turn."]])
    (proposal,) = ask(site, [["say", "An earlier round."], ["call", "echo", {"value": 1}]], [CALL])
    assert who(site, proposal).said is None
    assert "earlier turn" not in who(site, proposal).words.text


def test_every_call_of_a_round_has_its_words(site):
    script = [["say", "Both."], CALL, ["call", "charge", {"order": 2}]]
    assert [who(site, each).said.text.strip() for each in ask(site, script)] == ["Both.", "Both."]


def test_words_are_cut_and_said_to_be(site):
    (proposal,) = ask(site, [["say", "y" * 600], CALL])
    found = who(site, proposal)
    assert (len(found.said.text), found.said.is_cut) == (500, True)
    assert not found.words.is_cut
    (proposal,) = ask(site, [["say", "x" * 2000], ["call", "refund", {"order": 2}]])
    assert (len(who(site, proposal).words.text), who(site, proposal).words.is_cut) == (1000, True)


def test_words_are_shown_with_every_character(site):
    (proposal,) = ask(site, [["say", "a\u202eb"], CALL])
    assert who(site, proposal).said == Excerpt("a\\u202eb ", ("escaped",), False)


def test_names_are_shown_with_every_character(site):
    (proposal,) = ask(site, [CALL], actor="ops")
    assert who(site, proposal).proposer.name == visible("Olga\u202e")


def test_who_is_gone_is_shown_by_id(site):
    (proposal,) = ask(site, [CALL], actor="bob")
    assert who(site, proposal).proposer == Person(visible("bob"), visible("bob"))


def test_an_owner_who_is_somebody_else_is_shown_too(site):
    (proposal,) = ask(site, [CALL])
    Browser(site).decide("dismiss", proposal.id)
    again = installed(site).gate.repeat(proposal.id, OPS).proposal
    found = who(site, again)
    assert (found.proposer.name.text, found.owner.name.text) == ("Olga\\u202e", "Eve")
    assert found.missing == "by_hand"


def test_the_link_leads_to_the_message_on_a_page_that_has_it(site):
    site.extensions["people"]["adm"] = Actor("adm", "Ada", frozenset({"litro:admin"}))
    for _ in range(40):
        ask(site, *[[["call", "echo", {"value": 1}]]] * 4)
    (proposal,) = ask(site, [CALL])
    link = urlsplit(who(site, proposal, links=True).link)
    page = site.test_client().get(f"{link.path}?{link.query}", headers={"X-Actor": "adm"})
    assert page.status_code == 200
    assert f'id="{link.fragment}" class="event message user"' in page.text
    assert int(parse_qs(link.query)["from"][0]) > 300


def test_who_may_not_read_sessions_gets_no_link(site):
    (proposal,) = ask(site, [CALL])
    assert who(site, proposal).link is None


def test_a_deleted_session_takes_the_words_alone(site):
    (proposal,) = ask(site, [CALL])
    delete(site.test_client(), session="s1", actor="eve")
    assert who(site, proposal) == Asked(
        proposer=Person(visible("eve"), visible("Eve")), owner=None, missing="gone"
    )


def test_a_session_without_that_call_has_no_words_either(site):
    (proposal,) = ask(site, [CALL])
    assert who(site, replace(proposal, call_id="x")).missing == "gone"
    assert who(site, replace(proposal, session="never")).missing == "gone"


class Broken:
    def __init__(self, error):
        self.error = error

    def last_seq(self, key):
        raise self.error


@pytest.mark.parametrize("error", [StoreError("canary"), ZeroDivisionError()], ids=repr)
def test_a_store_that_fails_takes_the_words_alone_and_is_logged(site, caplog, error):
    (proposal,) = ask(site, [CALL])
    assert who(site, proposal, store=Broken(error)).missing == "away"
    assert "could not be read" in caplog.text
