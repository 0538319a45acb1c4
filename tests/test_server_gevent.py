"""One gevent worker: what waits in it (readers, tools, the disk) leaves the site's own pages as fast as before."""

import contextlib
import http.server
import os
import resource
import statistics
import threading
import time
from pathlib import Path

import pytest

from flask_litro_agent import events
from flask_litro_agent.contracts import Entry, SessionKey
from flask_litro_agent.sessions.file import FileStore
from tests.servers import percentile, serve, stored, until

pytestmark = pytest.mark.server

TAILS = 300


@pytest.fixture(scope="module")
def many_files():
    """Allow this process, and the servers that it starts, a descriptor for each tail."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * TAILS + 500
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def slow_upstream():
    """A web server that answers when the event is set, and the event."""
    go = threading.Event()

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            go.wait()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"at last")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
    yield f"http://127.0.0.1:{server.server_port}/", go
    go.set()
    server.shutdown()
    server.server_close()


def time_home(server, count):
    """Return how many ms each of so many requests for the front page took, on one connection."""
    connection, times = server.connect(), []
    for _ in range(count):
        began = time.perf_counter()
        home = server.ask("GET", "/", connection=connection)
        assert home.response.read() == b"home"
        times.append((time.perf_counter() - began) * 1000)
    return times


def time_home_until(server, done):
    """Return what each request took that was made until it was done, and how many ms that were in all."""
    times, began = [], time.perf_counter()
    while not done():
        times += time_home(server, 1)
        time.sleep(0.01)
    return times, (time.perf_counter() - began) * 1000


def cpu_seconds(process):
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cost_of_home(server, process):
    """Return what 400 requests for the front page took, and the CPU seconds that the server used for them."""
    used = cpu_seconds(process)
    return time_home(server, 400), cpu_seconds(process) - used


def resident_kib(process):
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


class Background:
    """Asks for a stream and reads it to its end in a thread."""

    def __init__(self, ask):
        self.events = []
        self._thread = threading.Thread(target=lambda: self.events.extend(ask()))
        self._thread.start()

    def done(self):
        return not self._thread.is_alive()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="/proc is missing: figures need Linux")
def test_three_hundred_idle_readers_leave_the_site_fast_and_the_next_is_refused(tmp_path, many_files):
    settings = {"LITRO_MAX_TAILS": TAILS, "LITRO_MAX_ACTOR_TAILS": 2 * TAILS, "LITRO_STREAM_SECONDS": 600}
    with serve("gevent", tmp_path, **settings) as server:
        first = server.post("idle", [["say", "x"]])
        list(first)
        alone, cost_alone = cost_of_home(server, first.process)
        before = resident_kib(first.process)

        tails = [server.get("idle", "?from=99&follow=1") for _ in range(TAILS)]
        assert {tail.status for tail in tails} == {200}
        refused = server.get("idle", "?follow=1")
        assert (refused.status, refused.headers["Retry-After"]) == (503, "5")

        memory = (resident_kib(first.process) - before) / TAILS
        began, used = time.monotonic(), cpu_seconds(first.process)
        time.sleep(2)
        busy = (cpu_seconds(first.process) - used) / (time.monotonic() - began)
        beside, cost_beside = cost_of_home(server, first.process)
        print(f"\n{'GET / in ms':24}  median     p99     max")
        for name, times in (("alone", alone), (f"beside {TAILS} idle tails", beside)):
            print(
                f"{name:24} {statistics.median(times):7.1f} {percentile(times, 0.99):7.1f} {max(times):7.1f}"
            )
        print(f"an idle tail: {memory:.0f} KiB; {TAILS} of them: {busy:.0%} of one CPU")
        idling = busy * sum(beside) / 1000
        assert cost_beside < 3 * cost_alone + 2 * idling, (cost_alone, cost_beside, idling)

        assert server.post("other", [["say", "x"]], actor="bob").status == 503
        assert server.status("other", actor="bob") == 404  # refused before anything was begun
        tails[0].leave()
        until(lambda: server.status("idle", "?from=99&follow=1") == 200)


def test_every_follower_sees_the_next_turn(tmp_path, many_files):
    with serve("gevent", tmp_path, LITRO_MAX_ACTOR_TAILS=100) as server:
        list(server.post("watched", [["say", "x"]]))
        followers = [server.get("watched", "?from=6&follow=1") for _ in range(50)]
        stream = server.post("watched", [["say", "a b c", 0.02]])
        first, *_ = stream
        assert first["seq"] == 6
        for follower in followers:
            follower.next("turn-end")
            assert follower.raw.lstrip(b"\n") == stream.raw.lstrip(b"\n")


@pytest.mark.parametrize("waits_for", ["time.sleep", "requests"])
def test_a_tool_that_waits_stops_nobody_else(waits_for, tmp_path, slow_upstream):
    """It waits until the site's own pages have been answered."""
    url, answer = slow_upstream
    latch = tmp_path / "latch"
    calls = {
        "time.sleep": (["call", "latch", {"path": str(latch)}], latch.touch, "open"),
        "requests": (["call", "fetch", {"url": url}], answer.set, "at last"),
    }
    call, let_go, output = calls[waits_for]
    with serve("gevent", tmp_path) as server:
        stream = server.post("waits", [call], [["say", "done"]])
        stream.next("tool-call")
        time_home(server, 20)
        let_go()
        assert stream.next("tool-result")["payload"]["output"] == output


def test_a_model_that_never_waits_stops_nobody_else(tmp_path):
    """Nor when nobody reads what it says."""
    with serve("gevent", tmp_path, LITRO_FSYNC="never") as server:
        server.post("hurries", [["say", "a " * 30_000]]).leave()
        times, whole = time_home_until(server, lambda: stored(tmp_path, "hurries")[-1]["kind"] == "turn-end")
        assert len(times) > 4
        assert max(times) < whole / 2, (max(times), whole)


def write_history(folder, session, turns):
    """Write so many turns of 4 KiB to a session of ann."""
    store, key = FileStore(folder / "litro" / "sessions", fsync="never"), SessionKey("desk", "ann", session)
    lease = store.acquire(key, 15)
    for turn in range(turns):
        said = [
            ("turn-start", {"turn_id": f"t{turn}", "agent": "desk"}),
            ("message", {"role": "user", "text": "[[]]"}),
            ("message", {"role": "assistant", "text": "\u00e9 \n" * 1300}),
            ("turn-end", {"turn_id": f"t{turn}", "reason": "finished", "usage": {}}),
        ]
        first = 4 * turn + 1
        entries = [
            Entry(seq, kind, events.encode(seq, 1, kind, payload))
            for seq, (kind, payload) in enumerate(said, first)
        ]
        store.append(key, entries, lease)
    store.release(lease)


def test_a_long_history_stops_nobody_else(tmp_path):
    """I8: nor when a turn reads it for the first time."""
    write_history(tmp_path, "long", 1500)
    with serve("gevent", tmp_path) as server:
        asked = []
        turn = threading.Thread(target=lambda: asked.extend(server.post("long", [["say", "done"]])))
        turn.start()
        times, whole = time_home_until(server, lambda: not turn.is_alive())
        assert asked[-1]["kind"] == "turn-end"
        assert len(times) > 4
        assert max(times) < whole / 2, (max(times), whole)


@pytest.fixture
def slow_disk(tmp_path):
    """Return ``start(on_hub)``: a server whose disk holds up a turn, and the file that lets it go on."""

    @contextlib.contextmanager
    def start(*, on_hub):
        latch = tmp_path / "disk.latch"
        settings = {
            "LITRO_SESSION_STORE": "slow",
            "LITRO_SLOW_LATCH": str(latch),
            "LITRO_SLOW_ON_HUB": on_hub,
        }
        with serve("gevent", tmp_path, **settings) as server:
            turn = Background(lambda: server.post("disk", [["say", "a b c"]]))
            until(latch.with_suffix(".awaited").exists)
            yield server, latch
            until(turn.done)
            assert turn.events[-1]["kind"] == "turn-end"

    return start


def test_a_slow_disk_stops_nobody_else(slow_disk):
    with slow_disk(on_hub=False) as (server, latch):
        time_home(server, 20)
        latch.touch()


def test_control_a_slow_disk_on_the_hub_stops_everybody(slow_disk):
    with slow_disk(on_hub=True) as (server, latch):
        with contextlib.closing(server.connect(seconds=1)) as connection, pytest.raises(TimeoutError):
            server.ask("GET", "/", connection=connection)
        latch.touch()


def test_many_turns_at_once_all_end(tmp_path):
    settings = {"LITRO_MAX_ACTOR_TURNS": 50, "LITRO_MAX_ACTOR_TAILS": 50}
    with serve("gevent", tmp_path, **settings) as server:
        streams = [server.post(f"s{n}", [["say", "a b c d", 0.05]]) for n in range(40)]
        ends = [stream.next("turn-end")["payload"]["reason"] for stream in streams]
        assert ends == ["finished"] * 40
