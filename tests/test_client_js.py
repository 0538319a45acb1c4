"""litro.js in a real Chromium, against a server that fails on request."""

from __future__ import annotations

import itertools
import json
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page as BrowserPage

from tests import client_files
from tests.fake_wire import FakeWire, Fault, Log, Page, Turn

pytest_plugins = ["tests.browser"]
pytestmark = pytest.mark.browser

PRELUDE = """async (given) => {
  const litro = await import(given.prefix + "/static/litro.js");
  const timing = {first: 4, longest: 30, apart: 20, headers: 3000, silence: 3000, attempts: 6, ...given.timing};
  const open = (id, options) => litro.agentSession("demo", id, {timing, ...options});
  const gather = async (events, into = []) => { for await (const event of events) into.push(event); return into; };
  const fault = (error) => ({type: error.constructor.name, name: error.name, message: error.message,
                             status: error.status ?? null, turnId: error.turnId ?? null});
  const attempt = async (events) => {
    const into = [];
    try { await gather(events, into); } catch (error) { return {events: into, error: fault(error)}; }
    return {events: into};
  };
  const naive = async (id, from) => {
    const response = await fetch(`${given.prefix}/agent/demo/${id}?from=${from}`);
    const events = [];
    try {
      const reader = response.body.getReader();
      for (let step; !(step = await reader.read()).done;)
        for (const line of new TextDecoder().decode(step.value).split("\\n"))
          try { events.push(JSON.parse(line)); } catch { }
    } catch { }
    return events;
  };
  const moment = (ms) => new Promise((done) => setTimeout(done, ms));
"""
IN_TIME = """(given) => Promise.race([(%s)(given), new Promise((_, refuse) =>
  setTimeout(() => refuse(new Error("it took longer than 25 seconds")), 25_000))])"""
Run = Callable[..., Any]


def serve_client(wire: FakeWire) -> None:
    """Serve the module's files where the blueprint has them, and an empty page."""
    wire.pages["/"] = Page("text/html", b"<!doctype html><title>empty</title><link rel=icon href=data:,>")
    client_files.serve(wire)


@pytest.fixture
def wire() -> Iterator[FakeWire]:
    wire = FakeWire()
    serve_client(wire)
    yield wire
    wire.close()


@pytest.fixture
def run(wire: FakeWire, page: BrowserPage) -> Run:
    """Run JavaScript with the client at hand; ``given`` has the keywords, ``timing`` shortens the waits."""
    page.goto(wire.url)

    def run(script: str, **given: Any) -> Any:
        given = {"prefix": wire.prefix, "timing": {}, **given}
        return page.evaluate(IN_TIME % (PRELUDE + script + "}"), given)

    return run


def events_of(log: Log) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.lines]


def eventually(claim: Callable[[], object], seconds: float = 10) -> None:
    """Wait until the claim holds."""
    until = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.01)


def finished_log(wire: FakeWire, session: str, *texts: str) -> Log:
    """A session that had these turns before."""
    log = wire.log(session)
    for text in texts or ("hello",):
        turn = log.begin(text)
        log.run(turn, wire.script(turn))
    return log


def pausing(first: int) -> tuple[Callable[[Turn], Iterator[Any]], Callable[[], None]]:
    """A script that says so many words and then waits; and what lets it go on."""
    go = threading.Event()

    def script(turn: Turn) -> Iterator[Any]:
        for number in range(first):
            yield "text-delta", {"text": f"{number} "}
        while not go.wait(0.01) and not turn.stop.is_set():
            continue
        yield "text-delta", {"text": "after"}

    return script, go.set


def test_send_posts_the_text_and_yields_the_turn(wire: FakeWire, run: Run) -> None:
    found = run("""
      const session = open("s");
      const events = await gather(session.send("Zelt für 2?"));
      return {events, lastSeq: session.lastSeq, turn: session.turn};
    """)
    assert found == {"events": events_of(wire.log("s")), "lastSeq": len(wire.log("s").lines), "turn": None}
    (post,) = wire.seen("POST", "s")
    assert json.loads(post.body) == {"text": "Zelt für 2?"}
    assert post.headers["x-litro-agent"] == "1"
    assert post.headers["content-type"] == "application/json"
    assert wire.seen("GET", "s") == []


def test_cookies_of_the_site_travel_along(wire: FakeWire, run: Run) -> None:
    run('document.cookie = "session=me; path=/"; await gather(open("s").send("x"));')
    assert wire.seen("POST", "s")[0].headers["cookie"] == "session=me"


def test_events_arrive_while_the_turn_runs(wire: FakeWire, run: Run) -> None:
    wire.script, go_on = pausing(2)
    run('globalThis.session = open("s"); globalThis.seen = []; gather(session.send("x"), seen);')
    eventually(lambda: run("return seen.length") == 4)
    assert run("return session.turn") == "t1"
    go_on()
    eventually(lambda: run("return session.turn") is None)


def test_the_prefix_is_where_the_module_stands(page: BrowserPage) -> None:
    wire = FakeWire(prefix="/shop/agents")
    serve_client(wire)
    page.goto(wire.url)
    page.evaluate(PRELUDE + 'await gather(open("s").send("x"));}', {"prefix": wire.prefix})
    assert [post.path for post in wire.seen("POST", "s")] == ["/shop/agents/agent/demo/s"]
    wire.close()


def test_the_base_option_beats_the_prefix(wire: FakeWire, run: Run) -> None:
    run('await attempt(open("s", {base: "/other"}).resume());')
    assert [seen.path for seen in wire.requests][-1] == "/other/agent/demo/s"


def test_a_bad_session_id_is_refused_before_any_request(run: Run) -> None:
    assert run('try { open("a/b"); } catch (error) { return error.name; }') == "RangeError"


def test_a_running_turn_is_a_session_busy_that_names_it(wire: FakeWire, run: Run) -> None:
    turn = wire.log("s").begin("other tab")
    found = run('return attempt(open("s").send("x"));')
    assert found["error"]["name"] == "SessionBusy"
    assert (found["error"]["status"], found["error"]["turnId"]) == (409, turn.id)
    assert len(wire.seen("POST", "s")) == 1


def test_a_refusal_carries_the_servers_own_sentence(wire: FakeWire, run: Run) -> None:
    body = json.dumps({"name": "Forbidden", "message": "not for you", "status": 403}).encode()
    wire.log("s").faults.append(Fault(status=403, body=body))
    error = run('return attempt(open("s").send("x"));')["error"]
    assert (error["type"], error["name"], error["status"]) == ("AgentHTTPError", "Forbidden", 403)
    assert error["message"] == "not for you"


def test_a_redirect_to_a_sign_in_page_is_an_error_and_not_followed(wire: FakeWire, run: Run) -> None:
    wire.log("s").faults.append(Fault(status=302, headers={"Location": "/sign-in"}))
    assert run('return attempt(open("s").send("x"));')["error"]["name"] == "Redirected"
    assert all(seen.path != "/sign-in" for seen in wire.requests)


def test_an_answer_that_is_no_stream_is_an_error(wire: FakeWire, run: Run) -> None:
    wire.log("s").faults.append(Fault(status=200, headers={"Content-Type": "text/html"}, body=b"<p>hi"))
    assert run('return attempt(open("s").send("x"));')["error"]["name"] == "NotAStream"


def test_an_unread_session_begins_with_the_turn_that_was_sent(wire: FakeWire, run: Run) -> None:
    log = finished_log(wire, "s", "old")
    before = len(log.lines)
    assert run('return gather(open("s").send("new"));') == events_of(log)[before:]
    assert wire.seen("GET", "s") == []


def test_a_read_session_gets_first_what_others_did_meanwhile(wire: FakeWire, run: Run) -> None:
    log = finished_log(wire, "s", "other tab")
    assert run('return gather(open("s", {lastSeq: 3}).send("new"));') == events_of(log)[3:]
    assert len(wire.seen("POST", "s")) == 1


def test_a_cut_at_any_byte_of_a_turn_loses_and_repeats_nothing(wire: FakeWire, run: Run) -> None:
    whole = finished_log(wire, "measure", "é")
    offsets = range(0, sum(map(len, whole.lines)), 3)
    for offset in offsets:
        wire.log(f"s{offset}").faults.append(Fault(cut=offset))
    for first in range(0, len(offsets), 20):  # all at once are more than a busy machine answers in time
        found = run(
            'return Promise.all(given.offsets.map((offset) => gather(open("s" + offset).send("é"))));',
            offsets=list(offsets[first : first + 20]),
        )
        assert all(events == events_of(whole) for events in found)
    assert all(len(wire.seen("POST", f"s{offset}")) == 1 for offset in offsets)
    assert all(len(wire.seen("GET", f"s{offset}")) == 1 for offset in offsets)


def test_a_reader_without_these_rules_is_hurt_by_the_same_cut(wire: FakeWire, run: Run) -> None:
    log = finished_log(wire, "s")
    log.faults.append(Fault(cut=len(b"".join(log.lines[:3])) + 70))
    assert run('return naive("s", 1);') != events_of(log)


def test_lines_and_letters_that_are_split_over_chunks_stay_whole(wire: FakeWire, run: Run) -> None:
    log = finished_log(wire, "s", "水🏔️")
    log.faults += [Fault(pieces=5), Fault(pieces=5)]
    assert run('return naive("s", 1);') != events_of(log)
    assert run('return gather(open("s").resume(1));') == events_of(log)
    assert len(wire.seen("GET", "s")) == 2


def test_a_response_with_a_hole_is_left_at_once(wire: FakeWire, run: Run) -> None:
    log = wire.log("s")
    log.begin("running")
    log.append(("text-delta", {"text": "a"}), ("text-delta", {"text": "b"}))
    log.faults.append(Fault(lose=3))
    run('globalThis.seen = []; gather(open("s").resume(), seen);')
    eventually(lambda: run("return seen.length") == len(log.lines))
    eventually(lambda: wire.open_streams == 1, seconds=5)


def test_blank_lines_are_skipped(wire: FakeWire, run: Run) -> None:
    log = finished_log(wire, "s")
    log.faults.append(Fault(lead=b"\n\n\r\n"))
    assert run('return gather(open("s").resume());') == events_of(log)
    assert len(wire.seen("GET", "s")) == 1


def test_a_line_that_comes_twice_is_handed_out_once(wire: FakeWire, run: Run) -> None:
    log = finished_log(wire, "s")
    log.faults += [Fault(twice=True), Fault(twice=True)]
    assert run('return naive("s", 1);') != events_of(log)
    assert run('return gather(open("s").resume());') == events_of(log)


@pytest.mark.parametrize("fault", [Fault(lose=4), Fault(garble=4)], ids=["lost", "unreadable"])
def test_a_line_that_is_missing_is_asked_for_again(wire: FakeWire, run: Run, fault: Fault) -> None:
    log = finished_log(wire, "s")
    log.faults += [fault, fault]
    assert run('return naive("s", 1);') != events_of(log)
    assert run('return gather(open("s").resume());') == events_of(log)
    assert [seen.query["from"] for seen in wire.seen("GET", "s")] == ["1", "1", "4"]


def test_the_same_hole_twice_is_an_error(wire: FakeWire, run: Run) -> None:
    log = finished_log(wire, "s")
    log.faults += [Fault(lose=4), Fault(lose=4)]
    found = run('return attempt(open("s").resume());')
    assert found["events"] == events_of(log)[:3]
    assert found["error"]["name"] == "StreamError"
    assert "hole" in found["error"]["message"]
    assert len(wire.seen("GET", "s")) == 2


def test_a_stream_that_never_ends_its_turn_is_given_up(wire: FakeWire, run: Run) -> None:
    log = wire.log("s")
    wire.script, go_on = pausing(1)
    log.faults += [Fault(end=3)] + [Fault(end=0)] * 50
    found = run('return attempt(open("s").send("x"));', timing={"attempts": 5})
    assert found["events"] == events_of(log)[:3]
    assert "gave up after 5 attempts without progress" in found["error"]["message"]
    assert (len(wire.seen("POST", "s")), len(wire.seen("GET", "s"))) == (1, 5)
    go_on()


def test_progress_makes_patience_whole_again(wire: FakeWire, run: Run) -> None:
    log = finished_log(wire, "s", "one", "two", "three")
    log.faults += [Fault(end=1)] * (len(log.lines) - 1)
    assert run('return gather(open("s").resume());', timing={"attempts": 2}) == events_of(log)


def test_pauses_grow_and_have_jitter_and_a_cap(wire: FakeWire, run: Run) -> None:
    log = finished_log(wire, "s")
    log.faults += [Fault(status=502)] * 6
    run('return gather(open("s").resume());', timing={"first": 40, "longest": 160})
    times = [seen.at for seen in wire.seen("GET", "s")]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert all(gap >= least for gap, least in zip(gaps, [0.02, 0.04, 0.08, 0.08, 0.08, 0.08], strict=True))
    assert sum(gaps) < 10


def test_heartbeats_keep_a_silent_stream(wire: FakeWire, run: Run) -> None:
    wire.heartbeat_seconds = 0.05
    wire.script, go_on = pausing(0)
    run('globalThis.seen = []; gather(open("s").send("x"), seen);', timing={"silence": 1000})
    time.sleep(1.5)  # longer than the silence that is borne
    assert wire.seen("GET", "s") == []
    go_on()
    eventually(lambda: run("return seen.at(-1)?.kind") == "turn-end")


def test_a_stream_without_heartbeats_is_cut_and_asked_again(wire: FakeWire, run: Run) -> None:
    wire.log("s").faults.append(Fault(freeze=100))
    assert run('return gather(open("s").send("x"));', timing={"silence": 150}) == events_of(wire.log("s"))
    assert len(wire.seen("GET", "s")) == 1


def test_a_response_that_lived_long_counts_as_no_failure(wire: FakeWire, run: Run) -> None:
    wire.script, go_on = pausing(1)
    wire.stream_seconds = 0.1
    script = 'globalThis.seen = []; globalThis.done = attempt(open("s").send("x"), seen);'
    run(script, timing={"attempts": 1, "steady": 50})
    eventually(lambda: len(wire.seen("GET", "s")) > 4)
    go_on()
    assert run("return done;")["events"] == events_of(wire.log("s"))


def test_retry_after_is_honoured_by_a_reader(wire: FakeWire, run: Run) -> None:
    log = finished_log(wire, "s")
    log.faults.append(Fault(status=503, headers={"Retry-After": "1"}))
    assert run('return gather(open("s").resume());') == events_of(log)
    first, second = wire.seen("GET", "s")
    assert second.at - first.at > 0.95


def test_a_retry_after_that_is_too_long_is_left_to_the_caller(wire: FakeWire, run: Run) -> None:
    finished_log(wire, "s").faults.append(Fault(status=429, headers={"Retry-After": "3600"}))
    assert run('return attempt(open("s").resume());')["error"]["status"] == 429


def test_a_post_that_the_server_put_off_is_posted_when_it_said(wire: FakeWire, run: Run) -> None:
    wire.log("s").faults.append(Fault(status=503, headers={"Retry-After": "1"}))
    assert run('return gather(open("s").send("x"));') == events_of(wire.log("s"))
    first, second = wire.seen("POST", "s")
    assert second.at - first.at > 0.95


@pytest.mark.parametrize(
    "fault", [Fault(mute=True), Fault(cut=0), Fault(end=0)], ids=["no headers", "no body", "empty body"]
)
@pytest.mark.parametrize("read", [0, 1], ids=["an unread session", "a read session"])
def test_an_answer_that_is_lost_is_continued_by_get_and_never_posted_again(
    wire: FakeWire, run: Run, fault: Fault, read: int
) -> None:
    log = finished_log(wire, "s", "before")
    before = len(log.lines)
    log.faults.append(fault)
    wire.script, go_on = pausing(1)
    options = {"lastSeq": before} if read else {}
    run('globalThis.done = attempt(open("s", given.options).send("x"));', options=options)
    eventually(lambda: wire.seen("GET", "s"))
    go_on()
    assert run("return done;") == {"events": events_of(log)[before:]}
    assert (len(wire.seen("POST", "s")), len(wire.seen("GET", "s"))) == (1, 1)


def test_a_message_that_is_lost_is_found_although_its_turn_is_over(wire: FakeWire, run: Run) -> None:
    log = finished_log(wire, "s", "x")
    before = len(log.lines)
    log.faults += [Fault(mute=True), Fault(drop=True)]
    assert (
        run('return gather(open("s", {lastSeq: given.before}).send("x"));', before=before)
        == events_of(log)[before:]
    )
    assert len(wire.seen("POST", "s")) == 1


def test_a_turn_of_another_tab_is_not_taken_for_the_lost_message(wire: FakeWire, run: Run) -> None:
    log = wire.log("s")
    log.faults.append(Fault(drop=True))
    other = log.begin("another tab")
    run('globalThis.done = attempt(open("s", {lastSeq: 0}).send("x"));')
    eventually(lambda: wire.seen("GET", "s"))
    log.end(other, "finished")
    found = run("return done;")
    assert found["events"] == events_of(log)
    assert found["error"]["name"] == "SendFailed"


@pytest.mark.parametrize(
    "fault", [Fault(drop=True), Fault(hang=True), Fault(status=502)], ids=["drop", "hang", "502"]
)
@pytest.mark.parametrize("texts", [(), ("before",)], ids=["a new session", "an old session"])
def test_a_message_that_did_not_arrive_is_an_error_and_not_posted_again(
    wire: FakeWire, run: Run, fault: Fault, texts: tuple[str, ...]
) -> None:
    log = finished_log(wire, "s", *texts) if texts else wire.log("s")
    log.faults.append(fault)
    found = run(
        'return attempt(open("s", {lastSeq: given.last}).send("x"));',
        last=len(log.lines),
        timing={"headers": 300},
    )
    assert found["events"] == []
    assert found["error"]["name"] == "SendFailed"
    assert "did not arrive" in found["error"]["message"]
    assert len(wire.seen("POST", "s")) == 1
    assert 2 <= len(wire.seen("GET", "s")) <= 4


def test_doubt_about_a_session_that_was_never_read_is_said(wire: FakeWire, run: Run) -> None:
    finished_log(wire, "s", "x").faults.append(Fault(drop=True))
    error = run('return attempt(open("s").send("x"));')["error"]
    assert error["name"] == "SendFailed"
    assert "nobody knows" in error["message"]


def test_resume_replays_an_idle_session_to_its_last_event(wire: FakeWire, run: Run) -> None:
    log = finished_log(wire, "s", "one", "two")
    assert run('return gather(open("s").resume());') == events_of(log)


def test_resume_begins_at_the_seq_that_is_asked_for(wire: FakeWire, run: Run) -> None:
    log = finished_log(wire, "s")
    assert run('return gather(open("s").resume(4));') == events_of(log)[3:]


def test_resume_goes_on_after_the_last_event(wire: FakeWire, run: Run) -> None:
    log = finished_log(wire, "s")
    script = 'const session = open("s"); await gather(session.resume()); return gather(session.resume());'
    assert run(script) == []
    assert [seen.query["from"] for seen in wire.seen("GET", "s")] == ["1", str(len(log.lines) + 1)]


def test_resume_tails_the_running_turn_to_its_end(wire: FakeWire, run: Run) -> None:
    log = finished_log(wire, "s")
    turn = log.begin("running")
    run(
        'globalThis.session = open("s"); globalThis.seen = []; globalThis.done = gather(session.resume(), seen);'
    )
    eventually(lambda: run("return seen.length") == len(log.lines))
    assert run("return session.turn") == turn.id
    log.end(turn, "finished")
    assert run("return done;") == events_of(log)


def test_resume_of_a_turn_that_ended_during_the_cut_reads_its_end(wire: FakeWire, run: Run) -> None:
    log = wire.log("s")
    turn = log.begin("running")
    log.faults += [Fault(cut=20), Fault(drop=True)]
    run('globalThis.done = gather(open("s").resume());')
    eventually(lambda: wire.seen("GET", "s"))
    log.end(turn, "interrupted")
    assert run("return done;") == events_of(log)


def test_an_unknown_session_is_a_404(run: Run) -> None:
    error = run('return attempt(open("s").resume());')["error"]
    assert (error["status"], error["name"]) == (404, "NotFound")


def test_follow_stays_for_what_others_do(wire: FakeWire, run: Run) -> None:
    log = finished_log(wire, "s")
    run('globalThis.session = open("s"); globalThis.seen = []; gather(session.follow(), seen);')
    eventually(lambda: run("return seen.length") == len(log.lines))
    turn = log.begin("from another tab")
    eventually(lambda: run("return session.turn") == turn.id)
    log.end(turn, "finished")
    eventually(lambda: run("return seen.length") == len(log.lines))
    assert run("return seen") == events_of(log)
    assert run("return session.turn") is None
    assert len(wire.seen("GET", "s")) == 1


def test_a_turn_without_an_end_in_an_old_log_is_not_running(wire: FakeWire, run: Run) -> None:
    log = wire.log("s")
    log.begin("died")
    log.turn = None
    assert run('const session = open("s"); await gather(session.resume()); return session.turn;') is None


def test_follow_comes_back_for_ever_at_a_capped_rate(wire: FakeWire, run: Run) -> None:
    log = finished_log(wire, "s")
    wire.stream_seconds = 0.01
    run('globalThis.seen = []; gather(open("s").follow(), seen);', timing={"apart": 100, "attempts": 2})
    eventually(lambda: len(wire.seen("GET", "s")) >= 8)
    turn = log.begin("late")
    log.end(turn, "finished")
    eventually(lambda: run("return seen.length") == len(log.lines))
    times = [seen.at for seen in wire.seen("GET", "s")]
    assert (times[7] - times[0]) / 7 > 0.09


def test_follow_survives_a_server_that_is_away(wire: FakeWire, run: Run) -> None:
    log = finished_log(wire, "s")
    wire.stream_seconds = 0.2
    script = "globalThis.states = []; globalThis.seen = []; "
    run(script + 'gather(open("s", {onstate: (state) => states.push(state)}).follow(), seen);')
    eventually(lambda: run("return seen.length") == len(log.lines))
    wire.close_door()
    eventually(lambda: run("return states.at(-1)") == "waiting")
    turn = log.begin("meanwhile")
    log.end(turn, "finished")
    wire.open_door()
    eventually(lambda: run("return seen.length") == len(log.lines))
    assert run("return seen") == events_of(log)
    assert run("return states") == ["waiting", "open"]


def test_nothing_is_asked_while_the_browser_is_offline(wire: FakeWire, run: Run, page: BrowserPage) -> None:
    log = finished_log(wire, "s")
    wire.stream_seconds = 0.1
    script = "globalThis.states = []; globalThis.seen = []; "
    run(script + 'gather(open("s", {onstate: (state) => states.push(state)}).follow(), seen);')
    eventually(lambda: run("return seen.length") == len(log.lines))
    page.context.set_offline(True)
    eventually(lambda: page.evaluate("states.at(-1)") == "offline")
    asked = len(wire.seen("GET", "s"))
    turn = log.begin("meanwhile")
    log.end(turn, "finished")
    page.wait_for_timeout(300)
    assert len(wire.seen("GET", "s")) == asked
    page.context.set_offline(False)
    eventually(lambda: page.evaluate("seen.length") == len(log.lines))


def test_leaving_the_loop_cancels_the_request(wire: FakeWire, run: Run) -> None:
    wire.script, go_on = pausing(3)
    run('for await (const event of open("s").send("x")) if (event.seq === 3) break;')
    eventually(lambda: wire.open_streams == 0, seconds=5)
    assert wire.log("s").turn is not None
    go_on()


def test_an_iterator_that_is_left_waiting_ends_at_once(wire: FakeWire, run: Run) -> None:
    finished_log(wire, "s")
    found = run(
        """
      const events = open("s", {lastSeq: given.last}).follow();
      const pending = events.next();
      await moment(200);
      await events.return();
      return [await pending, await events.next()];
    """,
        last=len(wire.log("s").lines),
    )
    assert [step["done"] for step in found] == [True, True]
    eventually(lambda: wire.open_streams == 0, seconds=5)


@pytest.mark.parametrize("where", ["session", "call"])
@pytest.mark.parametrize("method", ["send", "resume", "follow"])
def test_a_signal_ends_it_everywhere(wire: FakeWire, run: Run, method: str, where: str) -> None:
    wire.script, go_on = pausing(0)
    if method != "send":
        wire.log("s").begin("running")
    error = run(
        """
      const control = new AbortController();
      const session = open("s", given.where === "session" ? {signal: control.signal} : {});
      const first = given.method === "send" ? "x" : undefined;
      const done = attempt(session[given.method](first, given.where === "call" ? {signal: control.signal} : {}));
      setTimeout(() => control.abort(), 150);
      return (await done).error;
    """,
        where=where,
        method=method,
    )["name"]
    assert error == "AbortError"
    eventually(lambda: wire.open_streams == 0, seconds=5)
    go_on()


def test_a_signal_ends_a_pause(wire: FakeWire, run: Run) -> None:
    finished_log(wire, "s").faults.append(Fault(status=503, headers={"Retry-After": "20"}))
    found = run("""
      const done = attempt(open("s", {signal: AbortSignal.timeout(150)}).resume());
      return (await done).error.name;
    """)
    assert found == "TimeoutError"


def test_stop_names_the_running_turn(wire: FakeWire, run: Run) -> None:
    wire.script, _ = pausing(1)
    found = run("""
      const session = open("s");
      const events = [];
      for await (const event of session.send("x")) {
        events.push(event);
        if (event.kind === "text-delta" && session.turn) await session.stop();
      }
      return events.at(-1).payload.reason;
    """)
    assert found == "stopped"
    (delete,) = [seen for seen in wire.requests if seen.method == "DELETE"]
    assert delete.path == "/__litro/agent/demo/s/turn/t1"
    assert delete.headers["x-litro-agent"] == "1"


def test_stop_waits_for_the_headers_of_its_post(wire: FakeWire, run: Run) -> None:
    wire.script, _ = pausing(1)
    found = run("""
      const session = open("s");
      const done = gather(session.send("x"));
      return [await session.stop(), (await done).at(-1).payload.reason];
    """)
    assert found == [True, "stopped"]


def test_stop_without_a_turn_asks_nothing(wire: FakeWire, run: Run) -> None:
    assert run('return open("s").stop();') is False
    assert all(seen.method == "GET" for seen in wire.requests)


def test_session_ids_are_fresh_and_allowed_everywhere(run: Run) -> None:
    ids = run("return Array.from({length: 500}, litro.newSessionId);")
    assert len(set(ids)) == 500
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{22}", name) for name in ids)


def test_sessions_are_listed_page_by_page(wire: FakeWire, run: Run) -> None:
    for name in ("a", "b", "c"):
        finished_log(wire, name)
    found = run("""
      const names = [];
      for (let cursor, page; !page || cursor; cursor = page.next) {
        page = await litro.listSessions("demo", {cursor});
        names.push(page.sessions.map(({id}) => id));
      }
      return names;
    """)
    assert found == [["a", "b"], ["c"]]


def test_a_deleted_session_is_gone(wire: FakeWire, run: Run) -> None:
    finished_log(wire, "s")
    script = 'return [await litro.deleteSession("demo", "s"), await litro.deleteSession("demo", "s")];'
    assert run(script) == [True, False]
    assert "s" not in wire.logs


def random_fault(source: random.Random) -> Fault:
    """Something that may happen to a response and that the next one may heal."""
    kind = source.choice(["cut", "end", "twice", "drop", "status", "lead", "cut-twice"])
    match kind:
        case "cut":
            return Fault(cut=source.randrange(900))
        case "cut-twice":
            return Fault(cut=source.randrange(900), twice=True)
        case "end":
            return Fault(end=source.randrange(8))
        case "twice":
            return Fault(twice=True)
        case "drop":
            return Fault(drop=True)
        case "status":
            return Fault(status=source.choice([500, 502, 503, 504]))
    return Fault(lead=b"\n" * source.randrange(4))


@pytest.mark.parametrize("seed", [20261130])
def test_over_any_faults_what_is_received_is_the_log(wire: FakeWire, run: Run, seed: int) -> None:
    source = random.Random(seed)
    names = [f"r{number}" for number in range(200)]
    for name in names:
        first = source.choice(
            [Fault(mute=True), Fault(cut=source.randrange(700)), Fault(end=source.randrange(6)), Fault()]
        )
        wire.log(name).faults += [first, *(random_fault(source) for _ in range(source.randrange(6)))]
    found = run(
        """
      const read = async (name) => [name, await attempt(open(name, {lastSeq: 0}).send(name))];
      const found = [];
      const names = [...given.names];
      const worker = async () => { while (names.length) found.push(await read(names.pop())); };
      await Promise.all(Array.from({length: 6}, worker));
      return Object.fromEntries(found);
    """,
        names=names,
        timing={"attempts": 12, "longest": 10},
    )
    wrong = [name for name in names if found[name] != {"events": events_of(wire.log(name))}]
    assert wrong == []
    assert all(len(wire.seen("POST", name)) == 1 for name in names)
    assert sum(len(wire.seen("GET", name)) for name in names) > 200  # the faults did happen


@pytest.mark.parametrize(
    "name", sorted({path.name for path in client_files.STATIC.glob("*.js")} - {"hydrate.js"})
)
def test_the_client_writes_no_html_and_runs_no_text(name: str) -> None:
    source = (client_files.STATIC / name).read_text()
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", source
    )
