"""The promises of a stream under every server: a turn outlives its readers, and its readers miss nothing."""

import os
import signal
import time

import pytest

from tests.servers import serve, spelt, stored, until

pytestmark = pytest.mark.server

KINDS = ("flask", "gthread", "gevent", "waitress", "waitress with lookahead", "gevent.pywsgi")
BLIND = ("waitress", "gevent.pywsgi")  # these do not show us the client's socket
TAILS = 3
WORDS = [["say", " ".join("abcdefghijkl"), 0.05]]
LONG = [["say", " ".join("abcdefghijkl" * 60), 0.05]]
FOREVER = [["say", "a"], ["sleep", 3600]]


def ends(server, session):
    """Return the reason of each turn-end in a session's log."""
    return [event["payload"]["reason"] for event in server.events(session) if event["kind"] == "turn-end"]


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def running(kind, tmp_path_factory):
    settings = {
        "LITRO_HEARTBEAT_SECONDS": 0.4 if kind in BLIND else 300,
        "LITRO_STREAM_SECONDS": 300,
        "LITRO_MAX_ACTOR_TAILS": TAILS,
        "LITRO_MAX_TAILS": 50,  # what one test left must not be counted against the next
    }
    with serve(kind, tmp_path_factory.mktemp("site"), **settings) as server:
        yield server


@pytest.fixture
def server(running):
    yield running
    running.hang_up()


class TestEveryServer:
    def test_words_arrive_as_they_are_said(self, server, tmp_path):
        """Each word is here before the next one is said."""
        rounds, latches = spelt("a b c d", tmp_path)
        stream = server.post("words", *rounds)
        assert stream.words(latches) == ["a", "b", "c", "d"]
        assert stream.next("turn-end")["payload"]["reason"] == "finished"

    def test_the_wire_and_a_replay_are_the_same_bytes(self, server):
        stream = server.post(
            "bytes", [["think", "hm"], ["say", "ä\u2028𝄞"], ["call", "echo", {"value": "x"}]]
        )
        list(stream)
        assert stream.raw.lstrip(b"\n") == server.replay("bytes")

    def test_a_client_that_leaves_after_the_first_word_loses_nothing(self, server):
        stream = server.post("left", WORDS)
        stream.next("text-delta")
        stream.leave()
        events = server.events("left")
        text = "".join(event["payload"]["text"] for event in events if event["kind"] == "text-delta")
        assert text.split() == list("abcdefghijkl")
        assert events[-1]["payload"]["reason"] == "finished"

    def test_a_second_message_is_refused_with_the_running_turn(self, server):
        stream = server.post("busy", FOREVER)
        refused = server.post("busy", WORDS)
        assert (refused.status, refused.turn) == (409, stream.turn)
        assert stream.turn in refused.json()["message"]
        assert server.stop("busy", stream.turn) == 202

    def test_a_stop_ends_a_turn_in_the_middle(self, server):
        stream = server.post("stopped", FOREVER)
        stream.next("text-delta")
        assert server.stop("stopped", stream.turn) == 202
        assert stream.next("turn-end")["payload"]["reason"] == "stopped"

    def test_a_silent_client_that_leaves_gives_its_slot_back(self, server, kind):
        list(server.post("idle", [["say", "x"]], actor="bob"))
        tails = [server.follow("idle", "?from=9&follow=1", actor="bob") for _ in range(TAILS)]
        refused = server.get("idle", "?follow=1", actor="bob")
        assert (refused.status, refused.headers["Retry-After"]) == (503, "5")
        tails[0].leave()
        # by the heartbeats of a blind server; the others' first heartbeat is far away
        seconds = until(lambda: server.status("idle", "?follow=1", actor="bob") == 200)
        print(f"\n{kind}: departure noticed after {seconds:.2f} s")

    def test_asking_for_the_headers_alone_takes_no_slot(self, server):
        list(server.post("head", [["say", "x"]]))
        path = "/__litro/agent/desk/head"
        answers = [server.ask("HEAD", path) for _ in range(TAILS + 2)]
        assert {answer.status for answer in answers} == {200}
        assert {answer.response.read() for answer in answers} == {b""}
        assert answers[0].headers["Litro-Last-Seq"] == answers[-1].headers["Litro-Last-Seq"]

    def test_a_connection_serves_again_after_a_stream(self, server, kind):
        if kind == "flask":
            return  # its server closes every connection
        stream = server.post("kept", [["say", "x"]])
        list(stream)
        socket = stream.connection.sock
        again = server.get("kept", connection=stream.connection)
        assert again.connection.sock is socket
        assert [event["kind"] for event in again][-1] == "turn-end"


@pytest.fixture(scope="module", params=["gthread", "gevent", "gevent --preload"])
def running_pair(request, tmp_path_factory):
    kind, *options = request.param.split()
    with serve(kind, tmp_path_factory.mktemp("site"), "-w", "2", "--keep-alive", "30", *options) as server:
        yield server


@pytest.fixture
def pair(running_pair):
    yield running_pair
    running_pair.hang_up()


@pytest.fixture
def workers(pair):
    return pair.connect_workers()


class TestTwoWorkers:
    """Two processes on one folder: each is told of the other's turns by the store alone."""

    def test_a_turn_in_the_other_process_is_named_in_the_refusal(self, pair, workers):
        stream = pair.post("busy", LONG, connection=workers[0])
        refused = pair.post("busy", WORDS, connection=workers[1])
        assert refused.process != stream.process
        assert (refused.status, refused.turn) == (409, stream.turn)

    def test_a_tail_in_the_other_process_sees_the_turn_live(self, pair, workers, tmp_path):
        """Each word is there before the next one is said."""
        rounds, latches = spelt("a b c d", tmp_path)
        stream = pair.post("tail", *rounds, connection=workers[0])
        tail = pair.get("tail", connection=workers[1])
        assert (tail.turn, tail.process != stream.process) == (stream.turn, True)
        assert tail.words(latches) == ["a", "b", "c", "d"]
        assert tail.next("turn-end")["payload"]["reason"] == "finished"
        list(stream)
        assert tail.raw.lstrip(b"\n") == stream.raw.lstrip(b"\n")

    def test_a_stop_reaches_the_other_process(self, pair, workers):
        stream = pair.post("stopped", FOREVER, connection=workers[0])
        stream.next("text-delta")
        assert pair.stop("stopped", stream.turn, connection=workers[1]) == 202
        assert stream.next("turn-end")["payload"]["reason"] == "stopped"

    def test_each_process_takes_its_turn_on_one_session(self, pair, workers):
        for connection in (*workers, *workers):
            assert [event["kind"] for event in pair.post("both", [["say", "x"]], connection=connection)][
                -1
            ] == "turn-end"
        assert ends(pair, "both") == ["finished"] * 4

    def test_after_kill_9_the_other_process_replays_what_was_shown_and_says_interrupted(self, pair, workers):
        stream = pair.post("killed", LONG, connection=workers[0])
        stream.next("text-delta")
        stream.next("text-delta")
        os.kill(stream.process, signal.SIGKILL)
        assert "turn-end" not in [event["kind"] for event in stream]
        assert pair.replay("killed").startswith(stream.raw.lstrip(b"\n"))
        assert ends(pair, "killed") == ["interrupted"]


class TestTheEndOfAProcess:
    """SIGTERM: a short turn is finished, a long one says that it was interrupted."""

    @pytest.mark.parametrize("kind", ["gthread", "gevent"])
    def test_gunicorn_lets_short_turns_finish_and_long_ones_say_that_they_were_interrupted(
        self, kind, tmp_path
    ):
        options = ("--graceful-timeout", "10")
        with serve(kind, tmp_path, *options, LITRO_GRACE_SECONDS=3) as server:
            list(server.post("idle", [["say", "x"]]))
            server.get("idle", "?follow=1")
            long = server.post("long", LONG)
            short = server.post("short", WORDS)
            short.next("text-delta")
            short.leave()
            began = time.monotonic()
            assert server.terminate() == 0
            print(f"\n{kind}: SIGTERM to exit {time.monotonic() - began:.1f} s")
            assert "SIGKILL" not in server.log
            cut = [event["kind"] for event in long]
        assert stored(tmp_path, "short")[-1]["payload"]["reason"] == "finished"
        assert stored(tmp_path, "long")[-1]["payload"]["reason"] == "interrupted"
        assert "turn-end" not in cut

    @pytest.mark.parametrize("kind", ["flask", "waitress"])
    def test_a_server_that_dies_at_once_leaves_a_whole_log_and_the_next_says_interrupted(
        self, kind, tmp_path
    ):
        with serve(kind, tmp_path) as server:
            stream = server.post("cut", LONG)
            stream.next("text-delta")
            stream.next("text-delta")
            server.terminate()
            assert "turn-end" not in [event["kind"] for event in stream]
        assert stored(tmp_path, "cut")[-1]["kind"] == "text-delta"  # nobody wrote an end
        with serve(kind, tmp_path) as server:
            assert server.replay("cut").startswith(stream.raw.lstrip(b"\n"))
            assert ends(server, "cut") == ["interrupted"]


def test_a_worker_for_one_request_at_a_time_says_what_to_start_instead(tmp_path):
    with serve("sync", tmp_path) as server:
        refused = server.post("s", WORDS)
        assert (refused.status, refused.headers["Retry-After"]) == (503, "60")
        assert "start it with -k gevent or -k gthread" in refused.json()["message"]
        assert server.status("s") == 404  # nothing was begun
        assert server.ask("GET", "/").status == 200


def test_full_pools_leave_a_thread_for_the_site(tmp_path):
    """Four of the eight threads may stream; a fifth is refused, and the site's pages are served."""
    with serve("gthread", tmp_path) as server:
        list(server.post("idle", [["say", "x"]]))
        for _ in range(4):
            server.follow("idle")
        assert server.status("idle", "?follow=1") == 503
        assert server.ask("GET", "/").status == 200
