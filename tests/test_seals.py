"""Whose html a browser gets from the log: ours, with its seal. Whatever else is there is shown as data."""

from __future__ import annotations

import json

import pytest

from flask_litro_agent import LitroAgent, events
from flask_litro_agent.contracts import Entry, SessionKey
from flask_litro_agent.turns.seals import Seals
from tests.component_site import weather_site
from tests.small_site import new_app, post, write_agent, write_tool

CARD = 'return ui("weather-card", data={"city": "Lisbon"}, city="Lisbon", temp_c=21, days=[])'
KEY = SessionKey("demo", "ann", "s1")
PAYLOAD = {"call_id": "c", "name": "card", "html": "<x-card></x-card>", "data": 1, "text": "1"}


@pytest.fixture
def folder(tmp_path):
    write_tool(write_agent(weather_site(tmp_path)), "card", CARD)
    return tmp_path


def start(folder, **config):
    app = new_app(folder, **config)
    LitroAgent(app)
    return app


def replay(client):
    answer = client.get("/__litro/agent/demo/s1")
    assert answer.status_code == 200, answer.text
    return answer.text


def component(text):
    (payload,) = (
        event["payload"] for line in text.split("\n") if line and (event := json.loads(line))["kind"] == "ui"
    )
    return payload


@pytest.fixture
def said(folder):
    """A conversation with a component in its log: the visitor's client, and what was streamed."""
    client = start(folder).test_client()
    lines = post(client, "use card")
    return client, next(each["payload"] for each in lines if each["kind"] == "ui")


def change_log(folder, old, new):
    (log,) = (
        path
        for path in (folder / "instance" / "litro" / "sessions").rglob("*")
        if path.is_file() and b"weather-card" in path.read_bytes()
    )
    text = log.read_bytes()
    assert old in text
    log.write_bytes(text.replace(old, new))


def test_a_component_is_replayed_as_it_was_streamed(said):
    client, streamed = said
    assert component(replay(client)) == streamed
    assert "html" in streamed


def test_html_that_somebody_changed_in_the_log_is_not_shown(said, folder):
    client, streamed = said
    change_log(folder, b"<p>21", b"<b>21")
    payload = component(replay(client))
    assert payload == {
        **{name: value for name, value in streamed.items() if name not in ("html", "hydrate")},
        "stale": True,
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"Lisbon"}', b'"Madrid"}'), (b"weather-card.js", b"another-car.js"), (b'"data"', b'"date"')],
)
def test_the_seal_is_about_the_whole_event(said, folder, old, new):
    client, _ = said
    change_log(folder, old, new)
    assert "html" not in component(replay(client))


def test_a_seal_of_another_site_opens_nothing():
    assert Seals(lambda: [b"ours"]).line(KEY, sealed_by(b"theirs")) == events.encode(
        7, 1, "ui", {"call_id": "c", "name": "card", "data": 1, "text": "1", "stale": True}
    )


def sealed_by(*keys):
    private = json.dumps(Seals(lambda: keys).seal(KEY, PAYLOAD)).encode()
    return Entry(7, "ui", events.encode(7, 1, "ui", PAYLOAD), private)


@pytest.mark.parametrize(
    "key", [KEY._replace(session="s2"), KEY._replace(agent="desk"), KEY._replace(agent="demos", session="1")]
)
def test_a_component_of_another_session_is_not_shown_here(key):
    assert json.loads(Seals(lambda: [b"ours"]).line(key, sealed_by(b"ours")))["payload"]["stale"] is True


def test_a_session_that_is_handed_over_keeps_its_components():
    entry = sealed_by(b"ours")
    assert Seals(lambda: [b"ours"]).line(KEY._replace(owner="the account"), entry) == entry.line


def test_an_older_key_still_opens_what_it_sealed_and_the_newest_seals():
    old, both = sealed_by(b"old"), Seals(lambda: [b"old", b"new"])
    assert both.line(KEY, old) == old.line
    new = sealed_by(b"old", b"new")
    assert Seals(lambda: [b"new"]).line(KEY, new) == new.line


@pytest.mark.parametrize(
    "private", [None, b"", b"null", b"{", b'{"seal":1}', b'{"seal":""}', '{"seal":"ü"}'.encode()]
)
def test_what_is_no_seal_opens_nothing(private):
    seals = Seals(lambda: [b"ours"])
    entry = Entry(7, "ui", events.encode(7, 1, "ui", PAYLOAD), private)
    assert json.loads(seals.line(KEY, entry))["payload"]["stale"] is True


def test_without_a_key_nothing_is_sealed_and_nothing_opens():
    seals = Seals()
    assert seals.seal(KEY, PAYLOAD) is None
    assert b"<x-card>" not in seals.line(KEY, sealed_by(b"any"))


def test_a_secret_key_that_was_changed_keeps_its_components_as_a_fallback(said):
    client, streamed = said
    app = client.application
    app.secret_key, app.config["SECRET_KEY_FALLBACKS"] = "another", [app.secret_key]
    assert component(replay(client)) == streamed


def test_other_events_are_shown_as_they_are():
    entry = Entry(7, "message", b'{"seq":7,"ts":1,"kind":"message","payload":{"role":"user","text":"<b>"}}\n')
    assert Seals().line(KEY, entry) == entry.line


def test_the_seal_never_reaches_a_browser(said):
    client, streamed = said
    assert "seal" not in json.dumps(streamed)
    assert '"seal"' not in replay(client)


def test_a_log_from_before_there_were_seals_is_shown_as_data(said, folder):
    client, _ = said
    change_log(folder, b"seal", b"sale")
    assert component(replay(client))["stale"] is True
