"""The sessions over HTTP: what each route answers, in status, headers and lines, and to whom."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from flask import Flask, Response

from flask_litro_agent import AgentError, LitroAgent
from tests.asking import (
    HEADER,
    ROUTE,
    delete,
    events,
    eventually,
    get,
    kinds,
    post,
    rounds,
    running,
    site,
    store_of,
)

AGENTS = Path(__file__).parent / "site" / "agents"


@pytest.fixture
def app(tmp_path):
    return site(tmp_path)


@pytest.fixture
def client(app):
    return app.test_client()


class TestPost:
    def test_a_turn_streams_its_events_to_the_end(self, client):
        answer = post(client, rounds([["call", "echo", {"value": 7}]]))
        assert answer.status_code == 200
        assert answer.mimetype == "application/x-ndjson"
        assert kinds(answer) == [
            "turn-start",
            "message",
            "tool-call",
            "tool-result",
            "text-delta",
            "message",
            "turn-end",
        ]
        assert [event["seq"] for event in events(answer)] == list(range(1, 8))

    def test_the_headers_name_the_turn_and_forbid_buffering(self, client):
        answer = post(client)
        assert answer.headers["Litro-Turn"] == events(answer)[0]["payload"]["turn_id"]
        assert answer.headers["X-Accel-Buffering"] == "no"
        assert "Content-Length" not in answer.headers

    def test_a_second_turn_streams_only_its_own_events(self, client):
        first = events(post(client))
        second = events(post(client))
        assert second[0]["seq"] == first[-1]["seq"] + 1
        assert second[0]["kind"] == "turn-start"

    def test_a_running_turn_is_named_by_the_409_in_header_and_body(self, client):
        with running(client) as turn_id:
            answer = post(client)
            assert (answer.status_code, answer.headers["Litro-Turn"]) == (409, turn_id)
            assert answer.json == {
                "name": "SessionBusy",
                "message": f"a turn is running in this session: {turn_id}",
                "status": 409,
            }

    def test_a_client_that_leaves_changes_nothing(self, client):
        answer = post(client, json.dumps([[["say", "one two three", 0.05]]]))
        next(answer.iter_encoded())
        answer.close()
        said = [event["payload"] for event in events(get(client)) if event["kind"] == "message"]
        assert said[-1] == {"role": "assistant", "text": "one two three "}

    def test_a_response_lasts_no_longer_than_it_may(self, tmp_path):
        client = site(tmp_path, LITRO_STREAM_SECONDS=0.2).test_client()
        answer = post(client, rounds([["sleep", 20]]))
        assert kinds(answer) == ["turn-start", "message"]
        delete(client, turn=answer.headers["Litro-Turn"])
        rest = get(client, query="?from=3")
        assert kinds(rest)[-1] == "turn-end"


class TestGet:
    def test_a_replay_is_the_stream_byte_for_byte(self, client):
        live = post(client, rounds([["call", "count", {"to": 3}], ["think", "hm"]]))
        replay = get(client)
        assert replay.data == live.data.lstrip(b"\n")

    def test_an_idle_replay_ends_at_the_last_seq(self, client):
        last = events(post(client))[-1]["seq"]
        answer = get(client)
        assert (answer.headers["Litro-Turn"], answer.headers["Litro-Last-Seq"]) == ("idle", str(last))
        assert answer.headers["X-Accel-Buffering"] == "no"
        assert events(answer)[-1]["seq"] == last

    def test_from_is_inclusive(self, client):
        last = events(post(client))[-1]["seq"]
        assert [event["seq"] for event in events(get(client, query=f"?from={last - 1}"))] == [last - 1, last]

    @pytest.mark.parametrize("beyond", [1, 1000, 10**14])
    def test_from_beyond_the_end_is_an_empty_replay(self, client, beyond):
        last = events(post(client))[-1]["seq"]
        answer = get(client, query=f"?from={last + beyond}")
        assert (answer.status_code, answer.data.strip()) == (200, b"")
        assert answer.headers["Litro-Last-Seq"] == str(last)

    def test_a_turn_in_flight_is_tailed_to_its_end(self, client):
        with running(client) as turn_id:
            answer = get(client)
            assert answer.headers["Litro-Turn"] == turn_id
            assert answer.headers["Litro-Last-Seq"] == "2"
            delete(client, turn=turn_id)
            assert kinds(answer) == ["turn-start", "message", "turn-end"]

    def test_from_beyond_a_turn_in_flight_ends_with_it(self, client):
        with running(client) as turn_id:
            answer = get(client, query="?from=900")
            delete(client, turn=turn_id)
            assert answer.data.strip() == b""

    def test_follow_stays_while_idle_and_sees_the_next_turn(self, tmp_path):
        app = site(tmp_path, LITRO_STREAM_SECONDS=3)
        post(app.test_client()).get_data()
        tail = get(app.test_client(), query="?from=6&follow=1")
        lines = iter(tail.iter_encoded())
        assert next(lines) == b"\n"
        other = threading.Thread(target=lambda: post(app.test_client()).get_data())
        other.start()
        seen = b""
        while b"turn-end" not in seen:
            seen += next(lines)
        other.join()
        tail.close()
        assert next(json.loads(line)["seq"] for line in seen.split(b"\n") if line) == 6

    def test_silence_is_filled_with_blank_lines(self, tmp_path):
        client = site(tmp_path, LITRO_HEARTBEAT_SECONDS=0.05, LITRO_STREAM_SECONDS=0.5).test_client()
        post(client).get_data()
        silent = get(client, query="?from=6&follow=1").data
        assert set(silent) == {10}
        assert len(silent) >= 3

    def test_the_headers_come_before_the_first_event(self, client):
        with running(client):
            answer = get(client, query="?from=3")
            assert next(iter(answer.iter_encoded())) == b"\n"
            answer.close()

    def test_an_unknown_session_is_404(self, client):
        assert get(client, session="nothing").json == {
            "name": "NotFound",
            "message": "there is no such session",
            "status": 404,
        }

    def test_head_has_the_headers_and_no_body(self, client):
        post(client).get_data()
        answer = client.head(f"{ROUTE}/s1", headers={"X-Actor": "ann"})
        assert (answer.status_code, answer.data) == (200, b"")
        assert answer.headers["Litro-Turn"] == "idle"

    def test_private_parts_stay_in_the_log(self, app, client):
        script = rounds([["call", "quiet", {"value": "ok"}], ["state", "canary-state"]])
        live = post(client, script.replace("canary", "\\u0063anary"))  # or the message itself would show it
        answers = live.data + get(client).data
        assert b"canary-state" not in answers
        assert b'"seen"' not in answers
        (key,) = [info.key for info in store_of(app).list("ann")[0]]
        private = b"".join(entry.private or b"" for entry in store_of(app).read(key))
        assert b"canary-state" in private
        assert b'"seen"' in private


class TestStop:
    def test_a_turn_is_stopped_by_its_id(self, client):
        with running(client) as turn_id:
            answer = delete(client, turn=turn_id)
            assert (answer.status_code, answer.json) == (202, {"turn_id": turn_id, "state": "stopping"})
            assert events(get(client))[-1]["payload"]["reason"] == "stopped"

    @pytest.mark.parametrize("turn", ["t0", "x" * 5000, "..", "%00", "*"])
    def test_a_turn_that_does_not_run_is_404(self, client, turn):
        with running(client):
            assert delete(client, turn=turn).status_code == 404
            assert post(client).status_code == 409

    def test_an_ended_turn_is_404(self, client):
        turn_id = post(client).headers["Litro-Turn"]
        eventually(lambda: delete(client, turn=turn_id).status_code == 404)


class TestDelete:
    def test_a_deleted_session_is_gone_for_good(self, client):
        post(client).get_data()
        assert (delete(client).status_code, delete(client).status_code) == (204, 404)
        assert (get(client).status_code, post(client).status_code) == (404, 404)

    def test_a_running_turn_is_stopped_first(self, client):
        with running(client) as turn_id:
            assert delete(client).status_code == 204
            assert get(client).status_code == 404
            assert delete(client, turn=turn_id).status_code == 404

    def test_an_unknown_session_is_404(self, client):
        assert delete(client, session="nothing").status_code == 404


class TestList:
    def list(self, client, query="", *, actor="ann", agent="desk"):
        return client.get(f"/__litro/agent/{agent}{query}", headers={"X-Actor": actor} if actor else {})

    def test_nothing_is_an_empty_list(self, client):
        assert self.list(client).json == {"sessions": [], "next": None}

    def test_the_newest_stands_first_with_its_times(self, client):
        for session in ("one", "two"):
            post(client, session=session).get_data()
            eventually(lambda: get(client, session=session).headers["Litro-Turn"] == "idle")  # noqa: B023
        rows = self.list(client).json["sessions"]
        assert [row["id"] for row in rows] == ["two", "one"]
        assert all(set(row) == {"id", "created", "updated"} for row in rows)
        assert all(row["updated"] >= row["created"] > 1_700_000_000_000 for row in rows)

    def test_pages_follow_each_other_without_a_gap_or_a_double(self, client):
        names = {f"s{number}" for number in range(7)}
        for name in names:
            post(client, session=name).get_data()
        seen, query = [], "?limit=3"
        while query:
            page = self.list(client, query).json
            seen += [row["id"] for row in page["sessions"]]
            query = page["next"] and f"?limit=3&after={page['next']}"
        assert sorted(seen) == sorted(names)

    def test_only_the_callers_own_are_listed(self, client):
        post(client, session="anns").get_data()
        post(client, session="bobs", actor="bob").get_data()
        assert [row["id"] for row in self.list(client, actor="bob").json["sessions"]] == ["bobs"]

    def test_an_unknown_agent_has_no_list(self, client):
        assert self.list(client, agent="nobody").status_code == 404


class TestErrors:
    """The shape of what goes wrong."""

    @pytest.mark.parametrize(
        ("ask", "status", "name"),
        [
            (lambda client: post(client, " "), 400, "BadRequest"),
            (lambda client: post(client, headers={"X-Litro-Agent": "0"}), 403, "Forbidden"),
            (lambda client: get(client), 404, "NotFound"),
            (lambda client: post(client, "x" * 300_000), 413, "BodyTooLarge"),
            (
                lambda client: client.post(f"{ROUTE}/s1", data="x", headers=HEADER),
                415,
                "UnsupportedMediaType",
            ),
        ],
    )
    def test_an_error_has_a_name_a_message_and_a_status(self, client, ask, status, name):
        answer = ask(client)
        assert (answer.status_code, answer.mimetype) == (status, "application/json")
        assert set(answer.json) == {"name", "message", "status"}
        assert (answer.json["name"], answer.json["status"]) == (name, status)

    def test_an_agents_error_says_its_words_and_its_errors(self, tmp_path):
        app = site(tmp_path)
        fails(app, AgentError("closed today", status=423, errors={"until": ["eight"]}))
        answer = get(app.test_client())
        assert answer.status_code == 423
        assert answer.json == {
            "name": "AgentError",
            "message": "closed today",
            "status": 423,
            "errors": {"until": ["eight"]},
        }

    def test_any_other_error_is_an_id_that_the_log_has_too(self, tmp_path, caplog):
        app = site(tmp_path)
        fails(app, RuntimeError("canary-secret in /srv/app"))
        answer = get(app.test_client())
        assert (answer.status_code, answer.json["name"]) == (500, "InternalError")
        assert set(answer.json) == {"name", "message", "status"}
        error_id = answer.json["message"].removeprefix("internal error ")
        assert len(error_id) == 8
        assert f"internal error {error_id}" in caplog.text
        assert "canary-secret" in caplog.text
        assert b"canary" not in answer.data

    def test_the_stack_is_told_only_in_debug(self, tmp_path):
        app = site(tmp_path)
        fails(app, RuntimeError("why"))
        app.debug = True
        answer = get(app.test_client())
        assert "RuntimeError: why" in "".join(answer.json["trace"])

    @pytest.mark.parametrize(
        "path", ["/__litro", "/__litro/", "/__litro/agent", "/__litro/agent/desk/s1/turn", "/__litro/x"]
    )
    def test_a_path_that_is_no_route_is_404(self, client, path):
        assert client.get(path).status_code == 404

    @pytest.mark.parametrize("method", ["PUT", "PATCH", "TRACE", "PROPFIND"])
    def test_a_method_that_no_route_has_is_405(self, client, method):
        assert client.open(f"{ROUTE}/s1", method=method).status_code == 405


class TestHeaders:
    """What every answer under the prefix carries, whoever wrote it."""

    asks = (
        lambda client: post(client),
        lambda client: get(client),
        lambda client: get(client, headers={"Origin": "null"}),
        lambda client: get(client, session="a b"),
        lambda client: get(client, session="none"),
        lambda client: get(client, headers={"X-Locked-Out": "1"}),
        lambda client: client.get(ROUTE),
        lambda client: delete(client, session="none"),
        lambda client: client.put(f"{ROUTE}/s1"),
        lambda client: client.options(f"{ROUTE}/s1"),
        lambda client: client.get("/__litro/nothing"),
    )

    @pytest.mark.parametrize("ask", asks)
    @pytest.mark.parametrize("when", ["before", "after"])
    def test_no_answer_may_be_kept_or_sniffed(self, tmp_path, ask, when):
        """C10: our header is set last, whenever the site's own after_request was registered."""
        app = Flask("shop", instance_path=str(tmp_path))
        app.config.update(SECRET_KEY="for tests", LITRO_AGENTS=str(AGENTS), LITRO_FSYNC="never")
        if when == "before":
            app.after_request(spoil)
        LitroAgent().init_app(app)
        if when == "after":
            app.after_request(spoil)
        answer = ask(app.test_client())
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"

    def test_the_sites_own_pages_are_left_alone(self, client):
        assert "Cache-Control" not in client.get("/").headers
        assert "X-Content-Type-Options" not in client.get("/").headers

    def test_the_script_may_be_kept(self, client):
        answer = client.get("/__litro/static/litro.js")
        answer.close()
        assert answer.status_code == 200
        assert answer.headers["Cache-Control"] != "no-store"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"

    def test_another_prefix_is_guarded_alike(self, tmp_path):
        client = site(tmp_path, LITRO_URL_PREFIX="/help/litro").test_client()
        answer = client.get("/help/litro/agent/desk", headers={"X-Actor": "ann"})
        assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
        assert client.get(ROUTE).status_code == 404


def spoil(response: Response) -> Response:
    """What a site might do to every answer."""
    response.headers["Cache-Control"] = "public, max-age=3600"
    response.headers.pop("X-Content-Type-Options", None)
    return response


def fails(app, error):
    """Make the agent's access raise this error at every request."""

    def access():
        raise error

    loaded = app.extensions["litro_agent"].agents["desk"]
    object.__setattr__(loaded, "access", access)
