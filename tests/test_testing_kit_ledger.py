"""The test kit's proposals: decided by the real view, in the test's own thread, and told to the session."""

from __future__ import annotations

import threading

import pytest
from flask import has_request_context

from flask_litro_agent import Actor, LitroAgent, events
from flask_litro_agent.errors import BadRequest, Forbidden, NotFound, ProposalClosed
from flask_litro_agent.testing import AgentClient, call, say
from tests.proposal_site import BOB, EVE, OPS, TWO, proposal_site
from tests.small_site import new_app, write_agent

OWNER = Actor("own", "Owen", frozenset({"refunds:edit", "litro:approve"}))


@pytest.fixture
def app(tmp_path):
    return proposal_site(tmp_path)


@pytest.fixture
def client(app):
    """Return a client whose agent has proposed to refund order 1."""
    return asking(app, call("refund", order=1))


def asking(app, *calls, actor=EVE, then=()):
    client = AgentClient(app, "desk", actor=actor, script=[list(calls), say("Proposed."), *then])
    client.send("please")
    return client


def settled(client):
    return [event.payload for event in client.events if event.kind == events.PROPOSAL_SETTLED]


def test_a_proposal_is_listed_and_nothing_has_happened(app, client):
    (proposal,) = client.proposals
    assert (proposal.state, proposal.tool, proposal.input) == ("proposed", "refund", {"order": 1})
    assert app.extensions["done"] == []


def test_the_result_of_a_proposal_is_what_the_model_got(app):
    client = AgentClient(app, "desk", actor=EVE, script=[call("refund", order=1), say("Proposed.")])
    (result,) = client.send("please").results
    assert (result["status"], result["proposal_id"]) == ("needs_approval", client.proposals[0].id)


def test_only_this_sessions_proposals_are_listed_oldest_first(app):
    both = asking(app, call("refund", order=1), call("refund", order=2))
    asking(app, call("refund", order=3))
    assert [proposal.input["order"] for proposal in both.proposals] == [1, 2]


def test_proposals_of_several_pages_are_listed(tmp_path):
    app = proposal_site(tmp_path, LITRO_MAX_OPEN=60, LITRO_MAX_CALLS=60)
    client = asking(app, *(call("refund", order=order) for order in range(1, 52)))
    assert [proposal.input["order"] for proposal in client.proposals] == list(range(1, 52))


def test_an_approval_runs_it_and_tells_the_session(app, client):
    done = client.approve(client.proposals[0], operator=OPS)
    assert (done.state, done.outcome, done.decided_by) == ("executed", "ok", "ops")
    assert app.extensions["done"] == [("refund", 1)]
    assert settled(client) == [{"proposal_id": done.id, "state": "executed"}]


def test_the_tool_runs_in_this_thread_without_a_request(tmp_path):
    where = []
    app = proposal_site(tmp_path)
    app.extensions["done"] = Noting(where)
    client = asking(app, call("refund", order=1))
    client.approve(client.proposals[0], operator=OPS)
    assert where == [(threading.get_ident(), False)]


class Noting(list):
    """What a tool appends to: it notes the thread, and whether there is a request."""

    def __init__(self, where):
        super().__init__()
        self.where = where

    def append(self, done):
        self.where.append((threading.get_ident(), has_request_context()))


def test_a_dismissal_runs_nothing_and_its_note_is_told(app, client):
    no = client.dismiss(client.proposals[0], operator=OPS, note="too much")
    assert (no.state, no.note) == ("dismissed", "too much")
    assert app.extensions["done"] == []
    assert settled(client) == [{"proposal_id": no.id, "state": "dismissed", "note": "too much"}]


def test_a_dismissal_needs_no_note(client):
    assert client.dismiss(client.proposals[0], operator=OPS).note is None


def test_a_second_decision_is_refused(client):
    (proposal,) = client.proposals
    client.approve(proposal, operator=OPS)
    with pytest.raises(ProposalClosed, match="already handled"):
        client.approve(proposal, operator=TWO)
    with pytest.raises(ProposalClosed, match="already handled"):
        client.dismiss(proposal, operator=TWO)
    assert len(settled(client)) == 1


def test_who_asked_may_not_approve_without_the_permission(app, client):
    with pytest.raises(Forbidden, match="litro:approve"):
        client.approve(client.proposals[0], operator=EVE)
    assert client.proposals[0].state == "proposed"


def test_a_stranger_finds_nothing(client):
    with pytest.raises(NotFound):
        client.approve(client.proposals[0], operator=BOB)


def test_an_operator_whom_the_site_does_not_know_decides_nothing(app, client):
    with pytest.raises(NotFound):
        client.approve(client.proposals[0], operator=OWNER)
    assert app.extensions["done"] == []


def test_four_eyes_hold(app):
    app.extensions["people"][OWNER.id] = OWNER
    client = asking(app, call("charge", order=1), actor=OWNER)
    with pytest.raises(Forbidden, match="four eyes"):
        client.approve(client.proposals[0], operator=OWNER)
    assert client.approve(client.proposals[0], operator=OPS).outcome == "ok"


def test_a_proposer_who_is_gone_makes_it_void_and_the_session_is_told(app, client):
    del app.extensions["people"][EVE.id]
    with pytest.raises(ProposalClosed, match="no longer known"):
        client.approve(client.proposals[0], operator=OPS)
    assert [payload["state"] for payload in settled(client)] == ["void"]


def test_an_unfit_note_is_refused_by_the_view(client):
    with pytest.raises(BadRequest, match="a note is a text"):
        client.dismiss(client.proposals[0], operator=OPS, note="x" * 2001)


def test_a_tool_that_is_certain_has_failed_and_one_that_raises_is_unknown(app):
    client = asking(app, call("refund", order=0), call("refund", order=13))
    nothing, crash = (client.approve(proposal, operator=OPS) for proposal in client.proposals)
    assert (nothing.state, nothing.outcome) == ("executed", "failed")
    assert crash.state == "unknown"
    assert [payload["state"] for payload in settled(client)] == ["failed", "outcome_unknown"]


def test_it_is_told_once(app):
    client = asking(app, call("refund", order=1), then=[say("It is done.")])
    client.approve(client.proposals[0], operator=OPS)
    turn = client.send("and?")
    assert (turn.text, turn.events[0].kind) == ("It is done.", "turn-start")
    assert len(settled(client)) == 1


def test_an_agent_that_asked_for_it_is_woken_with_the_script(tmp_path):
    client = asking(proposal_site(tmp_path, wakes=True), call("refund", order=1), then=[say("It is done.")])
    client.approve(client.proposals[0], operator=OPS)
    said = [event.payload["text"] for event in client.events if event.kind == events.MESSAGE]
    assert said[-1] == "It is done."
    assert client.events[-1].payload["reason"] == "finished"


def test_where_the_site_stands_is_nothing_to_the_kit(tmp_path):
    config = {"LITRO_HOSTS": ["shop.example"], "LITRO_TRUSTED_PROXIES": 1, "LITRO_URL_PREFIX": "/ai"}
    app = proposal_site(tmp_path, **config, WTF_CSRF_ENABLED=False)
    client = asking(app, call("refund", order=1))
    assert client.approve(client.proposals[0], operator=OPS).outcome == "ok"


def test_a_site_whose_tools_only_read_has_no_proposals(tmp_path, app, client):
    (tmp_path / "readers").mkdir()
    write_agent(tmp_path / "readers")
    reader = new_app(tmp_path / "readers")
    LitroAgent(reader)
    bare = AgentClient(reader, "demo")
    assert bare.proposals == []
    with pytest.raises(NotFound):
        bare.approve(client.proposals[0], operator=OPS)
