"""The decision routes: who may read and decide, by which form, and one sentence for everything that goes wrong."""

import json
import threading

import pytest
from flask_wtf import CSRFProtect
from sqlalchemy import create_engine, update

from flask_litro_agent.core.proposals import State
from flask_litro_agent.core.tables import proposal
from tests.asking import HEADER, delete, get, kinds, post, rounds, site
from tests.bench import in_background, until
from tests.proposal_site import EVE, FORM, PROPOSALS, Browser, log_of, proposal_site

HANDLED = "This proposal expired or was already handled"
CLOSED = """
from flask import abort, current_app

def access():
    if current_app.config.get("CLOSED"):
        abort(403)
"""
DECISIONS = ("approve", "dismiss", "answer", "reconcile", "again", "reverse")


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
    return eve.ask()["proposal_id"]


def done(app):
    return app.extensions["done"]


def ledger(app):
    return app.extensions["litro_agent"].books.ledger


def state(app, proposal_id):
    return ledger(app).get(proposal_id).state


def settled(app):
    return [event.payload for event in log_of(app) if event.kind == "proposal-settled"]


def nothing_happened(app, proposal_id):
    return state(app, proposal_id) is State.PROPOSED and done(app) == []


def age(app, proposal_id, ms):
    """Make a proposal that much older."""
    change(app, proposal_id, created_at=proposal.c.created_at - ms)


def change(app, proposal_id, **values):
    """Change a row behind the ledger's back."""
    statement = update(proposal).where(proposal.c.id == proposal_id).values(**values)
    app.extensions["litro_agent"].books.database.write(
        lambda connection: connection.execute(statement).close()
    )


class TestCard:
    def test_an_operator_reads_everything_that_would_run(self, ops, eve):
        card = ops.get(eve.ask(order=7)["proposal_id"]).json
        assert card["arguments"] == '{"order":7}'
        assert card["fields"] == {"order": "7"}
        assert (card["tool"], card["state"], card["proposer"]) == ("refund", "proposed", "eve")
        assert card["expires_at"] - card["created_at"] == 300_000
        assert len(card["digest"]) == 64
        assert card["csrf_token"]

    def test_its_numbers_are_text_that_no_browser_rounds(self, ops, eve):
        """E5."""
        card = ops.get(eve.ask(order=12345678901234567890)["proposal_id"]).json
        assert card["fields"]["order"] == "12345678901234567890"

    def test_it_says_the_same_for_people(self, ops, eve):
        card = ops.get(eve.ask(order=7, text="a\u202e")["proposal_id"]).json
        assert card["lines"] == [
            {"path": "/order", "name": "order", "kind": "number", "text": "7"},
            {"path": "/text", "name": "text", "kind": "text", "text": '"a\\u202e"', "marks": ["escaped"]},
        ]
        assert card["labels"] == {}

    def test_it_says_whether_it_can_be_undone(self, app, ops, eve):
        asked = [eve.ask(tool, order)["proposal_id"] for tool, order in (("refund", 1), ("charge", 2))]
        assert [ops.get(each).json["can_be_undone"] for each in asked] == [True, False]

    def test_nobody_knows_whether_the_change_of_a_tool_that_is_gone_can_be_undone(
        self, app, ops, proposal_id
    ):
        change(app, proposal_id, tool="withdrawn")
        assert ops.get(proposal_id).json["can_be_undone"] is None

    def test_its_owner_reads_it_without_what_is_the_operators(self, app, eve, ops, proposal_id):
        ops.decide("approve", proposal_id)
        card = eve.get(proposal_id).json
        assert card["state"] == "executed"
        assert not {"decided_by", "result", "error_id", "csrf_token"} & card.keys()
        assert ops.get(proposal_id).json["decided_by"] == "ops"

    @pytest.mark.parametrize("actor", ["bob", ""])
    def test_a_stranger_gets_the_404_of_an_unknown_one(self, app, proposal_id, actor):
        stranger = Browser(app, actor)
        assert stranger.get(proposal_id).status_code == 404
        assert stranger.get(proposal_id).data == stranger.get("p0").data

    @pytest.mark.parametrize("name", ["..", "%00", "a" * 33, "p1%0a", "%F0%9F%98%80", "'--"])
    def test_what_is_no_id_is_unknown(self, ops, name):
        assert ops.get(name).status_code in (404, 405)

    def test_head_has_no_body_and_decides_nothing(self, app, ops, proposal_id):
        answer = ops.client.head(f"{PROPOSALS}/{proposal_id}", headers={"X-Actor": "ops"})
        assert (answer.status_code, answer.data) == (200, b"")
        assert nothing_happened(app, proposal_id)

    def test_another_site_cannot_read_it(self, ops, proposal_id):
        assert ops.get(proposal_id, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403
        assert ops.get(proposal_id, Origin="https://evil.example").status_code == 403

    def test_every_answer_has_our_headers(self, ops, proposal_id):
        for answer in (ops.get(proposal_id), ops.get("p0"), ops.decide("approve", proposal_id)):
            assert answer.headers["Cache-Control"] == "no-store"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"


class TestApprove:
    def test_it_runs_once_and_the_session_is_told(self, app, ops, proposal_id):
        answer = ops.decide("approve", proposal_id)
        assert answer.status_code == 200
        assert (answer.json["state"], answer.json["outcome"]) == ("executed", "ok")
        assert answer.json["result"] == {"paid": 1}
        assert done(app) == [("refund", 1)]
        assert settled(app) == [{"proposal_id": proposal_id, "state": "executed"}]

    def test_a_plain_form_does_it_too_and_leads_to_the_card(self, app, ops, proposal_id):
        answer = ops.submit("approve", proposal_id, ops.form(proposal_id))
        assert answer.status_code == 303
        assert answer.headers["Location"] == f"{PROPOSALS}/{proposal_id}"
        assert done(app) == [("refund", 1)]

    def test_a_second_click_and_a_replayed_form_are_told_so(self, app, ops, proposal_id):
        """D2."""
        form = ops.form(proposal_id)
        ops.submit("approve", proposal_id, form)
        rows = list(app.extensions["litro_agent"].books.audit.rows())
        for _ in range(2):
            again = ops.submit("approve", proposal_id, form)
            assert (again.status_code, again.mimetype) == (409, "text/plain")
            assert again.text.strip() == HANDLED
        assert ops.decide("dismiss", proposal_id).json["message"] == HANDLED
        assert done(app) == [("refund", 1)]
        assert len(settled(app)) == 1
        assert list(app.extensions["litro_agent"].books.audit.rows()) == rows

    def test_two_clicks_at_once_run_it_once(self, app, ops, proposal_id):
        form, ready = ops.form(proposal_id), threading.Barrier(4)
        cookie = ops.client.get_cookie("session").value

        def click():
            browser = Browser(app)
            browser.client.set_cookie("session", cookie)
            ready.wait()
            return browser.submit("approve", proposal_id, form).status_code

        clicks = [in_background(click) for _ in range(4)]
        for thread, _ in clicks:
            thread.join(20)
        assert sorted(results[0] for _, results in clicks) == [303, 409, 409, 409]
        assert done(app) == [("refund", 1)]

    def test_after_its_time_it_is_refused(self, app, ops, proposal_id):
        age(app, proposal_id, 300_000)
        answer = ops.decide("approve", proposal_id)
        assert (answer.status_code, answer.json["message"]) == (409, HANDLED)
        assert done(app) == []
        assert settled(app) == []

    def test_another_digest_than_the_rows_is_refused_and_leaves_it_open(self, app, ops, proposal_id):
        """D11."""
        answer = ops.decide("approve", proposal_id, digest="0" * 64)
        assert answer.status_code == 409
        assert nothing_happened(app, proposal_id)

    def test_what_raised_is_unknown_and_the_session_hears_that(self, app, ops, eve):
        proposal_id = eve.ask(order=13)["proposal_id"]
        answer = ops.decide("approve", proposal_id)
        assert (answer.status_code, answer.json["state"]) == (200, "unknown")
        assert b"canary-secret" not in answer.data
        assert [payload["state"] for payload in settled(app)] == ["outcome_unknown"]
        assert ops.decide("approve", proposal_id).status_code == 409

    def test_what_surely_did_nothing_failed(self, app, ops, eve):
        answer = ops.decide("approve", eve.ask(order=0)["proposal_id"])
        assert answer.json["outcome"] == "failed"
        assert [payload["state"] for payload in settled(app)] == ["failed"]

    def test_a_check_that_makes_it_void_tells_the_session(self, app, ops, proposal_id):
        """D6."""
        app.extensions["people"].pop("eve")
        answer = ops.decide("approve", proposal_id)
        assert answer.status_code == 409
        assert "whoever proposed it" in answer.json["message"]
        assert [payload["state"] for payload in settled(app)] == ["void"]

    @pytest.mark.parametrize(
        "headers",
        [
            {}, {"Origin": "http://localhost"}, {"Referer": "http://localhost/litro/p1?x=1"},
            {"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost", "Referer": "http://localhost/"},
        ],
    )  # fmt: skip
    def test_our_own_page_is_let_through(self, app, ops, proposal_id, headers):
        assert ops.submit("approve", proposal_id, ops.form(proposal_id), **headers).status_code == 303

    def test_the_answer_to_a_form_is_as_long_as_it_says(self, ops, proposal_id):
        """A client that reads it to its end would wait for the rest."""
        answer = ops.submit("approve", proposal_id, ops.form(proposal_id))
        assert answer.content_length == len(answer.data)


class TestWhoDecides:
    @pytest.mark.parametrize("what", ["approve", "dismiss"])
    def test_the_owner_alone_may_not(self, app, eve, ops, proposal_id, what):
        card = eve.get(proposal_id).json
        eve.actor = "ops"
        token = eve.token(proposal_id)
        eve.actor = "eve"
        answer = eve.decide(what, proposal_id, token=token, digest=card["digest"])
        assert answer.status_code == 403
        assert nothing_happened(app, proposal_id)

    @pytest.mark.parametrize("actor", ["bob", ""])
    def test_a_stranger_finds_nothing(self, app, ops, proposal_id, actor):
        form, token = ops.form(proposal_id), {"csrf_token": ops.token(proposal_id)}
        forms = {"approve": form, "dismiss": form, "answer": {**token, "happened": "yes"}}
        ops.actor = actor
        for what in DECISIONS:
            answer = ops.submit(what, proposal_id, forms.get(what, token))
            assert (answer.status_code, answer.text) == (404, "there is no such proposal\n")
        assert nothing_happened(app, proposal_id)

    def test_a_role_that_is_taken_away_between_page_and_click_is_gone(self, app, ops, proposal_id):
        """D7."""
        form = ops.form(proposal_id)
        app.extensions["people"]["ops"] = type(EVE)("ops", "Olga", frozenset({"refunds:edit"}))
        assert ops.submit("approve", proposal_id, form).status_code in (403, 404)
        assert nothing_happened(app, proposal_id)

    def test_the_tools_own_permission_is_needed_too(self, app, ops, proposal_id):
        app.extensions["people"]["ops"] = type(EVE)("ops", "Olga", frozenset({"litro:approve"}))
        assert ops.decide("approve", proposal_id).status_code == 403
        assert nothing_happened(app, proposal_id)

    def test_four_eyes_refuse_the_proposer_in_any_session_and_leave_it_to_another(self, app, ops):
        """D10."""
        proposal_id = ops.ask("charge", session="s9")["proposal_id"]
        assert ops.decide("approve", proposal_id).status_code == 403
        assert nothing_happened(app, proposal_id)
        assert Browser(app, "two").decide("approve", proposal_id).status_code == 200
        assert done(app) == [("charge", 1)]


class TestDismiss:
    def test_it_never_runs_and_the_note_is_told(self, app, ops, proposal_id):
        answer = ops.decide("dismiss", proposal_id, note="ask her first")
        assert (answer.status_code, answer.json["state"]) == (200, "dismissed")
        assert settled(app) == [{"proposal_id": proposal_id, "state": "dismissed", "note": "ask her first"}]
        assert ops.decide("approve", proposal_id).status_code == 409
        assert done(app) == []

    def test_a_form_may_leave_the_note_empty(self, app, ops, proposal_id):
        assert ops.submit("dismiss", proposal_id, ops.form(proposal_id, note="")).status_code == 303
        assert "note" not in settled(app)[0]

    def test_a_note_in_any_script_arrives_whole(self, app, ops, proposal_id):
        ops.submit("dismiss", proposal_id, ops.form(proposal_id, note="nein — później 明日 & <b>"))
        assert settled(app)[0]["note"] == "nein — później 明日 & <b>"

    def test_a_note_that_is_too_long_is_refused(self, app, ops, proposal_id):
        assert ops.decide("dismiss", proposal_id, note="x" * 2001).status_code == 400
        assert nothing_happened(app, proposal_id)


class TestSecondThoughts:
    @pytest.mark.parametrize(
        ("said", "outcome", "told"), [("yes", "ok", "executed"), ("no", "failed", "failed")]
    )
    def test_an_operator_says_how_an_unknown_one_ended(self, app, ops, eve, said, outcome, told):
        proposal_id = eve.ask(order=13)["proposal_id"]
        ops.decide("approve", proposal_id)
        answer = ops.decide("answer", proposal_id, happened=said, note="asked the bank")
        assert (answer.json["outcome"], answer.json["truth"]) == (outcome, "operator")
        assert [payload["state"] for payload in settled(app)] == ["outcome_unknown", told]
        assert ops.decide("answer", proposal_id, happened=said).status_code == 409

    @pytest.mark.parametrize("said", ["maybe", "", "true", "YES"])
    def test_only_yes_and_no_are_answers(self, app, ops, eve, said):
        proposal_id = eve.ask(order=13)["proposal_id"]
        ops.decide("approve", proposal_id)
        assert ops.decide("answer", proposal_id, happened=said).status_code == 400
        assert state(app, proposal_id) is State.UNKNOWN

    def test_an_open_one_has_no_outcome_to_answer_or_to_ask_for(self, app, ops, proposal_id):
        assert ops.decide("answer", proposal_id, happened="yes").status_code == 409
        assert ops.decide("reconcile", proposal_id).status_code == 409
        assert nothing_happened(app, proposal_id)

    def test_again_makes_a_new_row_that_waits_for_its_own_click(self, app, ops, proposal_id):
        ops.decide("dismiss", proposal_id)
        answer = ops.decide("again", proposal_id)
        if answer.status_code == 409:  # the same was dismissed a moment ago
            assert answer.json["message"].startswith("dismissed: ")
            age_dismissal(app, proposal_id)
            answer = ops.decide("again", proposal_id)
        assert answer.status_code == 201
        assert (answer.json["made_from"], answer.json["relation"]) == (proposal_id, "again")
        assert answer.json["id"] != proposal_id
        assert answer.json["arguments"] == '{"order":1}'
        assert done(app) == []
        assert ops.decide("approve", answer.json["id"]).status_code == 200

    @pytest.mark.parametrize("what", ["again", "reverse"])
    def test_who_may_not_use_the_agent_any_more_proposes_nothing_with_it(self, tmp_path, what):
        app = proposal_site(tmp_path, access=CLOSED)
        eve = Browser(app, "eve")
        proposal_id = eve.ask()["proposal_id"]
        ops = Browser(app)
        ops.client = eve.client  # one cookie jar: the token is of it
        ops.decide("approve" if what == "reverse" else "dismiss", proposal_id)
        token = ops.token(proposal_id)
        app.config["CLOSED"] = True
        assert eve.decide(what, proposal_id, token=token).status_code == 403
        assert len(ledger(app).find()[0]) == 1
        assert ops.decide(what, proposal_id).status_code == 201, "an operator is no guest of the agent"

    def test_an_open_one_is_not_proposed_again(self, app, ops, proposal_id):
        assert ops.decide("again", proposal_id).status_code == 409

    def test_reverse_proposes_the_inverse_of_what_was_done(self, app, ops, proposal_id):
        ops.decide("approve", proposal_id)
        answer = ops.decide("reverse", proposal_id)
        assert answer.status_code == 201
        assert (answer.json["tool"], answer.json["relation"]) == ("charge", "reverse")
        assert done(app) == [("refund", 1)]

    def test_a_form_leads_to_the_new_card(self, app, ops, proposal_id):
        age(app, proposal_id, 300_000)
        answer = ops.submit("again", proposal_id, {"csrf_token": ops.token(proposal_id)})
        assert answer.status_code == 303
        assert not answer.headers["Location"].endswith(proposal_id)

    def test_what_cannot_be_undone_says_so(self, app, eve):
        two = Browser(app, "two")
        proposal_id = eve.ask("charge")["proposal_id"]
        assert two.decide("approve", proposal_id).status_code == 200
        answer = two.decide("reverse", proposal_id)
        assert (answer.status_code, answer.json["message"]) == (409, "This cannot be undone")


def age_dismissal(app, proposal_id):
    statement = (
        update(proposal)
        .where(proposal.c.id == proposal_id)
        .values(settled_at=proposal.c.settled_at - 600_001)
    )
    app.extensions["litro_agent"].books.database.write(
        lambda connection: connection.execute(statement).close()
    )


class TestForm:
    """One site and one proposal for all: nothing happens to it."""

    @pytest.fixture(scope="class")
    @classmethod
    def app(cls, tmp_path_factory):
        return proposal_site(tmp_path_factory.mktemp("site"))

    @pytest.fixture(scope="class")
    @classmethod
    def proposal_id(cls, app):
        return Browser(app, "eve").ask()["proposal_id"]

    @pytest.mark.parametrize("what", DECISIONS)
    def test_without_a_token_nothing_happens(self, app, ops, proposal_id, what):
        for token in ("", "x" * 91):
            answer = ops.decide(what, proposal_id, token=token)
            assert answer.status_code == 400
            assert "token" in answer.json["message"]
        answer = ops.submit(what, proposal_id, {"digest": "0" * 64})
        assert (answer.status_code, answer.mimetype) == (400, "text/plain")
        assert answer.text.count("\n") == 1
        assert nothing_happened(app, proposal_id)

    def test_a_token_of_another_browser_is_none(self, app, ops, proposal_id):
        assert ops.decide("approve", proposal_id, token=Browser(app).token(proposal_id)).status_code == 400
        assert nothing_happened(app, proposal_id)

    def test_a_token_is_asked_for_where_the_sites_own_forms_need_none(self, tmp_path):
        app = proposal_site(tmp_path, WTF_CSRF_ENABLED=False)
        proposal_id = Browser(app, "eve").ask()["proposal_id"]
        assert Browser(app).decide("approve", proposal_id, token="").status_code == 400
        assert Browser(app).decide("approve", proposal_id).status_code == 200

    def test_a_token_that_is_too_old_is_refused(self, tmp_path):
        app = proposal_site(tmp_path, WTF_CSRF_TIME_LIMIT=-1)
        proposal_id = Browser(app, "eve").ask()["proposal_id"]
        answer = Browser(app).decide("approve", proposal_id)
        assert answer.status_code == 400
        assert "too old" in answer.json["message"]

    @pytest.mark.parametrize("what", ["approve", "dismiss"])
    def test_without_a_digest_nothing_happens(self, app, ops, proposal_id, what):
        form = {"csrf_token": ops.token(proposal_id)}
        answer = ops.submit(what, proposal_id, form)
        assert (answer.status_code, answer.text) == (400, "the form has no digest: load the proposal again\n")
        assert nothing_happened(app, proposal_id)

    def test_a_body_that_is_too_large_is_refused(self, app, ops, proposal_id):
        answer = ops.submit("dismiss", proposal_id, ops.form(proposal_id, note="x" * 40_000))
        assert (answer.status_code, answer.mimetype) == (413, "text/plain")
        assert ops.decide("dismiss", proposal_id, note="x" * 40_000).status_code == 413
        assert nothing_happened(app, proposal_id)

    @pytest.mark.parametrize(
        "mimetype",
        ["text/plain", "multipart/form-data", "application/jsonx", "text/plain; application/json", ""],
    )
    def test_another_type_of_body_is_refused(self, app, ops, proposal_id, mimetype):
        """B1."""
        body = json.dumps({"digest": ops.get(proposal_id).json["digest"]})
        answer = ops.client.post(
            f"{PROPOSALS}/{proposal_id}/approve", data=body, content_type=mimetype,
            headers={"X-Actor": "ops", "X-CSRFToken": ops.token(proposal_id)},
        )  # fmt: skip
        assert answer.status_code in (400, 415)
        assert nothing_happened(app, proposal_id)

    @pytest.mark.parametrize(
        "body",
        [b"", b"[]", b"null", b'{"digest": NaN}', b'{"digest": 1}', b'{"digest": ["a"]}',
         b'{"digest": "a", "digest": "a"}', b'{"digest": "\\ud800"}', b'{"digest": "a', b"\xff", b"[" * 10_000,
         b'{"digest": "a", "approved": "yes"}'],
    )  # fmt: skip
    def test_json_that_is_not_two_texts_is_refused(self, app, ops, proposal_id, body):
        """B2, B4, B7."""
        answer = ops.client.post(
            f"{PROPOSALS}/{proposal_id}/approve", data=body, content_type="application/json",
            headers={"X-Actor": "ops", "X-CSRFToken": ops.token(proposal_id)},
        )  # fmt: skip
        assert answer.status_code == 400
        assert nothing_happened(app, proposal_id)

    @pytest.mark.parametrize(
        "more",
        ["&digest=b", "&approved=yes", "&user=ops", "&" + "&".join(f"f{n}=1" for n in range(60)),
         "&note=%FF", "&note=%00", "&\xe4=1", "&a"],
    )  # fmt: skip
    def test_a_form_with_anything_else_is_refused(self, app, ops, proposal_id, more):
        form = ops.form(proposal_id)
        body = f"csrf_token={form['csrf_token']}&digest={form['digest']}{more}".encode("latin-1")
        answer = ops.client.post(
            f"{PROPOSALS}/{proposal_id}/dismiss", data=body, content_type=FORM, headers={"X-Actor": "ops"}
        )
        assert answer.status_code == 400
        assert nothing_happened(app, proposal_id)


class TestGates:
    """One site and one proposal for all: nothing happens to it."""

    @pytest.fixture(scope="class")
    @classmethod
    def app(cls, tmp_path_factory):
        return proposal_site(tmp_path_factory.mktemp("site"))

    @pytest.fixture(scope="class")
    @classmethod
    def proposal_id(cls, app):
        return Browser(app, "eve").ask()["proposal_id"]

    @pytest.mark.parametrize(
        "headers",
        [
            {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "null"}, {"Origin": ""},
            {"Origin": "https://evil.example"}, {"Origin": "http://localhost.evil.example"},
            {"Referer": "https://evil.example/page"}, {"Referer": "http://localhost@evil.example/"},
            {"Referer": "http://evil.example/?http://localhost/"}, {"Referer": ""}, {"Referer": "about:blank"},
            {"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"},
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("what", ["approve", "dismiss"])
    def test_a_right_token_from_a_foreign_page_is_refused(self, app, ops, proposal_id, headers, what):
        """A15: the form's token leaked, say."""
        assert ops.submit(what, proposal_id, ops.form(proposal_id), **headers).status_code == 403
        assert nothing_happened(app, proposal_id)

    @pytest.mark.parametrize("what", DECISIONS)
    @pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
    def test_only_a_post_decides(self, app, ops, proposal_id, what, method):
        card = ops.get(proposal_id).json
        answer = ops.client.open(
            f"{PROPOSALS}/{proposal_id}/{what}?digest={card['digest']}&csrf_token={card['csrf_token']}",
            method=method, headers={"X-Actor": "ops", "X-CSRFToken": card["csrf_token"], **HEADER},
        )  # fmt: skip
        assert answer.status_code == (200 if method == "OPTIONS" else 405)
        assert nothing_happened(app, proposal_id)

    def test_no_header_turns_a_post_into_another_method(self, app, ops, proposal_id):
        card = ops.get(proposal_id).json
        answer = ops.client.post(
            f"{PROPOSALS}/{proposal_id}",
            headers={"X-Actor": "ops", "X-HTTP-Method-Override": "GET", "X-CSRFToken": card["csrf_token"]},
        )
        assert answer.status_code == 405


@pytest.mark.parametrize("order", ["before", "after"])
def test_a_sites_csrf_protection_stays_out_of_it(tmp_path, order):
    extensions = [CSRFProtect(), "litro"]
    app = proposal_site(tmp_path, extensions=extensions if order == "before" else extensions[::-1])
    app.post("/order", endpoint="order")(lambda: "ordered")
    proposal_id = Browser(app, "eve").ask()["proposal_id"]
    ops = Browser(app)
    assert ops.submit("approve", proposal_id, {"digest": "0" * 64}).status_code == 400
    assert ops.decide("approve", proposal_id).status_code == 200
    assert ops.client.post("/order").status_code == 400


class TestFaults:
    def test_a_database_that_is_away_is_one_sentence(self, app, ops, proposal_id, monkeypatch):
        form = ops.form(proposal_id)
        monkeypatch.setattr(app.extensions["litro_agent"].books.database, "_given", away())
        for answer in (ops.submit("approve", proposal_id, form), ops.submit("dismiss", proposal_id, form)):
            assert (answer.status_code, answer.mimetype) == (503, "text/plain")
            assert answer.text.count("\n") == 1
            assert "sqlite" not in answer.text.lower()
        assert ops.get(proposal_id).status_code == 503
        monkeypatch.undo()
        assert nothing_happened(app, proposal_id)
        assert ops.submit("approve", proposal_id, form).status_code == 303

    def test_a_session_log_that_fails_does_not_change_the_answer(self, app, ops, proposal_id, monkeypatch):
        store = app.extensions["litro_agent"].store

        def full(*arguments):
            raise OSError(28, "no space left on device")

        monkeypatch.setattr(store, "append", full)
        answer = ops.decide("approve", proposal_id)
        assert (answer.status_code, answer.json["state"]) == (200, "executed")
        monkeypatch.undo()
        assert settled(app) == []
        Browser(app, "eve").ask(order=2)
        assert [payload["state"] for payload in settled(app)] == ["executed"]

    def test_a_site_without_write_tools_has_no_proposals(self, tmp_path):
        client = site(tmp_path).test_client()
        assert client.get(f"{PROPOSALS}/p1", headers={"X-Actor": "ann"}).status_code == 404


def away():
    return create_engine("sqlite:////nowhere/at/all.db")


class TestSession:
    def test_deleting_the_session_closes_its_proposals(self, app, eve, ops, proposal_id):
        form = ops.form(proposal_id)
        assert delete(eve.client, actor="eve").status_code == 204
        assert state(app, proposal_id) is State.VOID
        assert ops.submit("approve", proposal_id, form).status_code == 409
        assert done(app) == []

    def test_a_reader_that_follows_sees_the_decision(self, app, eve, ops, proposal_id):
        answer = get(eve.client, actor="eve", query="?follow=1")
        ops.decide("dismiss", proposal_id)
        lines = iter(answer.response)
        until(lambda: b'"kind":"proposal-settled"' in next(lines))
        answer.close()

    def test_an_agent_that_did_not_ask_for_it_is_not_woken(self, app, ops, proposal_id):
        ops.decide("approve", proposal_id)
        assert [event.kind for event in log_of(app)][-2:] == ["turn-end", "proposal-settled"]

    def test_the_owners_replay_is_told_neither_who_nor_what_came_out(self, app, eve, ops, proposal_id):
        ops.decide("approve", proposal_id)
        replay = get(eve.client, actor="eve")
        assert kinds(replay)[-1] == "proposal-settled"
        assert b"Olga" not in replay.data
        assert b'"ops"' not in replay.data
        assert b'"paid"' not in replay.data


class TestWake:
    @pytest.fixture
    def app(self, tmp_path):
        return proposal_site(tmp_path, wakes=True)

    @pytest.mark.parametrize("what", ["approve", "dismiss"])
    def test_a_decision_begins_a_turn_that_a_following_reader_sees(self, app, eve, ops, proposal_id, what):
        answer = get(eve.client, actor="eve", query="?follow=1")
        assert ops.decide(what, proposal_id).status_code == 200
        read, lines = [], iter(answer.response)

        def has_ended():
            read.append(next(lines))
            return b"".join(read).count(b'"kind":"turn-end"') == 2

        until(has_ended)
        answer.close()
        woken = b"".join(read).split(b'"kind":"turn-end"')[1]
        assert b'"kind":"proposal-settled"' in woken
        assert b'"role":"user"' not in woken

    def test_it_runs_as_the_owner_as_he_is_now(self, app, ops, proposal_id):
        ops.decide("dismiss", proposal_id)
        until(lambda: [event.kind for event in log_of(app)].count("turn-end") == 2)
        store = app.extensions["litro_agent"].store
        (key,) = {info.key for info in store.list("eve")[0]}
        starts = [entry for entry in store.read(key) if entry.kind == "turn-start"]
        assert json.loads(starts[1].private)["actor"]["id"] == "eve"

    def test_an_owner_who_is_gone_is_not_woken_and_the_log_is_told(self, app, ops, proposal_id, caplog):
        app.extensions["people"].pop("eve")
        ops.decide("dismiss", proposal_id)
        assert [event.kind for event in log_of(app)].count("turn-start") == 1
        assert len(settled(app)) == 1
        assert "was not woken" not in caplog.text  # that is no fault

    def test_a_loader_that_raises_does_not_change_the_answer(self, app, ops, proposal_id):
        class Broken(dict):
            def get(self, name, default=None):
                if name == "eve":
                    raise RuntimeError("canary-secret")
                return super().get(name, default)

        identity = app.extensions["litro_agent"].identity
        identity._actor_loader = Broken(app.extensions["people"]).get
        answer = ops.decide("dismiss", proposal_id)
        assert answer.status_code == 200
        assert len(settled(app)) == 1

    def test_only_the_session_that_it_came_from_is_woken_and_every_other_is_told(
        self, app, eve, ops, proposal_id
    ):
        post(eve.client, rounds([["call", "refund", {"order": 1}]]), session="s2", actor="eve")
        assert ops.decide("approve", proposal_id).status_code == 200
        settled = {"proposal_id": proposal_id, "state": "executed"}
        until(lambda: [event.kind for event in log_of(app)].count("turn-end") == 2)
        assert [each.payload for each in log_of(app) if each.kind == "proposal-settled"] == [settled]
        found = log_of(app, session="s2")
        assert (found[-1].kind, found[-1].payload) == ("proposal-settled", settled)
        assert [event.kind for event in found].count("turn-start") == 1

    def test_a_refused_decision_wakes_nobody(self, app, ops, proposal_id):
        age(app, proposal_id, 300_000)
        assert ops.decide("approve", proposal_id).status_code == 409
        assert [event.kind for event in log_of(app)].count("turn-start") == 1
