"""signals.py, notices/signalling.py: the site's code is told after the fact, from every path, and decides nothing."""

from __future__ import annotations

import dataclasses
import logging
import sqlite3
import threading
from pathlib import Path

import pytest
from flask import current_app, g, has_request_context
from sqlalchemy import update

from flask_litro_agent import (
    Actor,
    LitroAgent,
    ProposalFacts,
    ceiling_changed,
    proposal_recorded,
    proposal_settled,
    turn_ended,
)
from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.core import tables
from flask_litro_agent.core.ceiling import Level
from flask_litro_agent.core.proposals import State
from tests.asking import delete, post, rounds
from tests.bench import here, until
from tests.hearing import connected, hearing
from tests.proposal_site import EVE, Browser, proposal_site

DIGESTS = ("digest", "args_digest", "contract_digest", "claim_id", "call_id", "session_key", "claimant")


@pytest.fixture
def app(tmp_path):
    return proposal_site(tmp_path)


@pytest.fixture
def ear(app):
    with hearing(app) as ear:
        yield ear


@pytest.fixture
def eve(app):
    return Browser(app, "eve")


@pytest.fixture
def ops(app):
    return Browser(app)


def ledger(app):
    return app.extensions["litro_agent"].books.ledger


def state(app, proposal_id):
    return ledger(app).get(proposal_id).state


def change(app, proposal_id, **values):
    statement = update(tables.proposal).where(tables.proposal.c.id == proposal_id).values(**values)
    app.extensions["litro_agent"].books.database.write(
        lambda connection: connection.execute(statement).close()
    )


# --- what is told, and when ---


def test_a_new_proposal_is_told_of_with_what_its_card_shows(ear, eve):
    proposal_id = eve.ask(order=7)["proposal_id"]
    (told,) = ear.proposals("recorded")
    until(lambda: ear.of("turn"))
    assert told == ProposalFacts(
        id=proposal_id,
        agent="desk",
        owner="eve",
        session="s1",
        turn_id=ear.of("turn")[0]["turn"].turn_id,
        tool="refund",
        mode="propose",
        permission="refunds:edit",
        proposer="eve",
        summary="refund(order: 7)",
        arguments='{"order":7}',
        four_eyes=False,
        created_at=told.created_at,
        expires_at=told.created_at + 300_000,
        state="proposed",
        url=None,
        **dict.fromkeys(
            (
                "outcome",
                "truth",
                "reason",
                "decided_by",
                "note",
                "settled_at",
                "error_id",
                "made_from",
                "relation",
            )
        ),
    )


def test_the_url_leads_to_the_card(tmp_path):
    app = proposal_site(
        tmp_path, LITRO_EXTERNAL_URL="https://shop.example/", LITRO_ADMIN_PREFIX="/back/office"
    )
    with hearing(app) as ear:
        proposal_id = Browser(app, "eve").ask()["proposal_id"]
    assert ear.proposals("recorded")[0].url == f"https://shop.example/back/office/proposals/{proposal_id}"


def test_a_site_that_closed_the_pages_has_no_url(tmp_path):
    app = proposal_site(tmp_path, LITRO_EXTERNAL_URL="https://shop.example", LITRO_ADMIN_PREFIX=None)
    with hearing(app) as ear:
        Browser(app, "eve").ask()
    assert ear.proposals("recorded")[0].url is None


def test_an_open_twin_is_no_new_proposal(ear, eve):
    eve.ask()
    for session in ("s1", "s2"):
        text = rounds([["call", "refund", {"order": 1}]])
        post(eve.client, text, actor="eve", session=session).get_data()
    assert len(ear.proposals("recorded")) == 1


@pytest.mark.parametrize(
    ("order", "expected"), [(1, ("executed", "ok")), (0, ("executed", "failed"))], ids=["ok", "failed"]
)
def test_how_an_approved_one_ended_is_told_once(ear, eve, ops, order, expected):
    ops.decide("approve", eve.ask(order=order)["proposal_id"])
    (told,) = ear.proposals("settled")
    assert (told.state, told.outcome) == expected
    assert told.decided_by == "ops"
    assert told.settled_at >= told.created_at


def test_an_unknown_outcome_is_told_once_somebody_has_answered(ear, eve, ops):
    proposal_id = eve.ask(order=13)["proposal_id"]
    ops.decide("approve", proposal_id)
    assert ear.proposals("settled") == []  # nothing happened that could be told: nobody knows
    ops.decide("answer", proposal_id, happened="yes", note="seen at the bank")
    (told,) = ear.proposals("settled")
    assert (told.state, told.outcome, told.truth, told.note) == (
        "executed",
        "ok",
        "operator",
        "seen at the bank",
    )


def test_a_dismissal_is_told_with_its_note(ear, eve, ops):
    ops.decide("dismiss", eve.ask()["proposal_id"], note="too much")
    (told,) = ear.proposals("settled")
    assert (told.state, told.note, told.decided_by) == ("dismissed", "too much", "ops")


def test_a_failed_check_tells_the_void(app, ear, eve, ops):
    proposal_id = eve.ask()["proposal_id"]
    app.extensions["people"]["eve"] = Actor("eve", "Eve")
    ops.decide("approve", proposal_id)
    (told,) = ear.proposals("settled")
    assert (told.state, told.reason) == ("void", "proposer_forbidden")


def test_deleting_a_session_tells_what_it_makes_void(ear, eve):
    eve.ask(order=1)
    eve.ask("charge", order=2)
    assert delete(eve.client, actor="eve").status_code == 204
    assert [told.reason for told in ear.proposals("settled")] == ["session_deleted"] * 2


def test_handing_a_session_over_tells_what_it_makes_void(tmp_path):
    app = proposal_site(tmp_path)
    visitor = Actor("visitor:" + "a" * 22, "Visitor", frozenset({"refunds:edit"}))
    text = rounds([["call", "refund", {"order": 1}]])
    key = SessionKey("desk", visitor.id, "s1")
    app.extensions["litro_agent"].start(key, text, actor=visitor, origin="test", spawn=here)
    with hearing(app) as ear, app.test_request_context():
        assert LitroAgent().hand_over(visitor.id, EVE) == 1
    assert [told.reason for told in ear.proposals("settled")] == ["session_moved"]


def test_what_was_refused_is_not_told(ear, eve, ops):
    proposal_id = eve.ask()["proposal_id"]
    ops.decide("dismiss", proposal_id, digest="0" * 64)
    ops.decide("answer", proposal_id, happened="yes")
    eve.decide("dismiss", proposal_id)
    assert ear.proposals("settled") == []


def test_an_expiry_is_derived_and_told_by_nobody(app, ear, eve, ops):
    proposal_id = eve.ask()["proposal_id"]
    change(app, proposal_id, created_at=1)
    assert state(app, proposal_id) is State.EXPIRED
    ops.get(proposal_id)
    ops.decide("dismiss", proposal_id)
    post(eve.client, rounds(), actor="eve").get_data()
    assert ear.proposals("settled") == []


def test_the_terminal_tells_as_the_pages_do(app, ear, eve):
    proposal_id = eve.ask()["proposal_id"]
    litro = app.test_cli_runner()
    assert litro.invoke(args=["litro", "dismiss", proposal_id, "--as", "ops"]).exit_code == 0
    assert litro.invoke(args=["litro", "ceiling", "set", "agent:desk", "read"]).exit_code == 0
    assert [told.state for told in ear.proposals("settled")] == ["dismissed"]
    (changed,) = ear.of("ceiling")
    assert changed["by"].startswith("cli:")
    assert (changed["scope"], changed["before"], changed["after"]) == ("agent:desk", None, "read")


def test_a_ceiling_that_stays_is_not_told_of(app, ear):
    ceiling = app.extensions["litro_agent"].books.ceiling
    for level in (Level.READ, Level.READ, Level.OFF):
        ceiling.set("site", level, by="ola")
    ceiling.clear("site", by="ola")
    assert [(told["before"], told["after"]) for told in ear.of("ceiling")] == [
        (None, "read"),
        ("read", "off"),
        ("off", None),
    ]


def test_a_turns_end_is_told_with_what_it_used(ear, eve):
    text = rounds([["usage", 3, 5], ["call", "refund", {"order": 1}]], [["usage", 4, 6], ["say", "done"]])
    post(eve.client, text, actor="eve").get_data()
    (told,) = (values["turn"] for values in until(lambda: ear.of("turn")))
    assert (told.agent, told.owner, told.session, told.actor) == ("desk", "eve", "s1", "eve")
    assert (told.reason, told.model, told.input_tokens, told.output_tokens) == ("finished", "puppet-1", 7, 11)


# --- after the fact ---


def stored(folder):
    connection = sqlite3.connect(Path(folder, "instance", "litro", "ledger.db"))
    try:
        return [row[0] for row in connection.execute("SELECT state FROM litro_proposal")]
    finally:
        connection.close()


def test_whoever_is_told_finds_it_committed(tmp_path, app, eve, ops):
    """Another connection sees it: a receiver that sent a mail before a rollback would have lied."""
    seen = []
    look = lambda sender, **values: seen.append(stored(tmp_path))  # noqa: E731
    with connected(proposal_recorded, app, look), connected(proposal_settled, app, look):
        ops.decide("approve", eve.ask()["proposal_id"])
    assert seen == [["proposed"], ["executed"]]


# --- where a receiver runs ---


def test_a_receiver_has_an_app_context_of_its_own_and_no_request(app, eve, ops):
    """Whichever thread it is: the operator's request is not the receiver's to read."""
    found = []

    def look(sender, **values):
        found.append((current_app._get_current_object() is app, has_request_context(), "mark" in g))
        g.mark = True

    signals = (proposal_recorded, proposal_settled, turn_ended)
    for signal in signals:
        signal.connect(look, sender=app)
    ops.decide("dismiss", eve.ask()["proposal_id"])
    ops.decide("approve", eve.ask(order=2)["proposal_id"])
    until(lambda: len(found) == 6)
    for signal in signals:
        signal.disconnect(look, sender=app)
    assert found == [(True, False, False)] * 6


def test_one_app_does_not_hear_another(tmp_path, app, ear):
    (tmp_path / "other").mkdir()
    other = proposal_site(tmp_path / "other")
    with hearing(other) as theirs:
        Browser(other, "eve").ask()
    assert [len(found.proposals("recorded")) for found in (ear, theirs)] == [0, 1]


def test_a_muted_signal_is_silent(ear, eve):
    with proposal_recorded.muted():
        eve.ask()
    assert ear.proposals("recorded") == []


# --- what a receiver is given ---


def test_what_a_receiver_is_given_lets_nobody_decide():
    names = {field.name for field in dataclasses.fields(ProposalFacts)}
    assert names.isdisjoint(DIGESTS)


def test_what_a_receiver_is_given_cannot_be_changed(ear, eve):
    eve.ask()
    told = ear.proposals("recorded")[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        told.state = "executed"
    assert all(isinstance(value, str | int | bool | None) for value in dataclasses.asdict(told).values())


def test_logging_the_value_logs_neither_arguments_nor_notes(ear, eve, ops):
    ops.decide("dismiss", eve.ask("charge", text="canary")["proposal_id"], note="kanarienvogel")
    said = repr(ear.proposals("settled")).replace(ear.proposals("settled")[0].summary, "")
    assert "canary" not in said
    assert "kanarienvogel" not in said


# --- no say in it ---


@pytest.mark.parametrize("error", [RuntimeError("canary"), SystemExit(3), GeneratorExit()], ids=repr)
def test_a_receiver_that_raises_changes_nothing_and_stops_no_other(app, eve, ops, error, caplog):
    def fail(sender, **values):
        raise error

    signals = (proposal_recorded, proposal_settled, ceiling_changed, turn_ended)
    for signal in signals:
        signal.connect(fail, sender=app)
    with hearing(app) as ear, caplog.at_level(logging.ERROR):
        answer = ops.decide("approve", eve.ask()["proposal_id"])
        app.extensions["litro_agent"].books.ceiling.set("site", Level.READ, by="ola")
        until(lambda: caplog.text.count("receiver test_a_receiver_that_raises") == 4)
    for signal in signals:
        signal.disconnect(fail, sender=app)
    assert answer.json["outcome"] == "ok"
    assert app.extensions["done"] == [("refund", 1)]
    assert {word for word, _ in ear.heard} == {"recorded", "turn", "settled", "ceiling"}


def test_a_receiver_that_raises_before_the_commit_would_have_stopped_it(app, eve, ops):
    """The control: the same raise inside the transaction does change the outcome."""
    books = app.extensions["litro_agent"].books
    append = books.audit.append

    def fail(*args, **values):
        append(*args, **values)
        raise RuntimeError("canary")

    proposal_id = eve.ask()["proposal_id"]
    books.audit.append = fail
    assert ops.decide("dismiss", proposal_id).status_code == 500
    assert state(app, proposal_id) is State.PROPOSED


def test_a_receiver_that_blocks_beyond_the_tools_time_does_not_make_the_outcome_unknown(tmp_path):
    app = proposal_site(tmp_path, LITRO_TOOL_SECONDS=0.3)
    eve, ops = Browser(app, "eve"), Browser(app)
    go = threading.Event()
    with connected(proposal_settled, app, lambda sender, **values: go.wait(20)):
        answer = ops.decide("approve", eve.ask()["proposal_id"])
        go.set()
    assert (answer.json["state"], answer.json["outcome"]) == ("executed", "ok")


def test_a_receiver_that_blocks_holds_up_its_own_request_alone(app, eve, ops):
    """What it is told of is in the ledger already, and everybody else goes on deciding."""
    first, second = (eve.ask(order=order)["proposal_id"] for order in (1, 2))
    entered, go, answers = threading.Event(), threading.Event(), []

    def block(sender, proposal, **values):
        if proposal.id == first:
            entered.set()
            go.wait(60)

    with connected(proposal_settled, app, block):
        thread = threading.Thread(target=lambda: answers.append(ops.decide("approve", first)))
        thread.start()
        try:
            assert entered.wait(20)
            assert state(app, first) is State.EXECUTED
            assert Browser(app, "two").decide("dismiss", second).json["state"] == "dismissed"
        finally:
            go.set()
            thread.join(20)
    assert [answer.json["outcome"] for answer in answers] == ["ok"]
    assert app.extensions["done"] == [("refund", 1)]


def test_an_async_receiver_is_named_in_the_log(app, eve, caplog):
    async def never(sender, **values): ...

    with connected(proposal_recorded, app, never):
        eve.ask()
    assert "which nobody awaits" in caplog.text


def test_a_receiver_may_ask_the_ledger(app, eve):
    """No transaction and no lock is held while it runs."""
    found = []
    with connected(
        proposal_recorded, app, lambda sender, proposal, **values: found.append(state(app, proposal.id))
    ):
        eve.ask()
    assert found == [State.PROPOSED]
