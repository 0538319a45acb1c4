"""The ceiling's page: what is in force and who said so, what a level takes away, and who may raise it."""

from __future__ import annotations

import time

import pytest
from flask import current_app
from sqlalchemy import update

from flask_litro_agent import Actor, LitroAgent
from flask_litro_agent.core.ceiling import Level
from flask_litro_agent.core.tables import audit, ceiling
from flask_litro_agent.installation import EXTENSION
from tests.asking import site
from tests.pages import open_page
from tests.proposal_site import Browser, proposal_site

ADA = Actor("ada", "Ada", frozenset({"litro:admin"}))
PATH = "/litro/ceiling"


@pytest.fixture
def app(tmp_path):
    made = proposal_site(tmp_path)
    made.extensions["people"]["ada"] = ADA
    return made


@pytest.fixture
def ada(app):
    return Browser(app, "ada")


def books(app):
    return app.extensions[EXTENSION].books


def form(browser, **fields):
    """Return the fields that the page's form for a scope would send."""
    page = open_page(browser, PATH)
    return {"csrf_token": token(page), "seen": seen(page), **fields}


def token(page):
    return page.html.split('name="csrf_token" value="')[1].split('"')[0]


def seen(page):
    return page.html.split('name="seen" value="')[1].split('"')[0]


def change(browser, scope, level, **more):
    return open_page(browser, PATH, form(browser, scope=scope, level=level) | more)


def after(browser, scope, level):
    """Change it, and return the page that the browser is led to."""
    answer = change(browser, scope, level)
    assert answer.status == 303, answer.text
    return open_page(browser, answer.location)


class TestWhatIsShown:
    def test_the_level_in_force_and_that_nobody_has_changed_it(self, ada):
        page = open_page(ada, PATH)
        assert page.status == 200
        assert "propose" in page.text
        assert "never changed here" in page.text
        assert "Nobody has changed it yet." in page.text

    def test_who_set_a_level_and_when(self, app, ada):
        books(app).ceiling.set("agent:desk", Level.READ, by="ada")
        page = open_page(ada, PATH)
        assert "Ada," in page.text
        assert "UTC" in page.text

    def test_what_an_agent_declares_for_itself(self, tmp_path):
        app = proposal_site(tmp_path, declares=", ceiling='read'")
        app.extensions["people"]["ada"] = ADA
        assert "its own file says read" in open_page(Browser(app, "ada"), PATH).text

    def test_what_would_vanish_is_listed_before_it_does(self, ada):
        page = open_page(ada, PATH)
        assert "vanishes now" in page.text
        assert "desk.charge" in page.text

    def test_who_changed_what_newest_first(self, app, ada):
        books(app).ceiling.set("site", Level.READ, by="ada")
        books(app).ceiling.set("agent:desk", Level.OFF, by="cli:root")
        books(app).ceiling.clear("site", by="ada")
        history = open_page(ada, PATH).text.split("Who changed it")[1]
        assert history.index("from the setting") < history.index("agent:desk") < history.rindex("site")
        assert "cli:root" in history

    def test_the_sites_own_level_falls_back_on_the_setting_and_the_others_are_inherited(self, ada):
        html = open_page(ada, PATH).html
        assert html.count(">from the setting</option>") == 1
        assert html.count(">inherited</option>") > 1

    def test_a_destroyed_row_of_the_history_stands_there_as_one(self, app, ada):
        books(app).ceiling.set("site", Level.READ, by="ada")
        books(app).database.write(lambda held: held.execute(update(audit).values(data=b"{")).close())
        page = open_page(ada, PATH)
        assert page.status == 200
        assert "Somebody wrote over row 1" in page.text

    def test_a_site_whose_tools_only_read_says_what_holds_there(self, tmp_path):
        app = site(tmp_path)
        app.extensions[EXTENSION].identity._request_loader = lambda: ADA
        app.extensions[EXTENSION].identity._actor_loader = lambda actor_id: ADA
        page = open_page(Browser(app, "ada"), PATH)
        assert page.status == 200
        assert "LITRO_CEILING and the agents' own files hold" in page.text
        assert "<select" not in page.html
        assert open_page(Browser(app, "ada"), PATH, {"scope": "site"}).status == 404


class TestChanging:
    def test_lowering_it_is_one_form_in_force_at_once_and_audited(self, app, ada):
        change(ada, "site", "read")
        assert books(app).ceiling.levels().site is Level.READ
        (row,) = books(app).audit.rows()
        assert (row.kind, row.actor, row.subject) == ("ceiling", "ada", "site")

    def test_the_page_after_it_names_what_vanished_and_says_the_same_when_it_is_loaded_again(self, ada):
        answer = change(ada, "site", "read")
        for _ in range(2):
            notice = open_page(ada, answer.location).html.split('role="status"')[1].split("</div>")[0]
            assert "Vanished from the agents" in notice
            assert "desk.refund" in notice
            assert "Ada" in notice

    def test_what_came_back_is_named_too(self, ada):
        change(ada, "site", "off")
        assert "The agents have again" in after(ada, "site", "propose").text

    def test_a_change_that_moves_no_tool_says_so(self, ada):
        change(ada, "site", "read")
        assert "No tool came or went by this." in after(ada, "agent:desk", "read").text

    def test_a_level_is_cleared_by_inherited(self, app, ada):
        change(ada, "tool:desk.refund", "off")
        page = after(ada, "tool:desk.refund", "inherited")
        assert books(app).ceiling.overview().stored == {}
        assert "The agents have again" in page.text

    def test_open_proposals_that_can_no_longer_be_approved_are_named(self, app, ada):
        Browser(app, "eve").ask(order=7)
        page = after(ada, "tool:desk.refund", "off")
        assert "1 open proposal cannot be approved under this ceiling" in page.text
        assert "refund(order: 7)" in page.text

    def test_the_level_of_a_tool_that_is_gone_is_listed_and_can_be_forgotten(self, app, ada):
        books(app).ceiling.set("agent:desk", Level.READ, by="ada")
        moved = update(ceiling).values(scope="agent:gone")
        books(app).database.write(lambda held: held.execute(moved).close())
        assert "agent:gone" in open_page(ada, PATH).text
        change(ada, "agent:gone", "inherited")
        assert "agent:gone" not in open_page(ada, PATH).text.split("Who changed it")[0]

    def test_a_double_click_lowers_it_twice_and_harms_nothing(self, app, ada):
        fields = form(ada, scope="site", level="read")
        assert [open_page(ada, PATH, fields).status for _ in range(2)] == [303, 303]
        assert books(app).ceiling.levels().site is Level.READ

    def test_a_number_in_the_way_that_is_no_change_says_nothing(self, app, ada):
        books(app).ceiling.set("site", Level.READ, by="ada")
        assert (
            'role="status"'
            not in open_page(ada, f"{PATH}?changed=99").html.split("<main")[1].split("</main")[0]
        )
        assert open_page(ada, f"{PATH}?changed=x").status == 400


class TestRaising:
    def test_a_page_that_is_older_than_a_colleagues_lowering_raises_nothing(self, app, ada):
        fields = form(ada, scope="site", level="execute")
        books(app).ceiling.set("site", Level.OFF, by="somebody")
        answer = open_page(ada, PATH, fields)
        assert answer.status == 409
        assert "load it again before you raise it" in answer.text
        assert books(app).ceiling.levels().site is Level.OFF

    def test_a_page_that_is_older_still_lowers(self, app, ada):
        fields = form(ada, scope="site", level="off")
        books(app).ceiling.set("site", Level.READ, by="somebody")
        assert open_page(ada, PATH, fields).status == 303
        assert books(app).ceiling.levels().site is Level.OFF

    @pytest.mark.parametrize(("age", "status"), [(30, 303), (300, 401)])
    def test_it_asks_for_a_fresh_sign_in_where_the_site_wants_one(self, tmp_path, age, status):
        app = fresh_site(tmp_path, age)
        ada = Browser(app, "ada")
        assert change(ada, "site", "execute").status == status
        assert books(app).ceiling.levels().site is (Level.EXECUTE if status == 303 else Level.PROPOSE)

    def test_lowering_never_asks_for_one(self, tmp_path):
        app = fresh_site(tmp_path, 300)
        assert change(Browser(app, "ada"), "site", "off").status == 303
        assert books(app).ceiling.levels().site is Level.OFF

    def test_clearing_a_level_that_held_something_back_raises_it(self, tmp_path):
        app = fresh_site(tmp_path, 300)
        books(app).ceiling.set("agent:desk", Level.OFF, by="somebody")
        assert change(Browser(app, "ada"), "agent:desk", "inherited").status == 401
        assert books(app).ceiling.levels().of("desk") is Level.OFF


class TestWhoMay:
    def test_somebody_who_only_approves_is_kept_out(self, app, ada):
        fields = form(ada, scope="site", level="off")
        ops = Browser(app, "ops")
        page = open_page(ops, PATH)
        assert (page.status, page.title) == (403, "Not allowed")
        assert open_page(ops, PATH, fields).status == 403
        assert books(app).ceiling.levels().site is Level.PROPOSE

    @pytest.mark.parametrize(
        "fields",
        [
            {"csrf_token": "forged"},
            {"csrf_token": ""},
            {"scope": "agent:nobody"},
            {"scope": ""},
            {"level": "admin"},
            {"level": ""},
            {"seen": "x"},
            {"seen": ""},
            {"seen": "9" * 99},
            {"more": "1"},
        ],
    )
    def test_a_form_that_cannot_be_changes_nothing(self, app, ada, fields):
        answer = open_page(ada, PATH, form(ada, scope="site", level="off") | fields)
        assert answer.status == 400
        assert books(app).ceiling.levels().site is Level.PROPOSE
        assert list(books(app).audit.rows()) == []

    @pytest.mark.parametrize("header", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}])
    def test_another_sites_page_changes_nothing(self, app, ada, header):
        answer = open_page(ada, PATH, form(ada, scope="site", level="off"), **header)
        assert answer.status == 403
        assert books(app).ceiling.levels().site is Level.PROPOSE


def fresh_site(folder, age):
    """Return a site that asks for a fresh sign-in, at which everybody signed in so many seconds ago."""
    app = proposal_site(folder, authenticated_at=lambda: time.time() - age, LITRO_APPROVAL_FRESHNESS=60)
    app.extensions["people"]["ada"] = ADA
    return app


def test_a_form_that_says_it_has_seen_a_change_that_is_still_to_come_changes_nothing(app, ada):
    fields = form(ada, scope="site", level="read")
    later = {**fields, "seen": str(int(fields["seen"]) + 1)}
    assert open_page(ada, PATH, later).status == 400
    assert books(app).ceiling.levels().site is Level.PROPOSE


def test_who_was_denied_it_since_he_signed_in_neither_sees_nor_sets_it(tmp_path):
    app = proposal_site(tmp_path, extensions=(signed_in_as(ADA),))
    app.extensions["people"]["ada"] = ADA
    ada = Browser(app, "ada")
    fields = form(ada, scope="site", level="read")
    app.extensions["people"]["ada"] = Actor("ada", "Ada", frozenset())
    assert open_page(ada, PATH).status == 403
    assert open_page(ada, PATH, fields).status == 403
    del app.extensions["people"]["ada"]
    assert open_page(ada, PATH, fields).status == 403
    assert books(app).ceiling.levels().site is Level.PROPOSE


def signed_in_as(actor):
    """Return an extension whose request loader keeps what it knew when the person signed in."""
    litro = LitroAgent()
    litro.request_loader(lambda: actor)
    litro.actor_loader(lambda actor_id: current_app.extensions["people"].get(actor_id))
    return litro
