"""The usage page: figures a person can read at a glance, drawn by the server, and the same ones as tables."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from sqlalchemy import update

from flask_litro_agent import Actor
from flask_litro_agent.core.tables import proposal
from flask_litro_agent.core.usage import Used
from flask_litro_agent.installation import EXTENSION
from tests.asking import site
from tests.pages import open_page
from tests.proposal_site import Browser, proposal_site

ADA = Actor("ada", "Ada", frozenset({"litro:admin"}))
PATH = "/litro/usage"
DAY = 86_400_000


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


def svgs(page):
    """Return the page's plots, read as XML."""
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page.html, re.DOTALL)]


def table(page, name):
    """Return the cells of the rows of the table that the region of this id or label holds."""
    rows = re.findall(r"<tr>(.*?)</tr>", page.html.split(name)[-1].split("</table>")[0], re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(?:<a[^>]*>)?([^<]*)", row) for row in rows]


def test_an_empty_ledger_has_a_page_without_plots(ada):
    page = open_page(ada, PATH)
    assert page.status == 200
    assert "Nothing in these days." in page.text
    assert svgs(page) == []


def test_outcomes_are_counted_by_agent_with_the_median_time_to_a_decision(app, ada):
    ops, eve = Browser(app), Browser(app, "eve")
    ops.decide("approve", eve.ask(order=1)["proposal_id"])
    ops.decide("approve", eve.ask(order=0)["proposal_id"])
    ops.decide("dismiss", eve.ask(order=3)["proposal_id"])
    eve.ask(order=4)
    header, desk = table(open_page(ada, PATH), 'aria-labelledby="by-agent"')
    found = dict(zip(header, desk, strict=True))
    assert (found["Agent"], found["Made"], found["Done"], found["Failed"]) == ("desk", "4", "1", "1")
    assert (found["Dismissed"], found["Waiting"], found["Waiting now, of any age"]) == ("1", "1", "1")
    assert re.fullmatch(r"\d+ s", found["Median time to a decision"])


def test_turns_and_tokens_are_summed_by_agent_and_by_model(app, ada):
    used = Used(turns=2, failed=1, input_tokens=1500, cached_tokens=500, output_tokens=70)
    books(app).usage.add(used, agent="desk", actor="eve", model="m1")
    books(app).usage.add(used, agent="desk", actor="bob", model="m2")
    page = open_page(ada, PATH)
    assert table(page, 'aria-labelledby="used-by-agent"')[1] == ["desk", "4", "2", "3,000", "1,000", "140"]
    assert [row[0] for row in table(page, 'aria-labelledby="used-by-model"')[1:]] == ["m1", "m2"]


def test_a_plot_is_sound_svg_with_a_title_and_a_description_and_without_styles(app, ada):
    books(app).usage.add(Used(turns=3, failed=1, input_tokens=9), agent="desk", actor="eve", model="m")
    page = open_page(ada, PATH)
    turns, tokens = svgs(page)
    for plot in (turns, tokens):
        named = plot.attrib["aria-labelledby"].split()
        assert [plot.find(f"./*[@id='{name}']").tag for name in named] == ["title", "desc"]
        assert plot.attrib["role"] == "img"
        assert not [part for part in plot.iter() if "style" in part.attrib or "fill" in part.attrib]
    bars = list(turns.iter("rect"))
    assert [bar.attrib["class"] for bar in bars] == ["bar-done", "bar-failed"]
    assert "Turns that ended well 2" in bars[0].find("title").text
    assert "style=" not in page.html


def test_the_same_figures_stand_in_a_table(app, ada):
    books(app).usage.add(Used(turns=3, failed=1), agent="desk", actor="eve", model="m")
    rows = table(open_page(ada, PATH), '<figure class="plot" id="turns">')
    assert rows[0] == ["Day", "Turns that ended well", "Failed turns"]
    assert rows[-1][1:] == ["2", "1"]
    assert len(rows) == 31


@pytest.mark.parametrize(("days", "rows"), [(7, 7), (30, 30)])
def test_so_many_days_are_shown(app, ada, days, rows):
    books(app).usage.add(Used(turns=1), agent="desk", actor="eve", model="m")
    found = table(open_page(ada, f"{PATH}?days={days}"), '<figure class="plot" id="turns">')
    assert len(found) == rows + 1


def test_ninety_days_are_drawn_by_weeks(app, ada):
    proposal_id = Browser(app, "eve").ask()["proposal_id"]
    older = update(proposal).where(proposal.c.id == proposal_id)
    older = older.values(created_at=proposal.c.created_at - 60 * DAY)
    books(app).database.write(lambda held: held.execute(older).close())
    assert "Nothing was proposed in these days." in open_page(ada, f"{PATH}?days=30").text
    page = open_page(ada, f"{PATH}?days=90")
    rows = table(page, '<figure class="plot" id="proposals">')
    assert 14 <= len(rows) <= 15
    assert sum(int(row[5]) for row in rows[1:]) == 1, "it has expired"


@pytest.mark.parametrize("days", ["8", "", "x", "30&days=7", "-7", "07"])
def test_other_ranges_are_refused_in_words(ada, days):
    answer = open_page(ada, f"{PATH}?days={days}")
    assert answer.status == 400
    assert "'days' must be one of 7, 30, 90" in answer.text


def test_hostile_names_are_text(app, ada):
    hostile = '"><img src=x onerror=alert(1)>{{7*7}}'
    books(app).usage.add(Used(turns=1), agent="desk", actor="eve", model=hostile)
    page = open_page(ada, PATH)
    assert "<img" not in page.html
    assert "{{7*7}}" in page.text


def test_a_site_without_a_ledger_says_what_is_missing(tmp_path):
    app = site(tmp_path)
    app.extensions[EXTENSION].identity._request_loader = lambda: ADA
    app.extensions[EXTENSION].identity._actor_loader = lambda actor_id: ADA
    for path in (PATH, "/litro/ledger", "/litro/audit"):
        page = open_page(Browser(app, "ada"), path)
        assert page.status == 200
        assert "there is no ledger" in page.text
    assert open_page(Browser(app, "ada"), "/litro/ledger.csv").status == 404


def test_somebody_who_only_approves_is_kept_out(app):
    assert open_page(Browser(app, "ops"), PATH).status == 403
