"""``<litro-chat>`` in a real Chromium, over the same failing server as litro.js."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from tests.chat_site import ELEMENT, ask, finish, held, part, says, serve_chat, session_of, visit
from tests.fake_wire import FakeWire, Fault, Page, Turn

pytest_plugins = ["tests.browser"]
pytestmark = pytest.mark.browser

TENTS = {"tents": [{"name": "Fjell 2", "price": "€289.00"}]}


def shop_answer(turn: Turn) -> Iterator[Any]:
    """A turn with everything that an ordinary answer has."""
    yield "reasoning-delta", {"text": "They want "}
    yield "reasoning-delta", {"text": "a tent."}
    yield "text-delta", {"text": "Let me lo"}
    yield "message", {"role": "assistant", "text": "Let me look."}
    yield "usage", {"round": 1, "input_tokens": 1200, "output_tokens": 30, "model": "scripted"}
    yield "tool-call", {"call_id": "c1", "name": "find_products", "input": {"query": "tent", "sleeps": 2}}
    yield "tool-call", {"call_id": "c2", "name": "my_orders", "input": {}}
    yield "tool-progress", {"call_id": "c1", "name": "find_products", "value": "2 of 3 shelves"}
    yield "tool-result", {"call_id": "c1", "name": "find_products", "output": TENTS}
    error = {"code": "forbidden", "message": "sign in to see your orders"}
    yield "tool-result", {"call_id": "c2", "name": "my_orders", "error": error}
    yield "text-delta", {"text": "The **Fjell 2** sleeps two and costs €289.00.\n\n"}
    yield "message", {"role": "assistant", "text": "The **Fjell 2** sleeps two and costs €289.00."}
    yield "usage", {"round": 2, "input_tokens": 1300, "output_tokens": 40, "model": "scripted"}


@pytest.fixture
def wire() -> Iterator[FakeWire]:
    wire = FakeWire()
    wire.script = shop_answer
    serve_chat(wire)
    yield wire
    wire.close()


@pytest.fixture
def chat(wire: FakeWire, page: Tab) -> Tab:
    """The page, open on a fresh session."""
    visit(page, wire)
    return page


def said_log(tab: Tab) -> str:
    return part(tab, "log").inner_text()


def test_an_answer_is_shown_in_the_order_of_its_events(chat: Tab) -> None:
    ask(chat)
    finish(chat)
    shown = part(chat, "answer", " > [part]")
    kinds = shown.evaluate_all("all => all.map(one => one.getAttribute('part'))")
    assert kinds == ["reasoning", "text", "tool", "tool", "text", "usage", "actions"]
    expect(part(chat, "user")).to_have_text("Which tents sleep two?")
    expect(shown.nth(1)).to_have_text("Let me look.")
    expect(shown.nth(4)).to_have_text("The Fjell 2 sleeps two and costs €289.00.")
    expect(shown.nth(4).locator("strong")).to_have_text("Fjell 2")
    expect(shown.nth(5)).to_have_text("2,500 tokens in · 70 out · 2 rounds · scripted")


def test_reasoning_and_calls_are_closed_until_opened(chat: Tab) -> None:
    ask(chat)
    finish(chat)
    expect(chat.locator("details[open]")).to_have_count(0)
    call = part(chat, "tool").first
    call.locator("summary").focus()
    chat.keyboard.press("Enter")
    expect(call.locator("pre").nth(0)).to_have_text('{\n  "query": "tent",\n  "sleeps": 2\n}')
    expect(call.locator("li")).to_have_text("2 of 3 shelves")
    expect(call.locator("pre").nth(1)).to_contain_text('"price": "€289.00"')


def test_a_failed_call_says_why_in_its_line(chat: Tab) -> None:
    ask(chat)
    finish(chat)
    call = part(chat, "tool").nth(1)
    expect(call).to_have_attribute("data-state", "error")
    expect(part(call, "tool-state")).to_have_text("sign in to see your orders")


def proposes(summary: str, note: str) -> Any:
    """A script that proposes at the first question, and has the proposal dismissed at the next."""
    proposal = {"call_id": "c1", "name": "refund", "proposal_id": "p1", "summary": summary, "expires_at": 1}

    def script(turn: Turn) -> Iterator[Any]:
        if turn.text == "and?":
            yield "proposal-settled", {"proposal_id": "p1", "state": "dismissed", "note": note}
            yield "proposal-settled", {"proposal_id": "p0", "state": "outcome_unknown"}
            return
        yield "tool-call", {"call_id": "c1", "name": "refund", "input": {"order": 7}}
        yield "proposal", proposal

    return script


def test_a_proposal_waits_until_it_is_decided(wire: FakeWire, chat: Tab) -> None:
    wire.script = proposes("refund(order: 7)", "ask her first")
    ask(chat)
    finish(chat)
    expect(part(chat, "tool")).to_have_attribute("data-state", "waiting")
    card = part(chat, "proposal")
    expect(part(card, "proposal-state")).to_have_text("waits for approval")
    expect(part(card, "proposal-summary")).to_have_text("refund(order: 7)")
    ask(chat, "and?")
    finish(chat, turns=2)
    expect(part(card, "proposal-state")).to_have_text("dismissed")
    expect(part(card, "note")).to_have_text("ask her first")
    unknown = "A proposal was approved, but it is unknown whether it was done."
    expect(part(chat, "ending")).to_have_text(unknown)


def test_a_component_that_may_not_be_shown_is_told_by_its_text(wire: FakeWire, chat: Tab) -> None:
    payload = {"call_id": "c1", "name": "card", "data": {"a": 1}, "text": "a: 1 <b>", "stale": True}
    wire.script = lambda turn: [
        ("tool-call", {"call_id": "c1", "name": "card", "input": {}}),
        ("ui", payload),
    ]
    ask(chat)
    finish(chat)
    expect(part(chat, "component")).to_contain_text("an earlier version of the page")
    expect(chat.locator("litro-chat > div[slot=component-c1]")).to_have_text("a: 1 <b>")


def test_what_people_and_tools_wrote_is_never_markup(wire: FakeWire, chat: Tab) -> None:
    evil = "<img src=x onerror=alert(1)><script>alert(2)</script> [a](javascript:alert(3))"
    chat.on("dialog", lambda dialog: pytest.fail(dialog.message))

    def script(turn: Turn) -> Iterator[Any]:
        call = {"call_id": "c1", "name": evil}
        yield "reasoning-delta", {"text": evil}
        yield "tool-call", {**call, "input": {evil: evil}}
        yield "tool-progress", {**call, "value": evil}
        yield "tool-result", {**call, "output": {"html": evil, "_meta": {"ui": evil}}}
        yield "proposal", {**call, "proposal_id": "p1", "summary": evil, "expires_at": 1}
        yield "proposal-settled", {"proposal_id": "p1", "state": evil, "note": evil}
        yield "error", {"code": "server", "message": evil, "retryable": False}
        yield "message", {"role": "assistant", "text": evil}

    wire.script = script
    ask(chat, evil)
    finish(chat)
    assert part(chat, "log", " :is(img, script, a[href], iframe, svg)").count() == 0
    shown = "<img src=x onerror=alert(1)><script>alert(2)</script> a"
    expect(part(chat, "text")).to_have_text(shown)  # html of the model's stays visible, as text
    expect(part(chat, "user")).to_have_text(evil)
    assert part(chat, "log").evaluate("log => log.textContent").count(evil) >= 7


def test_a_suggestion_is_a_button_that_asks_it(wire: FakeWire, chat: Tab) -> None:
    chat.get_by_role("button", name="When do you open?").click()
    finish(chat)
    expect(part(chat, "user")).to_have_text("When do you open?")
    expect(part(chat, "empty")).to_be_hidden()


def test_a_suggestion_may_ask_more_than_it_says(wire: FakeWire, chat: Tab) -> None:
    chat.get_by_role("button", name="Tents").click()
    expect(part(chat, "user")).to_have_text("Which tents sleep two?")


def test_shift_enter_writes_a_second_line(wire: FakeWire, chat: Tab) -> None:
    part(chat, "input").fill("one")
    chat.keyboard.press("Shift+Enter")
    chat.keyboard.type("two")
    chat.keyboard.press("Enter")
    finish(chat)
    assert b'"one\\ntwo"' in wire.seen("POST", session_of(chat))[0].body


def test_a_reload_replays_the_session(wire: FakeWire, chat: Tab) -> None:
    ask(chat)
    finish(chat)
    before = said_log(chat)
    chat.reload()
    finish(chat)
    expect(part(chat, "log")).to_contain_text("€289.00")
    assert said_log(chat) == before
    assert len([seen for seen in wire.requests if seen.method == "POST"]) == 1


def test_a_reload_goes_on_with_the_turn_that_runs(wire: FakeWire, chat: Tab) -> None:
    wire.script, go = held(("message", {"role": "assistant", "text": "A whole answer"}))
    ask(chat)
    expect(part(chat, "text")).to_have_text("Half an answer")
    chat.reload()
    expect(part(chat, "turn", "[data-running]").locator("[part~=text]")).to_have_text("Half an answer")
    expect(part(chat, "stop")).to_be_visible()
    go.set()
    finish(chat)
    expect(part(chat, "text")).to_have_text("A whole answer")


def test_a_turn_that_was_taken_over_shows_the_new_round_alone(wire: FakeWire, chat: Tab) -> None:
    def script(turn: Turn) -> Iterator[Any]:
        yield "message", {"role": "assistant", "text": "First round."}
        yield "text-delta", {"text": "Lost wor"}
        yield "turn-reset", {"from_seq": 4}
        yield "text-delta", {"text": "Other words."}
        yield "message", {"role": "assistant", "text": "Other words."}

    wire.script = script
    ask(chat)
    finish(chat)
    expect(part(chat, "text")).to_have_text(["First round.", "Other words."])


def test_a_new_visit_without_an_address_finds_the_last_session(wire: FakeWire, chat: Tab) -> None:
    ask(chat)
    finish(chat)
    chat.goto("about:blank")
    visit(chat, wire)
    finish(chat)


def test_a_fresh_session_asks_the_server_nothing(wire: FakeWire, chat: Tab) -> None:
    chat.get_by_role("button", name="New conversation").click()
    chat.wait_for_timeout(100)
    assert [seen.path for seen in wire.requests if "/agent/" in seen.path] == []


def test_a_new_session_is_empty_and_back_returns(wire: FakeWire, chat: Tab) -> None:
    ask(chat)
    finish(chat)
    chat.get_by_role("button", name="New conversation").click()
    expect(part(chat, "turn")).to_have_count(0)
    expect(part(chat, "empty")).to_be_visible()
    chat.go_back()
    finish(chat)


def test_without_the_address_attribute_the_address_stays_as_it_is(wire: FakeWire, page: Tab) -> None:
    serve_chat(wire, '<litro-chat agent="demo"></litro-chat>')
    visit(page, wire)
    ask(page)
    finish(page)
    assert page.url == f"{wire.url}/chat"
    page.reload()
    finish(page)


def test_the_attribute_session_names_what_is_shown(wire: FakeWire, page: Tab) -> None:
    wire.log("one").run(wire.log("one").begin("hello"), shop_answer(Turn("t", "")))
    serve_chat(wire, '<litro-chat agent="demo" session="one"></litro-chat>')
    visit(page, wire)
    expect(part(page, "user")).to_have_text("hello")
    page.locator("litro-chat").evaluate("(chat) => chat.setAttribute('session', 'two')")
    expect(part(page, "turn")).to_have_count(0)
    assert session_of(page) == "two"


def test_two_tabs_follow_one_turn_and_each_other(wire: FakeWire, chat: Tab) -> None:
    wire.script, go = held(("message", {"role": "assistant", "text": "A whole answer"}))
    other = chat.context.new_page()
    visit(other, wire, f"#{session_of(chat)}")
    ask(chat, "from the first")
    expect(part(other, "text")).to_have_text("Half an answer")
    expect(part(other, "stop")).to_be_visible()
    go.set()
    finish(other)
    finish(chat)
    ask(other, "from the second")
    finish(chat, turns=2)
    finish(other, turns=2)
    wait(lambda: said_log(chat) == said_log(other))
    assert "A whole answer" in said_log(chat)
    other.close()


def test_stop_ends_the_turn_and_try_again_asks_the_same(wire: FakeWire, chat: Tab) -> None:
    wire.script, _ = held()
    ask(chat, "long story")
    expect(part(chat, "text")).to_be_visible()
    chat.get_by_role("button", name="Stop").click()
    expect(part(chat, "ending")).to_have_text("Stopped.")
    wire.script = shop_answer
    chat.get_by_role("button", name="Try again").click()
    finish(chat, turns=2)
    expect(part(chat, "user")).to_have_text(["long story"] * 2)
    expect(chat.get_by_role("button", name="Try again")).to_have_count(0)


def test_only_the_last_answer_is_asked_again(wire: FakeWire, chat: Tab) -> None:
    ask(chat, "one")
    finish(chat)
    ask(chat, "two")
    finish(chat, turns=2)
    chat.get_by_role("button", name="Ask again").click()
    finish(chat, turns=3)
    expect(part(chat, "user")).to_have_text(["one", "two", "two"])
    expect(chat.get_by_role("button", name="Ask again")).to_have_count(1)


def test_copy_takes_the_answer_as_it_was_written(wire: FakeWire, chat: Tab) -> None:
    chat.context.grant_permissions(["clipboard-read", "clipboard-write"])
    ask(chat)
    finish(chat)
    part(chat, "copy").click()
    expect(part(chat, "copy")).to_have_text("Copied")
    copied = chat.evaluate("navigator.clipboard.readText()")
    assert copied == "Let me look.\n\nThe **Fjell 2** sleeps two and costs €289.00."


def test_another_tab_may_stop_the_turn_with_escape(wire: FakeWire, chat: Tab) -> None:
    wire.script, _ = held()
    other = chat.context.new_page()
    visit(other, wire, f"#{session_of(chat)}")
    ask(chat, "long story")
    expect(part(other, "stop")).to_be_visible()
    other.keyboard.press("Escape")
    expect(part(chat, "ending")).to_have_text("Stopped.")
    other.close()


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [("failed", "failed"), ("limit", "at a limit"), ("interrupted", "was interrupted")],
)
def test_an_end_that_is_no_finish_is_said(wire: FakeWire, chat: Tab, reason: str, sentence: str) -> None:
    wire.script = lambda turn: [
        ("error", {"code": "server", "message": "the model is away", "retryable": True}),
        ("end", {"reason": reason}),
    ]
    ask(chat)
    expect(part(chat, "ending")).to_contain_text(sentence)
    expect(part(chat, "answer").locator("[part~=error]")).to_have_text("the model is away")
    expect(chat.get_by_role("button", name="Try again")).to_be_visible()


def test_a_cut_connection_says_so_quietly_and_heals(wire: FakeWire, chat: Tab) -> None:
    wire.script, go = held(("message", {"role": "assistant", "text": "A whole answer"}))
    wire.log(session_of(chat)).faults += [
        Fault(end=3),
        *[Fault(status=503, headers={"Retry-After": "1"})] * 2,
    ]
    ask(chat)
    expect(part(chat, "notice")).to_have_text("Reconnecting…")
    go.set()
    expect(part(chat, "notice")).to_have_text("")
    finish(chat)
    expect(part(chat, "text")).to_have_text("A whole answer")


def test_it_goes_on_when_the_network_comes_back(wire: FakeWire, chat: Tab) -> None:
    wire.script, go = held(("message", {"role": "assistant", "text": "A whole answer"}))
    ask(chat)
    expect(part(chat, "text")).to_have_text("Half an answer")
    wire.log(session_of(chat)).faults += [Fault(drop=True)] * 2
    chat.context.set_offline(True)
    wire.close_door()
    wire.closing.set()  # what is open is cut
    expect(part(chat, "notice")).to_have_text("You are offline. The conversation goes on when you are back.")
    go.set()
    wire.closing.clear()
    wire.open_door()
    chat.context.set_offline(False)
    finish(chat)
    expect(part(chat, "text")).to_have_text("A whole answer")
    expect(part(chat, "notice")).to_have_text("")
    assert len(wire.seen("POST", session_of(chat))) == 1


def test_a_message_that_did_not_arrive_goes_back_to_the_box(wire: FakeWire, chat: Tab) -> None:
    body = b'{"name": "BodyTooLarge", "message": "the message is too long", "status": 413}'
    wire.log(session_of(chat)).faults.append(Fault(status=413, body=body))
    ask(chat, "too long")
    expect(part(chat, "notice")).to_have_text("the message is too long")
    expect(part(chat, "input")).to_have_value("too long")
    expect(part(chat, "turn")).to_have_count(0)


def test_a_session_that_is_gone_says_so(wire: FakeWire, chat: Tab) -> None:
    wire.stream_seconds = 0.2
    ask(chat)
    finish(chat)
    del wire.logs[session_of(chat)]
    expect(part(chat, "notice")).to_contain_text("This conversation was deleted.")


def test_a_tab_has_one_stream_at_most_and_none_while_hidden(wire: FakeWire, chat: Tab) -> None:
    for turns in (1, 2, 3):
        ask(chat)
        finish(chat, turns=turns)
    wait(lambda: wire.open_streams == 1)
    hide = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});"
    tell = "document.dispatchEvent(new Event('visibilitychange'))"
    chat.evaluate(hide % "true" + tell)
    wait(lambda: wire.open_streams == 0)
    chat.evaluate(hide % "false" + tell)
    wait(lambda: wire.open_streams == 1)


def test_a_quiet_session_lets_its_stream_go_until_somebody_comes_back(wire: FakeWire, page: Tab) -> None:
    page.clock.install()
    visit(page, wire)
    ask(page)
    page.clock.run_for(2000)
    finish(page)
    wait(lambda: wire.open_streams == 1)
    page.clock.run_for(61_000)
    wait(lambda: wire.open_streams == 0)
    wire.log(session_of(page)).run(wire.log(session_of(page)).begin("from elsewhere"), [])
    part(page, "input").click()
    expect(part(page, "user").last).to_have_text("from elsewhere")
    page.clock.resume()


def test_an_open_proposal_keeps_the_stream(wire: FakeWire, page: Tab) -> None:
    wire.script = proposes("refund(order: 7)", "")
    page.clock.install()
    visit(page, wire)
    ask(page)
    page.clock.run_for(2000)
    finish(page)
    page.clock.run_for(61_000)
    wait(lambda: wire.open_streams == 1)
    wire.log(session_of(page)).append(("proposal-settled", {"proposal_id": "p1", "state": "executed"}))
    expect(part(page, "proposal-state")).to_have_text("approved and done")
    page.clock.resume()


def wait(holds: Any, seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.01)


def test_a_screen_reader_hears_each_answer_once_and_whole(wire: FakeWire, chat: Tab) -> None:
    wire.script, go = held(("message", {"role": "assistant", "text": "A **whole** answer"}))
    said = chat.locator("litro-chat p[aria-live=polite]")
    ask(chat)
    expect(said).to_have_text("Concierge is writing…")
    expect(part(chat, "text")).to_have_text("Half an answer")
    expect(said).to_have_text("Concierge is writing…")
    go.set()
    expect(said).to_have_text("A whole answer")
    expect(part(chat, "log")).to_have_attribute("aria-live", "off")
    chat.reload()
    finish(chat)
    expect(said).to_have_text("")


def test_sessions_are_listed_opened_and_deleted(wire: FakeWire, chat: Tab) -> None:
    for name in ("a", "b", "c"):
        wire.log(name).run(wire.log(name).begin(f"question {name}"), shop_answer(Turn("t", "")))
    chat.get_by_role("button", name="Conversations").click()
    rows = part(chat, "session-row")
    expect(rows).to_have_count(2)
    chat.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(3)
    part(rows.nth(1), "delete").click()
    expect(part(rows.nth(1), "delete")).to_have_text("Really delete?")
    part(rows.nth(1), "delete").click()
    expect(rows).to_have_count(2)
    assert sorted(wire.logs) == ["a", "c"]
    part(rows.nth(1), "session").click()
    expect(part(chat, "user")).to_have_text("question c")
    assert session_of(chat) == "c"


def test_an_escape_that_closes_the_list_stops_no_turn(wire: FakeWire, chat: Tab) -> None:
    wire.script, go = held()
    ask(chat)
    expect(part(chat, "stop")).to_be_visible()
    chat.get_by_role("button", name="Conversations").click()
    expect(part(chat, "sessions-title")).to_be_visible()
    chat.keyboard.press("Escape")
    expect(part(chat, "sessions-title")).to_be_hidden()
    go.set()
    finish(chat)
    expect(part(chat, "ending")).to_have_count(0)


def test_the_keyboard_alone_suffices(wire: FakeWire, chat: Tab) -> None:
    chat.keyboard.press("Tab")
    seen = []
    for _ in range(12):
        seen.append(
            chat.evaluate(
                """() => { let at = document.activeElement;
                  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
                  return at.getAttribute("part") ?? at.textContent; }"""
            )
        )
        if seen[-1] == "input":
            break
        chat.keyboard.press("Tab")
    assert seen == [
        "button quiet sessions-open",
        "button quiet new",
        "log",
        "When do you open?",
        "Tents",
        "input",
    ]
    chat.keyboard.type("hello")
    chat.keyboard.press("Enter")
    finish(chat)


@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_is_wider_than_the_screen(wire: FakeWire, page: Tab, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    visit(page, wire)
    ask(page, "w" * 400)
    finish(page)
    wire.script = says(
        "w" * 300 + "\n\n```\n" + "w" * 300 + "\n```\n\n|" + "wide column|" * 30 + "\n" + "|-" * 30 + "|"
    )
    ask(page)
    finish(page, 2)
    for summary in part(page, "log").locator("summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 1280, "height": 720})


def test_words_for_the_ear_alone_take_no_room(chat: Tab) -> None:
    ask(chat)
    finish(chat)
    said = chat.locator("litro-chat p[aria-live=polite]").bounding_box()
    assert said is not None
    assert (said["width"], said["height"]) == (1, 1)


def burst(turn: Turn) -> Iterator[Any]:
    """An answer that grows faster than a browser tells of its scrolling."""
    for step in range(60):
        yield "text-delta", {"text": "another line\n" * 9}
        if step % 6 == 0:
            yield "tool-progress", {"call_id": "none", "name": "none", "value": "slow"}
    yield "message", {"role": "assistant", "text": "another line\n" * 540}


IN_THE_PAGE = "document.documentElement.scrollHeight - innerHeight - scrollY"
IN_ITS_BOX = """(() => { const log = document.querySelector("litro-chat").shadowRoot.querySelector("[part~=log]");
  return log.scrollHeight - log.clientHeight - log.scrollTop; })()"""
BOXED = ELEMENT.replace("<litro-chat ", '<litro-chat class="box" ')
BOX = b"body { margin: 0; } .box { height: 400px; }"


def distance_to_end(tab: Tab, where: str) -> float:
    tab.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return float(tab.evaluate(where))


@pytest.mark.parametrize(("element", "where"), [(ELEMENT, IN_THE_PAGE), (BOXED, IN_ITS_BOX)])
def test_the_end_stays_in_view_however_fast_an_answer_grows(
    wire: FakeWire, page: Tab, element: str, where: str
) -> None:
    serve_chat(wire, element)
    wire.pages["/page.css"] = Page("text/css", BOX)
    visit(page, wire)
    wire.script = burst
    for turns in (1, 2, 3):
        ask(page)
        finish(page, turns)
        wait(lambda: distance_to_end(page, where) < 1)
    if where == IN_ITS_BOX:
        assert page.evaluate("scrollY") == 0


@pytest.mark.parametrize(("element", "where"), [(ELEMENT, IN_THE_PAGE), (BOXED, IN_ITS_BOX)])
def test_a_reader_who_goes_up_is_left_alone(wire: FakeWire, page: Tab, element: str, where: str) -> None:
    def script(turn: Turn) -> Iterator[Any]:
        yield "text-delta", {"text": "a line\n" * 100}
        while not go.wait(0.01) and not turn.stop.is_set():
            continue
        yield "text-delta", {"text": "a line\n" * 100}

    go = threading.Event()
    wire.script = script
    serve_chat(wire, element)
    wire.pages["/page.css"] = Page("text/css", BOX)
    visit(page, wire)
    ask(page)
    expect(part(page, "answer")).to_contain_text("a line")
    wait(lambda: distance_to_end(page, where) < 1)
    page.mouse.move(300, 200)
    page.mouse.wheel(0, -700)
    wait(lambda: distance_to_end(page, where) > 300)  # a browser takes a few frames to turn the wheel
    go.set()
    finish(page)
    assert distance_to_end(page, where) > 1000


def test_the_page_hears_of_events_turns_and_sessions(wire: FakeWire, chat: Tab) -> None:
    chat.evaluate(
        """globalThis.heard = [];
        for (const name of ["event", "turn-start", "turn-end", "session", "error"])
          document.addEventListener(`litro:${name}`, ({ detail: { kind, reason } }) =>
            heard.push([name, kind ?? reason ?? null]))"""
    )
    ask(chat)
    finish(chat)
    chat.get_by_role("button", name="New conversation").click()
    heard = chat.evaluate("heard")
    assert heard[:4] == [
        ["event", "turn-start"],
        ["turn-start", None],
        ["event", "message"],
        ["event", "reasoning-delta"],
    ]
    assert heard[-3:] == [["event", "turn-end"], ["turn-end", "finished"], ["session", None]]


def test_a_page_may_bring_its_own_composer(wire: FakeWire, page: Tab) -> None:
    own = '<form slot="composer"><input name="text" aria-label="Say"><button>Go</button></form>'
    serve_chat(wire, f'<litro-chat agent="demo">{own}</litro-chat>')
    visit(page, wire)
    page.get_by_label("Say").fill("by my own form")
    page.get_by_role("button", name="Go").click()
    finish_own = part(page, "actions")
    expect(finish_own).to_have_count(1)
    expect(part(page, "user")).to_have_text("by my own form")
    expect(page.get_by_label("Say")).to_have_value("")


def test_the_page_may_send_stop_and_begin_anew(wire: FakeWire, chat: Tab) -> None:
    wire.script, _ = held()
    element = chat.locator("litro-chat")
    element.evaluate("(chat) => { chat.send('by script'); }")
    expect(part(chat, "text")).to_have_text("Half an answer")
    assert element.evaluate("(chat) => [chat.running, chat.turn]") == [True, "t1"]
    assert element.evaluate("(chat) => chat.send('too early')") is False
    element.evaluate("(chat) => chat.stop()")
    finish(chat)
    before = session_of(chat)
    element.evaluate("(chat) => chat.newSession()")
    assert session_of(chat) != before
    element.evaluate("(chat, id) => chat.open(id)", before)
    finish(chat)


def test_without_an_agent_it_says_what_it_needs(chat: Tab) -> None:
    message = chat.evaluate(
        """() => new Promise((done) => {
          addEventListener("error", (event) => { event.preventDefault(); done(event.message); }, { once: true });
          document.body.append(document.createElement("litro-chat"));
        })"""
    )
    assert "needs the name of an agent" in message


def test_taken_from_the_page_it_lets_its_stream_go_and_comes_back_whole(wire: FakeWire, chat: Tab) -> None:
    ask(chat)
    finish(chat)
    wait(lambda: wire.open_streams == 1)
    chat.evaluate("globalThis.taken = document.querySelector('litro-chat'); taken.remove()")
    wait(lambda: wire.open_streams == 0)
    chat.evaluate("document.querySelector('main').append(taken)")
    finish(chat)
    expect(part(chat, "user")).to_have_count(1)


def test_german_is_spoken_where_the_page_is_german(wire: FakeWire, page: Tab) -> None:
    serve_chat(wire, '<div lang="de-AT"><litro-chat agent="demo"></litro-chat></div>')
    visit(page, wire)
    expect(part(page, "send")).to_have_text("Senden")
    page.locator("div").first.evaluate("(place) => (place.querySelector('litro-chat').lang = 'en')")
    expect(part(page, "send")).to_have_text("Send")


def test_a_page_may_use_its_own_words(wire: FakeWire, page: Tab) -> None:
    words = '{"send": "Ask", "tool:find_products": "Looking through the shelves"}'
    serve_chat(wire, f"<litro-chat agent=\"demo\" messages='{words}'></litro-chat>")
    visit(page, wire)
    expect(part(page, "send")).to_have_text("Ask")
    page.locator("litro-chat").evaluate("(chat) => (chat.messages = { send: 'Go {x}' })")
    expect(part(page, "send")).to_have_text("Go {x}")
    ask(page)
    expect(part(page, "actions")).to_have_count(1)
    expect(part(page, "tool-name").first).to_have_text("Looking through the shelves")


def test_both_catalogues_have_every_message(chat: Tab) -> None:
    script = """async () => { const { ENGLISH, GERMAN } = await import("/__litro/static/chat/messages.js");
      const holes = (words) => Object.fromEntries(Object.entries(words).map(
        ([key, text]) => [key, (text.match(/\\{\\w+\\}/g) ?? []).sort()]));
      return [holes(ENGLISH), holes(GERMAN)]; }"""
    english, german = chat.evaluate(script)
    assert english == german


def test_from_right_to_left_it_stands_on_the_other_side(wire: FakeWire, page: Tab) -> None:
    serve_chat(wire, f'<div dir="rtl" lang="he">{ELEMENT}</div>')
    visit(page, wire)
    ask(page, "שלום")
    finish(page)
    said, log = part(page, "user").bounding_box(), part(page, "log").bounding_box()
    assert said is not None
    assert log is not None
    assert said["x"] - log["x"] < 1
    expect(part(page, "text").first).to_have_css("direction", "ltr")  # an English answer reads as such


def test_no_policy_of_the_page_is_broken(wire: FakeWire, page: Tab) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    wire.log("s").run(wire.log("s").begin("x"), [])
    visit(page, wire, "#s")
    wire.script = proposes("refund(order: 7)", "")
    ask(page)
    finish(page, turns=2)
    wire.script = says("**bold** `code`\n\n| a |\n|---|\n| 1 |\n\n![x](/icon.svg) <b style='color:red'>x</b>")
    ask(page)
    finish(page, turns=3)
    page.get_by_role("button", name="Conversations").click()
    expect(part(page, "session-row").first).to_be_visible()
    assert [line for line in said if re.search("Security|Trusted|Uncaught", line)] == []


def test_the_files_write_no_html_outside_the_two_that_may(wire: FakeWire) -> None:
    sinks = re.compile(
        rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|setHTMLUnsafe"
    )
    found = {
        path.removeprefix("/__litro/static/")
        for path, page in wire.pages.items()
        if path.endswith(".js") and "/vendor/" not in path and "admin" not in path and sinks.search(page.body)
    }
    assert found == {"hydrate.js"}
