"""The stream that tells open pages of changes: one look for all, its caps, and its end."""

from __future__ import annotations

import json
import logging
import threading
import time

import pytest

from flask_litro_agent.core.waiting import Pulse
from flask_litro_agent.errors import LedgerAway, Overloaded
from flask_litro_agent.web.admin.watch import Watch
from tests.asking import eventually, site
from tests.proposal_site import OPS, Browser, proposal_site

STREAM = "/litro/inbox/stream"


class Eyes:
    """A ledger that is looked at: says what it is told to, and counts the looks."""

    def __init__(self):
        self.pulse = Pulse(0, "a")
        self.looks = 0
        self.fault = None

    def __call__(self):
        self.looks += 1
        if self.fault:
            raise self.fault
        return self.pulse


@pytest.fixture
def eyes():
    return Eyes()


@pytest.fixture
def watch(eyes):
    return Watch(eyes, pause=0.02)


def is_watched():
    return any(thread.name == "litro-watch" for thread in threading.enumerate())


class TestWatch:
    def test_a_listener_is_told_what_he_does_not_know(self, watch):
        with watch.listening():
            assert watch.next(None, 5) == Pulse(0, "a")
            assert watch.next("a", 0.1) is None

    def test_he_is_told_as_soon_as_it_changes(self, watch, eyes):
        with watch.listening():
            assert watch.next(None, 5)
            threading.Timer(0.1, lambda: setattr(eyes, "pulse", Pulse(1, "b"))).start()
            assert watch.next("a", 5) == Pulse(1, "b")

    def test_fifty_listeners_look_no_oftener_than_one(self, eyes):
        watch = Watch(eyes, pause=30)
        told = []

        def listen():
            with watch.listening():
                told.append(watch.next(None, 20))

        listeners = [threading.Thread(target=listen) for _ in range(50)]
        with watch.listening():
            for each in listeners:
                each.start()
            for each in listeners:
                each.join(20)
        assert told == [Pulse(0, "a")] * 50
        assert eyes.looks == 1

    def test_nobody_listening_means_nobody_looking(self, watch, eyes):
        with watch.listening():
            assert watch.next(None, 5)
        eventually(lambda: not is_watched())
        before = eyes.looks
        time.sleep(0.1)
        assert eyes.looks == before

    def test_a_process_without_a_thread_to_spare_fails_one_listener_and_not_the_next(
        self, watch, monkeypatch
    ):
        def refused(thread):
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as full:
            full.setattr(threading.Thread, "start", refused)
            with pytest.raises(Overloaded), watch.listening():
                pass
        with watch.listening():
            assert watch.next(None, 5) == Pulse(0, "a")
        eventually(lambda: not is_watched())

    def test_who_comes_later_is_told_nothing_old(self, watch, eyes):
        with watch.listening():
            assert watch.next(None, 5)
        eventually(lambda: not is_watched())
        eyes.pulse = Pulse(7, "g")
        with watch.listening():
            assert watch.next(None, 5) == Pulse(7, "g")

    @pytest.mark.parametrize("fault", [LedgerAway("away"), RuntimeError("broken")])
    def test_a_ledger_that_is_away_is_logged_once_and_looked_at_again(self, watch, eyes, caplog, fault):
        eyes.fault = fault
        with watch.listening(), caplog.at_level(logging.WARNING):
            assert watch.next(None, 0.3) is None
            eyes.fault = None
            assert watch.next(None, 5) == Pulse(0, "a")
        assert eyes.looks > 3
        assert len([one for one in caplog.records if "cannot be watched" in one.message]) == 1


@pytest.fixture
def app(tmp_path):
    return proposal_site(
        tmp_path, LITRO_STREAM_SECONDS=5, LITRO_HEARTBEAT_SECONDS=0.2, LITRO_MAX_ACTOR_TAILS=2
    )


@pytest.fixture
def ops(app):
    return Browser(app)


def listen(browser, query="", **headers):
    return browser.client.get(STREAM + query, headers={"X-Actor": browser.actor, **headers})


def news(answer):
    """Return the next event's data, past what says nothing."""
    for chunk in answer.response:
        for part in chunk.decode().split("\n\n"):
            if "data: " in part:
                return json.loads(part.split("data: ")[1])
    return None


class TestStream:
    def test_it_says_at_once_how_many_wait_and_then_every_change(self, app, ops):
        with listen(ops) as answer:
            assert answer.mimetype == "text/event-stream"
            assert (answer.headers["Cache-Control"], answer.headers["X-Accel-Buffering"]) == (
                "no-store",
                "no",
            )
            first = news(answer)
            assert first["count"] == 0
            proposal_id = Browser(app, "eve").ask(order=4711)["proposal_id"]
            second = news(answer)
            assert second["count"] == 1
            Browser(app).decide("dismiss", proposal_id)
            assert news(answer)["count"] == 0
        assert first["mark"] != second["mark"]

    def test_it_carries_no_word_of_a_proposal(self, app, ops):
        Browser(app, "eve").ask(order=4711)
        with listen(ops) as answer:
            assert news(answer).keys() == {"count", "mark"}

    @pytest.mark.parametrize("how", ["query", "header"])
    def test_who_knows_the_mark_is_told_nothing(self, app, ops, how):
        with listen(ops) as answer:
            mark = news(answer)["mark"]
        known = (f"?mark={mark}", {}) if how == "query" else ("?mark=old", {"Last-Event-ID": mark})
        with listen(ops, known[0], **known[1]) as answer:
            chunks = [next(answer.response) for _ in range(3)]
        assert chunks == [b"retry: 1000\n\n", b":\n\n", b":\n\n"]

    def test_the_page_carries_the_mark_that_the_stream_would_send(self, app, ops):
        Browser(app, "eve").ask()
        page = ops.client.get("/litro/", headers={"X-Actor": "ops"}).text
        with listen(ops) as answer:
            assert f'data-mark="{news(answer)["mark"]}"' in page

    def test_it_ends_so_that_whoever_comes_again_is_asked_again(self, tmp_path):
        app = proposal_site(tmp_path, LITRO_STREAM_SECONDS=0.3, LITRO_HEARTBEAT_SECONDS=0.1)
        ops = Browser(app)
        assert listen(ops).data.startswith(b"retry: 1000\n\n")
        app.extensions["people"]["ops"] = type(OPS)("ops", "Olga", frozenset())
        assert listen(ops).status_code == 403

    def test_its_slots_are_those_of_all_streams_and_are_given_back(self, app, ops):
        ops.ask()
        held = [listen(ops), listen(ops)]
        answer = listen(ops)
        assert answer.status_code == 503
        assert answer.headers["Retry-After"]
        follow = ops.client.get(
            "/__litro/agent/desk/s1?follow=1", headers={"X-Actor": "ops", "X-Litro-Agent": "1"}
        )
        assert follow.status_code == 503
        for each in held:
            each.close()
        with listen(ops) as answer:
            assert answer.status_code == 200

    def test_head_takes_no_slot(self, app, ops):
        for _ in range(4):
            assert ops.client.head(STREAM, headers={"X-Actor": "ops"}).status_code == 200
        with listen(ops) as answer:
            assert answer.status_code == 200

    @pytest.mark.parametrize(("actor", "status"), [("bob", 403), ("", 401)])
    def test_it_is_for_whoever_may_see_the_pages(self, app, actor, status):
        assert listen(Browser(app, actor)).status_code == status

    def test_another_site_gets_none(self, ops):
        assert listen(ops, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403
        assert listen(ops, Origin="https://evil.example").status_code == 403

    def test_a_site_without_books_has_none(self, tmp_path):
        app = site(tmp_path)
        app.extensions["litro_agent"].identity._request_loader = lambda: OPS
        app.extensions["litro_agent"].identity._actor_loader = lambda actor_id: OPS
        assert listen(Browser(app)).status_code == 404

    def test_a_worker_that_serves_one_at_a_time_refuses_it(self, ops):
        answer = ops.client.get(
            STREAM,
            headers={"X-Actor": "ops"},
            environ_overrides={"SERVER_SOFTWARE": "gunicorn/27.0", "wsgi.multithread": False},
        )
        assert answer.status_code == 503
        assert "gevent" in answer.text
