"""A site's own templates, and what happens when one of them is broken."""

from __future__ import annotations

import threading

import pytest
from jinja2 import StrictUndefined

from flask_litro_agent import Actor
from flask_litro_agent.core.proposals import State
from tests.pages import open_page
from tests.proposal_site import OPS, PROPOSALS, Browser, proposal_site

OWN = {
    "wins": ("inbox.html", "<title>Ours</title><p>{{ board.total }} wait, {{ actor.name }}</p>"),
    "extends": (
        "inbox.html",
        '{% extends "litro_agent/admin/base.html" %}{% block main %}<h1>Ours</h1>{% endblock %}',
    ),
}
BROKEN = {
    "raises": "{{ board.nothing.at.all }}",
    "is no template": "{% block %}",
    "extends what is not there": '{% extends "litro_agent/admin/nothing.html" %}',
    "divides by zero": "{{ 1 // 0 }}",
    "knows no such page": "{{ url_for('litro_admin.no_such_page') }}",
}


@pytest.fixture
def app(tmp_path):
    return proposal_site(tmp_path)


def override(tmp_path, name, source):
    folder = tmp_path / "templates" / "litro_agent" / "admin"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(source)


@pytest.mark.parametrize("case", OWN)
def test_a_template_of_the_sites_wins_by_its_name(app, tmp_path, case):
    override(tmp_path, *OWN[case])
    page = open_page(Browser(app), "/litro/")
    assert page.status == 200
    assert "Ours" in page.html
    assert page.headers["Content-Security-Policy"]


def test_a_template_with_another_name_changes_nothing(app, tmp_path):
    override(tmp_path, "inbx.html", "ours")
    assert open_page(Browser(app), "/litro/").title == "Inbox"


@pytest.mark.parametrize("source", BROKEN.values(), ids=BROKEN)
def test_one_that_is_broken_is_a_plain_page_with_an_id_that_the_log_has(app, tmp_path, caplog, source):
    override(tmp_path, "inbox.html", source)
    page = open_page(Browser(app), "/litro/")
    assert page.status == 500
    assert "This page could not be drawn" in page.text
    assert "Traceback" not in page.html
    assert page.headers["Content-Security-Policy"]
    (record,) = [one for one in caplog.records if "the template inbox.html raised" in one.message]
    assert record.message.split()[-1] in page.text


def test_what_a_form_decided_stands_when_the_page_behind_it_breaks(app, tmp_path):
    proposal_id = Browser(app, "eve").ask()["proposal_id"]
    ops = Browser(app)
    form = ops.form(proposal_id, back="inbox")
    override(tmp_path, "inbox.html", BROKEN["raises"])
    answer = open_page(ops, f"{PROPOSALS}/{proposal_id}/approve", form)
    assert answer.status == 303
    page = open_page(ops, answer.location)
    assert page.status == 500
    assert "The ledger knows what was decided" in page.text
    assert app.extensions["done"] == [("refund", 1)]


def test_one_that_hangs_holds_up_its_own_reader_alone(app, tmp_path):
    """And keeps no lock: what its form decided stands, and others go on deciding."""
    first, second = (Browser(app, "eve").ask(order=order)["proposal_id"] for order in (1, 2))
    ops, two = Browser(app), Browser(app, "two")
    form = ops.form(first, back="inbox")
    entered, go, pages = threading.Event(), threading.Event(), []
    app.jinja_env.globals["hang"] = lambda: entered.set() or go.wait(60)
    override(tmp_path, "inbox.html", "{{ hang() }}")
    way = open_page(ops, f"{PROPOSALS}/{first}/approve", form).location
    reader = threading.Thread(target=lambda: pages.append(open_page(ops, way)))
    reader.start()
    try:
        assert entered.wait(20)
        assert two.decide("dismiss", second).json["state"] == "dismissed"
        assert open_page(two, f"/litro/proposals/{first}").status == 200
        assert app.extensions["done"] == [("refund", 1)]
    finally:
        go.set()
        reader.join(20)
    assert [page.status for page in pages] == [200]


def test_an_enormous_one_is_sent_whole_and_decides_nothing(app, tmp_path):
    proposal_id = Browser(app, "eve").ask()["proposal_id"]
    override(tmp_path, "inbox.html", "<p>{{ 'x' * 20_000_000 }}</p>")
    answer = Browser(app).client.get("/litro/", headers={"X-Actor": "ops"})
    assert (answer.status_code, len(answer.data)) == (200, 20_000_007)
    assert app.extensions["litro_agent"].books.ledger.get(proposal_id).state is State.PROPOSED


def test_one_that_never_ends_by_itself_is_a_plain_page(app, tmp_path, caplog):
    """A template that calls itself."""
    override(tmp_path, "inbox.html", '{% include "litro_agent/admin/inbox.html" %}')
    page = open_page(Browser(app), "/litro/")
    assert page.status == 500
    assert "This page could not be drawn" in page.text
    assert "the template inbox.html raised" in caplog.text


def test_a_broken_error_page_is_a_plain_page_as_well(app, tmp_path):
    override(tmp_path, "sorry.html", BROKEN["raises"])
    page = open_page(Browser(app, "bob"), "/litro/")
    assert page.status == 500
    assert "This page could not be drawn" in page.text


def test_every_page_stands_on_a_site_with_strict_names(tmp_path):
    app = proposal_site(tmp_path)
    app.jinja_env.undefined = StrictUndefined
    app.extensions["people"]["ada"] = Actor("ada", "Ada", OPS.permissions | {"litro:admin"})
    eve, ada = Browser(app, "eve"), Browser(app, "ada")
    done, lost, dismissed, waits = (eve.ask(order=order)["proposal_id"] for order in (1, 13, 2, 3))
    ada.decide("approve", done), ada.decide("approve", lost), ada.decide("dismiss", dismissed, note="no")
    pages = [
        "",
        "?tool=refund",
        "sessions",
        "sessions/desk/s1?owner=eve",
        "sessions/desk/s1?owner=eve&until=2",
    ]
    pages += [
        "ledger",
        "ledger?q=refund&state=unknown",
        "audit",
        "audit?verify=1",
        "ceiling",
        "tools",
        "usage",
    ]
    pages += [f"proposals/{one}?decided={done}" for one in (done, lost, dismissed, waits)]
    stood = {path: open_page(ada, f"/litro/{path}").status for path in pages}
    assert set(stood.values()) == {200}, stood
    assert open_page(ada, "/litro/proposals/none").status == 404
