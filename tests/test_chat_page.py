"""The demo's chat page in a real Chromium, over the same failing server as litro.js."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask, render_template
from jinja2 import DictLoader
from playwright.sync_api import Page as BrowserPage
from playwright.sync_api import Route, expect

import example_app
import flask_litro_agent
from tests.fake_wire import FakeWire, Fault, Page, Turn

pytest_plugins = ["tests.browser"]
pytestmark = pytest.mark.browser

EXAMPLE = Path(example_app.__file__).parent
CLIENT = Path(flask_litro_agent.__file__).parent / "static" / "litro_agent"
POLICY = {"Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'"}
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
# the shop's own base page needs the whole shop: this one has the same blocks
BASE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{% block title %}Shop{% endblock %}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="/static/mark.svg">
<link rel="stylesheet" href="/static/shop.css">{% block head %}{% endblock %}</head>
<body class="{% block page %}{% endblock %}"><main id="content">{% block content %}{% endblock %}</main>
{% block footer %}{% endblock %}{% block scripts %}{% endblock %}</body></html>"""
TENTS = {"tents": [{"name": "Fjell 2", "price": "€289.00"}]}


def chat_page(**context: Any) -> bytes:
    """Render the page as the example's route does."""
    app = Flask(__name__, static_folder=str(EXAMPLE / "static"))
    app.jinja_loader = DictLoader(
        {"base.html": BASE, "chat.html": (EXAMPLE / "templates" / "chat.html").read_text()}
    )
    given = {
        "agent": {"name": "demo", "title": "Concierge"},
        "suggestions": ["Which tents sleep two?", "When do you open?"],
        "model_name": "scripted",
        "signed_in": None,
        "url_prefix": "/__litro",
    }
    with app.test_request_context("/chat/demo"):
        return render_template("chat.html", **{**given, **context}).encode()


def shop_answer(turn: Turn) -> Iterator[Any]:
    """A turn with everything that the page can show."""
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
    yield "text-delta", {"text": "The Fjell 2 sleeps two and costs €289.00.\n\n"}
    yield "message", {"role": "assistant", "text": "The Fjell 2 sleeps two and costs €289.00."}
    yield "usage", {"round": 2, "input_tokens": 1300, "output_tokens": 40, "model": "scripted"}


@pytest.fixture
def wire() -> Iterator[FakeWire]:
    wire = FakeWire()
    wire.script = shop_answer
    for folder, prefix in ((EXAMPLE / "static", "/static"), (CLIENT, "/__litro/static")):
        for path in folder.iterdir():
            if path.suffix in TYPES:
                wire.pages[f"{prefix}/{path.name}"] = Page(TYPES[path.suffix], path.read_bytes(), POLICY)
    wire.pages["/chat/demo"] = Page("text/html; charset=utf-8", chat_page(), POLICY)
    yield wire
    wire.close()


@pytest.fixture
def chat(wire: FakeWire, page: BrowserPage) -> BrowserPage:
    """The page, open on a fresh conversation."""
    visit(page, wire)
    return page


def visit(page: BrowserPage, wire: FakeWire, fragment: str = "") -> None:
    page.goto(f"{wire.url}/chat/demo{fragment}")
    listens(page)


def listens(page: BrowserPage) -> None:
    """Wait until the page's script has run."""
    expect(page.locator("#chat-send")).to_be_enabled()


def ask(page: BrowserPage, text: str = "Which tents sleep two?") -> None:
    page.locator("#chat-text").fill(text)
    page.keyboard.press("Enter")


def session_of(page: BrowserPage) -> str:
    return str(page.evaluate("location.hash.slice(1)"))


def finish(page: BrowserPage, turns: int = 1) -> None:
    """Wait until so many turns were shown to their end."""
    expect(page.locator(".turn:not(.is-running)")).to_have_count(turns)
    expect(page.locator("#chat-send")).to_be_visible()


def held(*steps: Any) -> tuple[Any, threading.Event]:
    """A script that waits in the middle of its answer; and what lets it go on."""
    go = threading.Event()

    def script(turn: Turn) -> Iterator[Any]:
        yield "text-delta", {"text": "Half an answer"}
        while not go.wait(0.01) and not turn.stop.is_set():
            continue
        yield from steps

    return script, go


def test_an_answer_is_shown_in_the_order_of_its_events(chat: BrowserPage) -> None:
    ask(chat)
    finish(chat)
    shown = chat.locator(".turn > .user, .answer > :not(.unseen)")
    kinds = [re.split(" ", name)[-1] for name in shown.evaluate_all("all => all.map(one => one.className)")]
    assert kinds == ["user", "reasoning", "text", "tool", "tool", "text", "usage"]
    expect(shown.nth(0)).to_have_text("You: Which tents sleep two?")
    expect(shown.nth(2)).to_have_text("Let me look.")
    expect(shown.nth(5)).to_have_text("The Fjell 2 sleeps two and costs €289.00.")
    expect(shown.nth(6)).to_have_text("2,500 tokens in · 70 out · 2 rounds · scripted")


def test_reasoning_and_tool_cards_are_closed_until_opened(chat: BrowserPage) -> None:
    ask(chat)
    finish(chat)
    expect(chat.locator("details[open]")).to_have_count(0)
    card = chat.locator(".tool").first
    card.locator("summary").focus()
    chat.keyboard.press("Enter")
    expect(card.locator("pre").nth(0)).to_have_text('{\n  "query": "tent",\n  "sleeps": 2\n}')
    expect(card.locator("li")).to_have_text("2 of 3 shelves")
    expect(card.locator("pre").nth(1)).to_contain_text('"price": "€289.00"')


def test_a_failed_call_says_why_on_its_card(chat: BrowserPage) -> None:
    ask(chat)
    finish(chat)
    card = chat.locator(".tool").nth(1)
    expect(card).to_have_attribute("data-state", "error")
    expect(card.locator(".tool-state")).to_have_text("sign in to see your orders")


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


def test_a_proposal_waits_on_its_card_until_it_is_decided(wire: FakeWire, chat: BrowserPage) -> None:
    wire.script = proposes("refund(order: 7)", "ask her first")
    ask(chat)
    finish(chat)
    card = chat.locator(".tool")
    expect(card).to_have_attribute("data-state", "waiting")
    expect(card.locator(".tool-state")).to_have_text("waits for approval")
    ask(chat, "and?")
    finish(chat, turns=2)
    expect(card.locator(".tool-state")).to_have_text("dismissed")
    card.locator("summary").click()
    expect(card.locator("p.text")).to_have_text(["refund(order: 7)", "ask her first"])
    unknown = "A proposal was approved, but it is unknown whether it was done."
    expect(chat.locator(".ending")).to_have_text(unknown)


def test_a_proposals_words_are_never_markup(wire: FakeWire, chat: BrowserPage) -> None:
    evil = "<img src=x onerror=alert(1)>"
    wire.script = proposes(evil, evil)
    ask(chat)
    finish(chat)
    ask(chat, "and?")
    finish(chat, turns=2)
    assert chat.locator("#chat-log img").count() == 0


def test_text_is_never_markup(wire: FakeWire, chat: BrowserPage) -> None:
    evil = "<img src=x onerror=alert(1)><script>alert(2)</script> [a](javascript:alert(3)) https://x.test"
    chat.on("dialog", lambda dialog: pytest.fail(dialog.message))

    def script(turn: Turn) -> Iterator[Any]:
        call = {"call_id": "c1", "name": evil}
        yield "reasoning-delta", {"text": evil}
        yield "tool-call", {**call, "input": {evil: evil}}
        yield "tool-progress", {**call, "value": evil}
        yield "ui", {**call, "html": evil, "data": {"html": evil}}
        yield "error", {"code": "server", "message": evil, "retryable": False}
        yield "message", {"role": "assistant", "text": evil}

    wire.script = script
    ask(chat, evil)
    finish(chat)
    assert chat.locator("#chat-log :is(img, script, a, iframe, svg)").count() == 0
    expect(chat.locator(".answer > .text")).to_have_text(evil)
    expect(chat.locator(".user")).to_have_text(f"You: {evil}")


def test_a_suggestion_is_a_button_that_asks_it(wire: FakeWire, chat: BrowserPage) -> None:
    chat.get_by_role("button", name="When do you open?").click()
    finish(chat)
    expect(chat.locator(".user")).to_have_text("You: When do you open?")
    expect(chat.locator("#chat-start")).to_be_hidden()


def test_shift_enter_writes_a_second_line(wire: FakeWire, chat: BrowserPage) -> None:
    chat.locator("#chat-text").fill("one")
    chat.keyboard.press("Shift+Enter")
    chat.keyboard.type("two")
    chat.keyboard.press("Enter")
    finish(chat)
    assert b'"one\\ntwo"' in wire.seen("POST", session_of(chat))[0].body


def test_what_is_typed_before_the_script_runs_is_not_lost(wire: FakeWire, page: BrowserPage) -> None:
    held_back: list[Route] = []
    page.route("**/static/chat.js", lambda route: held_back.append(route))
    page.goto(f"{wire.url}/chat/demo", wait_until="commit")
    page.locator("#chat-text").fill("too early")
    expect(page.locator("#chat-send")).to_be_disabled()
    while not held_back:
        page.wait_for_timeout(20)
    held_back[0].continue_()
    page.unroute("**/static/chat.js")
    listens(page)
    page.locator("#chat-send").click()
    finish(page)
    expect(page.locator(".user")).to_have_text("You: too early")


def test_a_reload_replays_the_conversation(wire: FakeWire, chat: BrowserPage) -> None:
    ask(chat)
    finish(chat)
    before = chat.locator("#chat-log").inner_text()
    chat.reload()
    expect(chat.locator(".usage")).to_contain_text("2 rounds")  # the replay is at its end
    assert chat.locator("#chat-log").inner_text() == before
    assert len([seen for seen in wire.requests if seen.method == "POST"]) == 1


def test_a_reload_goes_on_with_the_turn_that_runs(wire: FakeWire, chat: BrowserPage) -> None:
    wire.script, go = held(("message", {"role": "assistant", "text": "A whole answer"}))
    ask(chat)
    expect(chat.locator(".answer .text")).to_have_text("Half an answer")
    chat.reload()
    expect(chat.locator(".turn.is-running .text").last).to_have_text("Half an answer")
    expect(chat.locator("#chat-stop")).to_be_visible()
    go.set()
    finish(chat)
    expect(chat.locator(".answer .text")).to_have_text("A whole answer")


def test_a_new_visit_without_an_address_finds_the_last_conversation(
    wire: FakeWire, chat: BrowserPage
) -> None:
    ask(chat)
    finish(chat)
    chat.goto("about:blank")
    visit(chat, wire)
    finish(chat)


def test_a_fresh_conversation_asks_the_server_nothing(wire: FakeWire, chat: BrowserPage) -> None:
    chat.get_by_role("button", name="New conversation").click()
    chat.wait_for_timeout(100)
    assert [seen.path for seen in wire.requests if "/agent/" in seen.path] == []


def test_a_new_conversation_is_empty_and_back_returns(wire: FakeWire, chat: BrowserPage) -> None:
    ask(chat)
    finish(chat)
    chat.get_by_role("button", name="New conversation").click()
    expect(chat.locator(".turn")).to_have_count(0)
    expect(chat.locator("#chat-start")).to_be_visible()
    chat.go_back()
    finish(chat)


def test_two_tabs_follow_each_other(wire: FakeWire, chat: BrowserPage) -> None:
    other = chat.context.new_page()
    visit(other, wire, f"#{session_of(chat)}")
    ask(chat, "from the first")
    finish(other)
    finish(chat)
    ask(other, "from the second")
    finish(chat, turns=2)
    finish(other, turns=2)
    assert chat.locator("#chat-log").inner_text() == other.locator("#chat-log").inner_text()
    other.close()


def test_stop_ends_the_turn_and_retry_asks_the_same_again(wire: FakeWire, chat: BrowserPage) -> None:
    wire.script, _ = held()
    ask(chat, "long story")
    expect(chat.locator(".answer .text")).to_be_visible()
    chat.get_by_role("button", name="Stop").click()
    expect(chat.locator(".ending")).to_contain_text("Stopped.")
    wire.script = shop_answer
    chat.get_by_role("button", name="Retry").click()
    finish(chat, turns=2)
    expect(chat.locator(".user")).to_have_text(["You: long story"] * 2)
    expect(chat.get_by_role("button", name="Retry")).to_have_count(0)


def test_another_tab_may_stop_the_turn_with_escape(wire: FakeWire, chat: BrowserPage) -> None:
    wire.script, _ = held()
    other = chat.context.new_page()
    visit(other, wire, f"#{session_of(chat)}")
    ask(chat, "long story")
    expect(other.locator("#chat-stop")).to_be_visible()
    other.keyboard.press("Escape")
    expect(chat.locator(".ending")).to_contain_text("Stopped.")
    other.close()


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [("failed", "failed"), ("limit", "at a limit"), ("interrupted", "was interrupted")],
)
def test_an_end_that_is_no_finish_is_said(
    wire: FakeWire, chat: BrowserPage, reason: str, sentence: str
) -> None:
    wire.script = lambda turn: [
        ("error", {"code": "server", "message": "the model is away", "retryable": True}),
        ("end", {"reason": reason}),
    ]
    ask(chat)
    expect(chat.locator(".ending")).to_contain_text(sentence)
    expect(chat.locator(".answer .wrong")).to_have_text("the model is away")
    expect(chat.get_by_role("button", name="Retry")).to_be_visible()


def test_a_cut_connection_says_so_quietly_and_heals(wire: FakeWire, chat: BrowserPage) -> None:
    wire.script, go = held(("message", {"role": "assistant", "text": "A whole answer"}))
    wire.log(session_of(chat)).faults += [
        Fault(end=3),
        *[Fault(status=503, headers={"Retry-After": "1"})] * 2,
    ]
    ask(chat)
    expect(chat.locator("#chat-notice")).to_have_text("Reconnecting…")
    go.set()
    expect(chat.locator("#chat-notice")).to_have_text("")
    finish(chat)
    expect(chat.locator(".answer .text")).to_have_text("A whole answer")


def test_a_message_that_did_not_arrive_goes_back_to_the_box(wire: FakeWire, chat: BrowserPage) -> None:
    body = b'{"name": "BodyTooLarge", "message": "the message is too long", "status": 413}'
    wire.log(session_of(chat)).faults.append(Fault(status=413, body=body))
    ask(chat, "too long")
    expect(chat.locator("#chat-notice")).to_have_text("the message is too long")
    expect(chat.locator("#chat-text")).to_have_value("too long")
    expect(chat.locator(".turn")).to_have_count(0)


def test_a_tab_has_one_stream_at_most(wire: FakeWire, chat: BrowserPage) -> None:
    for turns in (1, 2, 3):
        ask(chat)
        finish(chat, turns=turns)
    chat.wait_for_timeout(200)
    assert wire.open_streams <= 1


def test_a_screen_reader_hears_each_answer_once(wire: FakeWire, chat: BrowserPage) -> None:
    ask(chat)
    finish(chat)
    expect(chat.locator("#chat-said")).to_have_text("The Fjell 2 sleeps two and costs €289.00.")
    chat.reload()
    finish(chat)
    expect(chat.locator("#chat-said")).to_have_text("")


def test_the_page_says_which_model_answers(wire: FakeWire, chat: BrowserPage) -> None:
    expect(chat.locator(".chat-model")).to_contain_text("scripted demo model")
    wire.pages["/chat/demo"] = Page(
        "text/html; charset=utf-8", chat_page(model_name="qwen3 at http://x"), POLICY
    )
    chat.reload()
    expect(chat.locator(".chat-model")).to_contain_text("qwen3 at http://x")


def test_the_page_lives_under_a_strict_content_security_policy(wire: FakeWire, page: BrowserPage) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    wire.log("s").run(wire.log("s").begin("x"), [])
    visit(page, wire, "#s")
    ask(page)
    finish(page, turns=2)
    assert [text for text in said if "Content Security Policy" in text or "Uncaught" in text] == []
    for source in (b"innerHTML", b"insertAdjacentHTML", b"outerHTML", b"document.write"):
        assert source not in wire.pages["/static/chat.js"].body + wire.pages["/static/transcript.js"].body


@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_is_wider_than_the_screen(wire: FakeWire, page: BrowserPage, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    visit(page, wire)
    ask(page, "w" * 400)
    finish(page)
    for summary in page.locator("summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_words_for_screen_readers_alone_take_no_room_on_the_page(chat: BrowserPage) -> None:
    ask(chat)
    finish(chat)
    said = chat.locator("#chat-said").bounding_box()
    assert said is not None
    assert (said["width"], said["height"]) == (1, 1)


def burst(turn: Turn) -> Iterator[Any]:
    """An answer that grows faster than a browser tells of its scrolling."""
    for part in range(60):
        yield "text-delta", {"text": "another line\n" * 9}
        if part % 6 == 0:
            yield "tool-progress", {"call_id": "none", "name": "none", "value": "slow"}
    yield "message", {"role": "assistant", "text": "another line\n" * 540}


def distance_to_end(page: BrowserPage) -> float:
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return float(page.evaluate("document.documentElement.scrollHeight - innerHeight - scrollY"))


def test_the_page_stays_at_the_end_however_fast_an_answer_grows(wire: FakeWire, chat: BrowserPage) -> None:
    wire.script = burst
    for turns in (1, 2, 3):
        ask(chat)
        finish(chat, turns)
        assert distance_to_end(chat) < 1


def test_a_reader_who_goes_up_is_left_alone(wire: FakeWire, chat: BrowserPage) -> None:
    def script(turn: Turn) -> Iterator[Any]:
        yield "text-delta", {"text": "a line\n" * 100}
        while not go.wait(0.01) and not turn.stop.is_set():
            continue
        yield "text-delta", {"text": "a line\n" * 100}

    go = threading.Event()
    wire.script = script
    ask(chat)
    expect(chat.locator(".answer")).to_contain_text("a line")
    chat.mouse.move(400, 300)
    chat.mouse.wheel(0, -700)
    deadline = time.monotonic() + 10
    while distance_to_end(chat) < 300 and time.monotonic() < deadline:
        continue  # a browser takes a few frames to hand over a turn of the wheel
    go.set()
    finish(chat)
    assert distance_to_end(chat) > 1000
