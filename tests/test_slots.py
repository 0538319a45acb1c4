"""How many streams may be open at once, and that each place is given back, however its response ended."""

from __future__ import annotations

import gc
import threading
from contextlib import nullcontext, suppress

import pytest
from flask import Response, request

from flask_litro_agent.errors import Overloaded
from flask_litro_agent.web.slots import Slots, refuse_one_at_a_time
from tests.asking import delete, eventually, get, on_disk, post, rounds, running, site

GUNICORN = "gunicorn/27.0.1"


def taken(slots, actor="ann", environ=None):
    """Take slots until there is no more; return how many there were."""
    count = 0
    while True:
        try:
            slots.take(actor, environ or {})
        except Overloaded:
            return count
        count += 1


class TestCounting:
    def test_an_actor_has_so_many(self):
        slots = Slots(most=10, most_per_actor=3)
        assert [taken(slots, "ann"), taken(slots, "bob"), taken(slots, "cat"), taken(slots, "dan")] == [
            3,
            3,
            3,
            1,
        ]

    def test_a_slot_is_given_back_once(self):
        slots = Slots(most=2, most_per_actor=2)
        first, _ = slots.take("ann", {}), slots.take("ann", {})
        first.give_back()
        first.give_back()
        assert taken(slots) == 1

    def test_of_an_actor_whose_streams_are_closed_nothing_stays(self):
        """Law 10: visitors come and go."""
        slots = Slots(most=2, most_per_actor=2)
        slots.take("ann", {}).give_back()
        assert not slots._open

    def test_an_exception_in_the_view_gives_the_slot_back(self):
        slots = Slots(most=1, most_per_actor=1)
        with suppress(RuntimeError), slots.take("ann", {}) as slot:
            kept = slot.keep(Response())
            raise RuntimeError
        assert taken(slots) == 1
        kept.close()
        assert taken(slots) == 0

    def test_a_view_that_keeps_nothing_gives_the_slot_back(self):
        slots = Slots(most=1, most_per_actor=1)
        with slots.take("ann", {}):
            pass
        assert taken(slots) == 1

    def test_a_response_gives_it_back_when_it_is_closed(self):
        slots = Slots(most=1, most_per_actor=1)
        with slots.take("ann", {}) as slot:
            response = slot.keep(Response())
        assert taken(slots) == 0
        response.close()
        assert taken(slots) == 1

    def test_a_response_that_nobody_closes_gives_it_back_when_it_is_dropped(self):
        slots = Slots(most=1, most_per_actor=1)
        with slots.take("ann", {}) as slot:
            response = slot.keep(Response())
        del response
        gc.collect()
        assert taken(slots) == 1

    def test_threads_never_take_more_than_there_are(self):
        slots = Slots(most=50, most_per_actor=50)
        counts = []
        threads = [threading.Thread(target=lambda: counts.append(taken(slots))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(counts) == 50


class TestServers:
    @pytest.mark.parametrize(
        ("environ", "refused"),
        [
            ({"SERVER_SOFTWARE": GUNICORN, "wsgi.multithread": False}, True),
            ({"SERVER_SOFTWARE": GUNICORN}, True),
            ({"SERVER_SOFTWARE": GUNICORN, "wsgi.multithread": True}, False),
            ({"SERVER_SOFTWARE": "waitress", "wsgi.multithread": True}, False),
            ({"SERVER_SOFTWARE": "Werkzeug/3.1.9", "wsgi.multithread": False}, False),
            ({"SERVER_SOFTWARE": "gevent/26.9 Python/3.11", "wsgi.multithread": False}, False),
            ({}, False),
        ],
    )
    def test_gunicorns_sync_worker_is_known_by_its_environ(self, environ, refused):
        with pytest.raises(Overloaded, match="one request at a time") if refused else nullcontext():
            refuse_one_at_a_time(environ)

    @pytest.mark.parametrize(
        ("environ", "most"),
        [
            ({"SERVER_SOFTWARE": GUNICORN, "wsgi.multithread": True}, 4),
            ({"SERVER_SOFTWARE": "waitress"}, 4),
            ({"SERVER_SOFTWARE": "Werkzeug/3.1.9"}, 500),
            ({}, 500),
        ],
    )
    def test_a_pool_of_threads_has_few_slots(self, environ, most):
        assert taken(Slots(most=None, most_per_actor=1000), environ=environ) == most

    def test_the_setting_has_the_last_word(self):
        environ = {"SERVER_SOFTWARE": GUNICORN, "wsgi.multithread": True}
        assert taken(Slots(most=7, most_per_actor=1000), environ=environ) == 7

    def test_the_sync_worker_is_refused_with_a_sentence_and_nothing_starts(self, tmp_path):
        client = site(tmp_path).test_client()
        answer = post(client, environ_overrides={"SERVER_SOFTWARE": GUNICORN, "wsgi.multithread": False})
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "60")
        assert "gunicorn's sync worker" in answer.json["message"]
        assert on_disk(tmp_path) == {}


class TestTails:
    """The caps as a client meets them."""

    def open(self, client, **options):
        return get(client, query="?follow=1", **options)

    def test_over_the_actors_cap_is_503_with_retry_after(self, tmp_path):
        client = site(tmp_path, LITRO_MAX_ACTOR_TAILS=2, LITRO_MAX_TAILS=3).test_client()
        for actor in ("ann", "bob"):
            post(client, actor=actor).get_data()
        own = [self.open(client), self.open(client)]
        refused = self.open(client)
        assert (refused.status_code, refused.json["name"]) == (503, "Overloaded")
        assert int(refused.headers["Retry-After"]) > 0
        assert "of your streams" in refused.json["message"]
        third = self.open(client, actor="bob")
        full = self.open(client, actor="bob")
        assert "streams are open here" in full.json["message"]
        for response in (*own, third):
            response.close()
        assert self.open(client).status_code == 200

    def test_a_refused_post_starts_no_turn(self, tmp_path):
        client = site(tmp_path, LITRO_MAX_ACTOR_TAILS=1).test_client()
        post(client).get_data()
        tail = self.open(client)
        before = on_disk(tmp_path)
        assert post(client, session="s2").status_code == 503
        assert on_disk(tmp_path) == before
        tail.close()

    @pytest.mark.parametrize(
        ("request_of", "status"),
        [
            (lambda client: get(client, session="unknown", query="?follow=1"), 404),
            (lambda client: get(client, query="?from=x"), 400),
            (lambda client: client.head("/__litro/agent/desk/s1?follow=1", headers={"X-Actor": "ann"}), 200),
            (lambda client: post(client, text=" "), 400),
            (lambda client: get(client), 200),
        ],
    )
    def test_every_other_answer_leaves_the_slot_free(self, tmp_path, request_of, status):
        client = site(tmp_path, LITRO_MAX_ACTOR_TAILS=1, LITRO_MAX_TAILS=1).test_client()
        post(client).get_data()
        for _ in range(3):
            response = request_of(client)
            assert response.status_code == status
            response.get_data()
            response.close()
        assert self.open(client).status_code == 200

    def test_a_busy_session_leaves_the_slot_free(self, tmp_path):
        client = site(tmp_path, LITRO_MAX_ACTOR_TAILS=2).test_client()
        with running(client):
            assert [post(client).status_code for _ in range(3)] == [409] * 3
        assert self.open(client).status_code == 200

    def test_a_store_that_fails_leaves_the_slot_free(self, tmp_path):
        app = site(tmp_path, LITRO_MAX_ACTOR_TAILS=1)
        client = app.test_client()
        (tmp_path / "sessions").rename(tmp_path / "away")
        (tmp_path / "sessions").write_text("no folder")
        assert [post(client).status_code for _ in range(3)] == [503] * 3
        (tmp_path / "sessions").unlink()
        (tmp_path / "away").rename(tmp_path / "sessions")
        assert post(client).status_code == 200

    @pytest.mark.parametrize("late", [RuntimeError, None])
    def test_a_response_that_the_site_throws_away_leaves_the_slot_free(self, tmp_path, monkeypatch, late):
        app = site(tmp_path, LITRO_MAX_ACTOR_TAILS=1)
        monkeypatch.setattr(app.logger, "disabled", True)  # a captured traceback would keep the response

        @app.after_request
        def spoil(response: Response) -> Response:
            if "follow" not in request.args:
                return response
            if late is not None:
                raise late
            return Response("something else", 418)

        client = app.test_client()
        post(client).get_data()
        for _ in range(3):
            assert self.open(client).status_code in (418, 500)
            gc.collect()
        assert get(client).status_code == 200

    def test_a_tail_that_was_read_to_its_end_gives_its_slot_back(self, tmp_path):
        client = site(tmp_path, LITRO_MAX_ACTOR_TAILS=1, LITRO_STREAM_SECONDS=0.2).test_client()
        post(client).get_data()
        for _ in range(3):
            tail = self.open(client)
            assert tail.status_code == 200
            tail.get_data()
            tail.close()


class TestTurns:
    def test_an_actor_runs_so_many_turns(self, tmp_path):
        client = site(tmp_path, LITRO_MAX_ACTOR_TURNS=1).test_client()
        with running(client):
            refused = post(client, session="s2")
            assert refused.status_code == 503
            assert "of your turns are running" in refused.json["message"]
            assert int(refused.headers["Retry-After"]) > 0
            other = post(client, actor="bob")
            assert other.status_code == 200
            other.get_data()
        eventually(lambda: post(client, session="s2").status_code == 200)

    def test_a_process_runs_so_many_turns(self, tmp_path):
        client = site(tmp_path, LITRO_MAX_TURNS=1).test_client()
        with running(client):
            refused = post(client, actor="bob")
            assert refused.status_code == 503
            assert "turns are running here" in refused.json["message"]
            assert get(client, actor="bob").status_code == 404
        eventually(lambda: post(client, actor="bob").status_code == 200)

    def test_a_refused_turn_frees_its_place(self, tmp_path):
        client = site(tmp_path, LITRO_MAX_ACTOR_TURNS=2).test_client()
        with running(client):
            assert [post(client).status_code for _ in range(4)] == [409] * 4
            second = post(client, rounds([["sleep", 20]]), session="s2")
            assert second.status_code == 200
            assert post(client, session="s3").status_code == 503
            delete(client, session="s2", turn=second.headers["Litro-Turn"])
            second.get_data()
