"""The sessions' pages: whose there are, one of them to read, and how it stood at any of its events."""

from __future__ import annotations

import time

import pytest

from flask_litro_agent import Actor
from flask_litro_agent.contracts import Entry, SessionKey
from flask_litro_agent.events import encode
from flask_litro_agent.web.admin.conversation import read_passage
from tests.asking import events, eventually, post, rounds
from tests.proposal_site import Browser, proposal_site

ADMIN = Actor("adm", "Ada Admin", frozenset({"litro:admin"}))


@pytest.fixture
def site(tmp_path):
    app = proposal_site(tmp_path)
    app.extensions["people"]["adm"] = ADMIN
    return app


def get(app, path, *, actor="adm", **query):
    return app.test_client().get(f"/litro/sessions{path}", query_string=query, headers={"X-Actor": actor})


def say(app, text="hello", *, actor="eve", session="s1"):
    return events(post(app.test_client(), rounds([["say", text]]), session=session, actor=actor))


def read(app, session="s1", owner="eve", **query):
    return get(app, f"/desk/{session}", owner=owner, **query)


def test_everybodys_sessions_are_listed_with_their_owners_names(site):
    say(site), say(site, actor="bob", session="s2")
    page = get(site, "").text
    assert "Eve" in page
    assert "Bob" in page
    assert page.index("s2") < page.index(">s1<")


def test_the_list_can_be_of_one_owner_and_one_agent(site):
    say(site), say(site, actor="bob", session="other-one")
    assert "other-one" not in get(site, "", owner="eve").text
    assert "There are no such sessions" in get(site, "", owner="eve", agent="nobody").text


def test_a_long_list_has_pages(site):
    for number in range(51):
        say(site, session=f"n{number}")
    first = get(site, "").text
    assert "n50<" in first
    assert "n0<" not in first
    assert 'rel="next"' in first


def test_a_session_is_read_event_by_event(site):
    Browser(site, "eve").ask()
    page = read(site).text
    for there in ("A turn begins.", "calls", "refund(order: 1)", "The turn ends:", 'id="e1"'):
        assert there in page


def test_the_pages_are_for_those_who_may_litro_admin(site):
    say(site)
    for path in ("", "/desk/s1", "/desk/s1.ndjson"):
        assert get(site, path, actor="ops", owner="eve").status_code == 403
        assert get(site, path, actor="", owner="eve").status_code == 401


@pytest.mark.parametrize(("session", "owner"), [("none", "eve"), ("s1", "bob"), ("s1", ""), ("s1", "../eve")])
def test_a_session_that_is_not_there_is_a_404_page(site, session, owner):
    say(site)
    answer = read(site, session, owner)
    assert (answer.status_code, "there is no such session" in answer.text) == (404, True)


def test_a_deleted_session_is_a_404_page(site):
    say(site)
    gone = site.test_client().delete(
        "/__litro/agent/desk/s1", headers={"X-Actor": "eve", "X-Litro-Agent": "1"}
    )
    assert gone.status_code == 204
    assert read(site).status_code == 404


def test_what_was_said_is_text_whatever_it_looks_like(site):
    say(site, "<img src=x onerror=alert(1)> {{7*7}} \u202eevil")
    page = read(site).text
    assert "<img" not in page
    assert "{{7*7}}" in page
    assert "\u202e" not in page
    assert "\\u202eevil" in page


def test_a_replay_shows_the_session_as_it_stood_at_an_event(site):
    Browser(site, "eve").ask()
    page = read(site, until=2).text
    assert 'id="e2"' in page
    assert 'id="e3"' not in page
    assert "As it stood at event" in page
    assert 'rel="prev"' in page
    assert 'rel="next"' in page


def test_the_steps_of_a_replay_meet_every_shown_event_once(site):
    Browser(site, "eve").ask()
    whole = [part.split('"')[0] for part in read(site).text.split('id="e')[1:]]
    seen, until = [], "1"
    while until:
        page = read(site, until=until).text
        seen.append(page.split('id="e')[-1].split('"')[0])
        step = page.split('rel="next"')
        until = step[1].split("until=")[1].split("#")[0].split('"')[0].split("&")[0] if len(step) > 1 else ""
    assert seen == whole


def test_a_very_long_session_has_pages_and_its_deltas_are_not_among_them(site):
    for number in range(80):
        say(site, f"word {number}")
    page = read(site).text
    assert page.count('<li id="e') == 300
    assert "Go on reading" in page
    first = page.split('rel="next"')[-1].split("from=")[1].split("&")[0].split('"')[0]
    rest = read(site, **{"from": first}).text
    assert f'id="e{first}"' in rest
    assert "word 79" in rest


def test_law_2_the_log_as_ndjson_is_the_bytes_that_a_browser_gets(site):
    say(site)
    theirs = site.test_client().get(
        "/__litro/agent/desk/s1?from=1", headers={"X-Actor": "eve", "Sec-Fetch-Site": "same-origin"}
    )
    ours = get(site, "/desk/s1.ndjson", owner="eve")
    assert ours.data == theirs.data.replace(b"\n\n", b"\n")
    assert "attachment" in ours.headers["Content-Disposition"]


def test_reading_takes_no_lease_and_ends_no_turn_that_was_left_behind(site):
    say(site)
    store = site.extensions["litro_agent"].store
    key = SessionKey("desk", "eve", "s1")
    before = store.last_seq(key)
    while (lease := store.acquire(key, 15)) is None:
        time.sleep(0.01)  # the turn's own is given back a moment after its end
    assert "A turn is running" in read(site).text
    store.release(lease)
    assert read(site).status_code == 200
    assert store.last_seq(key) == before


def test_who_reads_whose_session_is_logged(site, caplog):
    say(site)
    with caplog.at_level("INFO", logger="flask_litro_agent"):
        read(site)
    assert "'adm' reads the session 's1' of 'eve'" in caplog.text


def test_a_component_is_shown_by_its_data_and_never_by_its_html():
    payload = {
        "call_id": "c",
        "name": "card",
        "html": "<x>canary</x>",
        "data": {"a": 1},
        "hydrate": {"x": "canary"},
    }

    class Store:
        def last_seq(self, key):
            return 1

        def read(self, key, after, kinds):
            return iter([Entry(1, "ui", encode(1, 1, "ui", payload))])

    (event,) = read_passage(Store(), SessionKey("a", "b", "c"), first=1, until=None).events
    assert event.text("data") == '{\n  "a": 1\n}'
    assert "canary" not in repr(event)


def test_no_character_of_an_owners_name_stays_unseen(site):
    site.extensions["people"]["eve"] = Actor("eve", "Eve\u202e", frozenset())
    say(site)
    for page in (get(site, "").text, read(site).text):
        assert "\u202e" not in page
        assert "Eve\\u202e" in page


def test_no_character_of_a_tools_error_stays_unseen(site):
    say(site)
    payload = {"call_id": "c", "name": "t", "error": {"code": "failed", "message": "no \u202eorder"}}
    add(site, "tool-result", payload)
    page = read(site).text
    assert "\u202e" not in page
    assert "no \\u202eorder" in page


@pytest.mark.parametrize("query", [{"owner": "a\x00"}, {"owner": ["a", "b"]}, {"agent": "a" * 256}])
def test_what_no_database_takes_is_refused_in_words(site, query):
    assert get(site, "", **query).status_code == 400


def add(app, kind, payload):
    """Append an event to Eve's session as another process would."""
    store, key = app.extensions["litro_agent"].store, SessionKey("desk", "eve", "s1")
    eventually(lambda: not store.is_leased(key))  # the turn before may still be giving its lease back
    lease = store.acquire(key, 15)
    seq = store.last_seq(key) + 1
    line = encode(seq, int(time.time() * 1000), kind, payload)
    store.append(key, [Entry(seq, kind, line)], lease)
    store.release(lease)
