"""A card as an operator sees it: the core's fields first, everything as text, nothing left out."""

from __future__ import annotations

import json
import re
import threading
from html.parser import HTMLParser
from typing import Any

import pytest
from flask import Flask
from hypothesis import example, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page as Tab
from werkzeug.serving import make_server

from flask_litro_agent import Actor
from flask_litro_agent.core.proposals import Proposal, State
from flask_litro_agent.core.visible import is_seen, visible
from flask_litro_agent.tools import Change, Tool
from flask_litro_agent.web.admin.asked import Asked, Excerpt, Person
from flask_litro_agent.web.admin.moments import moment
from flask_litro_agent.web.card import card
from tests.asking import post
from tests.gate_bench import Spy
from tests.ledger_bench import draft
from tests.proposal_site import Browser, proposal_site
from tests.test_digests import JSON, near

pytest_plugins = ["tests.browser"]

HOSTILE = "<img src=x onerror=alert(1)></script>{{7*7}}[a](javascript:b)\"'>&amp;"
CELLS = {"dt", "dd", "li", "td", "th"}
ELEMENTS = CELLS | {"h3", "h4", "span", "div", "p", "a", "b", "bdi", "blockquote", "section", "dl", "code"}
ELEMENTS |= {"ol", "ul", "table", "thead", "tbody", "tr", "time"}
ATTRIBUTES = {"class", "id", "title", "role", "tabindex", "aria-label", "scope", "datetime", "href"}
EVE = Person(visible("eve"), visible("Eve"))


@pytest.fixture(scope="module")
def macros() -> Any:
    app = Flask("flask_litro_agent")
    with app.app_context():
        template = app.jinja_env.get_template("litro_agent/admin/_card.html")
        yield template.make_module({"_": lambda text: text, "moment": moment})


def proposal(arguments: Any = None, **changes: Any) -> Proposal:
    written = json.dumps({"order": 7} if arguments is None else arguments, sort_keys=True, ensure_ascii=False)
    row: dict[str, Any] = dict.fromkeys(Proposal.__dataclass_fields__)
    asked = draft()
    row |= {name: getattr(asked, name) for name in type(asked).__dataclass_fields__}
    row |= {"id": "p1", "arguments": written.encode(), "state": State.PROPOSED, "digest": "d" * 64}
    row |= {"created_at": 1_796_021_904_525, "read_at": 1_796_021_904_525}
    return Proposal(**row | changes)


def shown(one: Proposal, tool: Tool | None = None, asked: Asked | None = None) -> dict[str, Any]:
    return {**card(one, is_operator=True, tool=tool), "asked": asked}


class Page(HTMLParser):
    """What a browser would make of html: its elements, their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: dict[str, list[str]] = {}
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append(tag)
        self.words += [" "] * (tag in CELLS)
        for name, text in attrs:
            self.attributes.setdefault(name, []).append(text)

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


def drawn_page(macros: Any, one: Proposal, **more: Any) -> Page:
    return Page(str(macros.card(shown(one, **more))))


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_every_argument_stands_with_its_value(macros: Any) -> None:
    words = squeezed(
        drawn_page(macros, proposal({"order": 7, "text": "x", "a": {"b": [1, {"c": None}]}})).text
    )
    for there in ("order 7", 'text "x"', "b 1", "c null"):
        assert there in words


def test_the_title_says_tool_and_agent(macros: Any) -> None:
    assert "Change price · my shop" in squeezed(
        drawn_page(macros, proposal(tool="change_price", agent="my_shop")).text
    )


def test_a_list_of_objects_is_one_table(macros: Any) -> None:
    drawn = drawn_page(macros, proposal({"changes": [{"sku": f"T{n}", "cents": n} for n in range(200)]}))
    assert drawn.elements.count("table") == 1
    assert drawn.elements.count("tr") == 201
    assert '200 199 "T199"' in squeezed(drawn.text)


def test_markup_is_text_wherever_it_comes_from(macros: Any) -> None:
    """E4: in a value, a name, a label, a preview, a person's name, his words, the agent's, and every other field."""
    person = Person(visible(HOSTILE), visible(HOSTILE))
    said = Excerpt(HOSTILE, (), False)
    asked = Asked(proposer=person, owner=person, words=said, said=said)
    change = {"label": HOSTILE, "before": HOSTILE, "after": {HOSTILE: HOSTILE}}
    one = proposal(
        {HOSTILE: HOSTILE, "n": 1, "rows": [{HOSTILE: 1}, {HOSTILE: HOSTILE}]},
        labels={"/n": HOSTILE}, preview=[change], as_of=HOSTILE, tool=HOSTILE, agent=HOSTILE,
        permission=HOSTILE, mode=HOSTILE, id=HOSTILE, note=HOSTILE, proposer=HOSTILE,
    )  # fmt: skip
    for who in (asked, None):
        drawn = drawn_page(macros, one, asked=who)
        assert set(drawn.elements) <= ELEMENTS
        assert set(drawn.attributes) <= ATTRIBUTES
        assert drawn.text.count(HOSTILE) >= (15 if who else 10)
        assert "49" not in drawn.text


def test_a_component_as_preview_shows_its_data(macros: Any) -> None:
    preview = {"component": HOSTILE, "data": {"subject": HOSTILE}, "props": {}}
    drawn = drawn_page(macros, proposal(preview=preview))
    assert set(drawn.elements) <= ELEMENTS
    assert f'subject "{HOSTILE}"' in squeezed(drawn.text)


@pytest.mark.parametrize("value", ["12345678901234567890", "0.30000000000000004", "1e+22"])
def test_numbers_are_the_digits_that_run(macros: Any, value: str) -> None:
    """E5."""
    assert f"n {value}" in squeezed(drawn_page(macros, proposal({"n": json.loads(value)})).text)


def test_what_does_not_show_is_an_escape_with_a_badge(macros: Any) -> None:
    """E1: as text, so that a copy of it has the escapes."""
    drawn = drawn_page(macros, proposal({"to": "a\u202eb\u200b\U000e0041"}))
    assert 'to "a\\u202eb\\u200b\\U000e0041" escaped' in squeezed(drawn.text)
    assert "\u202e" not in drawn.text


def test_a_default_has_a_badge(macros: Any) -> None:
    """E6."""
    one = proposal({"a": 1, "b": [], "rows": [{"x": 1}, {"x": 2}]}, filled=("/a", "/b", "/rows/1/x"))
    assert squeezed(drawn_page(macros, one).text).count("default") == 3


def test_a_label_stands_beside_the_id(macros: Any) -> None:
    """E7."""
    one = proposal({"customer": 42}, labels={"/customer": "Anna Berg"})
    assert "customer 42 Anna Berg" in squeezed(drawn_page(macros, one).text)


def test_a_preview_stands_beside_the_fields_and_not_for_them(macros: Any) -> None:
    """E10."""
    preview = [
        {"label": "Price", "before": "1.00 €", "after": None},
        {"label": "Left", "before": 3, "after": [1]},
    ]
    words = squeezed(drawn_page(macros, proposal({"order": 7}, preview=preview)).text)
    assert "order 7" in words
    assert "Before After Price 1.00 € nothing Left 3 1" in words


def test_odd_labels_of_a_preview_are_shown_as_they_are(macros: Any) -> None:
    """Nothing keeps a tool from ``Change(1, …)``."""
    assert Change(1, 2, 3).label == 1  # type: ignore[arg-type]
    assert "1 2 3" in squeezed(
        drawn_page(macros, proposal(preview=[{"label": 1, "before": 2, "after": 3}])).text
    )


def test_the_agents_words_are_below_the_fields_and_labelled(macros: Any) -> None:
    """E9."""
    asked = Asked(proposer=EVE, owner=None, said=Excerpt("refund order 9", (), True))
    words = squeezed(drawn_page(macros, proposal({"order": 7}), asked=asked).text)
    assert "The agent says refund order 9…" in words
    assert words.index("order 7") < words.index("The agent says")


def test_who_asked_stands_with_name_id_and_words(macros: Any) -> None:
    bob = Person(visible("b1"), visible("Bob"))
    asked = Asked(
        proposer=EVE, owner=bob, words=Excerpt("Please", (), False), link="/litro/sessions/desk/s1#e2"
    )
    drawn = drawn_page(macros, proposal(), asked=asked)
    assert "Asked by Eve (eve) in the session of Bob (b1)" in squeezed(drawn.text)
    assert "Please" in drawn.text
    assert drawn.attributes["href"] == ["/litro/sessions/desk/s1#e2"]


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        ("by_hand", "not asked for in a conversation"),
        ("gone", "is no longer there"),
        ("away", "cannot be read now"),
        (None, "began after a decision"),
    ],
)
def test_words_that_are_missing_are_said_to_be(macros: Any, missing: Any, sentence: str) -> None:
    assert (
        sentence
        in drawn_page(macros, proposal(), asked=Asked(proposer=EVE, owner=None, missing=missing)).text
    )


def test_what_cannot_be_undone_is_said(macros: Any) -> None:
    final, there = Spy().tool(), Spy().tool(inverse=lambda params, result: None)
    assert "Cannot be undone" in drawn_page(macros, proposal(), tool=final).text
    assert "no longer has this tool" in drawn_page(macros, proposal()).text
    for sentence in ("Cannot be undone", "no longer has"):
        assert sentence not in drawn_page(macros, proposal(), tool=there).text


def test_the_rest_of_the_facts_are_there(macros: Any) -> None:
    drawn = drawn_page(macros, proposal(as_of='"v7"', four_eyes=True))
    words = squeezed(drawn.text)
    for there in (
        "Four eyes",
        "Tool refund (propose)",
        "Permission refunds:edit",
        'As of "v7"',
        "Proposal p1",
    ):
        assert there in words
    assert drawn.attributes["datetime"] == ["2026-11-30T06:58:24.525Z", "2026-11-30T07:03:24.525Z"]


def test_no_arguments_are_said_to_be_none(macros: Any) -> None:
    assert "takes no arguments" in drawn_page(macros, proposal({})).text


def test_a_template_of_a_site_with_strict_names_draws_it_too() -> None:
    from jinja2 import StrictUndefined

    app = Flask("flask_litro_agent")
    app.jinja_env.undefined = StrictUndefined
    one = proposal({"a": [1, {"b": 2}], "rows": [{"x": 1}, {"y": 2}]}, preview=[], filled=("/a",))
    with app.app_context():
        module: Any = app.jinja_env.get_template("litro_agent/admin/_card.html").make_module(
            {"_": lambda text: text, "moment": moment}
        )
        assert "rows" in module.card(card(one, is_operator=True))


def test_nothing_in_the_template_is_called_safe() -> None:
    app = Flask("flask_litro_agent")
    source = app.jinja_loader.get_source(app.jinja_env, "litro_agent/admin/_card.html")[0]  # type: ignore[union-attr]
    assert not re.search(r"\|\s*safe|autoescape|Markup|style=|\son[a-z]+=", source)


@settings(max_examples=60, deadline=None)
@given(pair=JSON.flatmap(lambda value: st.tuples(st.just(value), near(value))))
@example(pair=("1", 1))
@example(pair=(1, 1.0))
@example(pair=("\u202e", "\\u202e"))
@example(pair=(["a", "b"], ['a" "b']))
@example(pair=([{"a": 1}, {"a": 2}], [{"a": 1}, {"a": "2"}]))
@example(pair=("a\nb", "a↵ b"))
@example(pair=("<b>", "&lt;b&gt;"))
def test_two_cards_look_the_same_exactly_when_their_bytes_are(macros: Any, pair: tuple[Any, Any]) -> None:
    one, other = (proposal({"value": value}) for value in pair)
    drawn = [Page(str(macros.card(shown(each)))) for each in (one, other)]
    looks = [(each.elements, each.text) for each in drawn]
    assert (looks[0] == looks[1]) is (one.arguments == other.arguments)


def test_no_part_of_a_page_has_a_character_that_does_not_show(tmp_path: Any) -> None:
    """E1: not the title, the heading, the raw arguments, the person's words, a note, a name or the list."""
    app = proposal_site(tmp_path)
    people = app.extensions["people"]
    people["eve"] = Actor("eve", "Eve\u202e\u200b", people["eve"].permissions)
    ops = Browser(app)
    said = json.dumps(
        [[["say", "Yes\u202e"], ["call", "refund", {"order": 7, "text": "a\u202e\U000e0041"}]], []]
    )
    post(app.test_client(), said.replace("\\u202e", "\u202e"), actor="eve").get_data()
    (proposal_id,) = [each.id for each in app.extensions["litro_agent"].books.ledger.find()[0]]
    pages = []
    for _ in range(2):
        for path in ("/litro/", f"/litro/proposals/{proposal_id}"):
            pages.append(ops.client.get(path, headers={"X-Actor": "ops"}).text)
        ops.decide("dismiss", proposal_id, note="no\u202e")
    assert sum(page.count("\\u202e") for page in pages) >= 10
    assert [
        character for page in pages for character in page if not is_seen(character) and character != "\n"
    ] == []


@pytest.mark.browser
def test_in_a_browser_hostile_text_is_text_and_a_copy_has_the_escapes(page: Tab, tmp_path: Any) -> None:
    """E1, E4: nothing runs, nothing is blocked by the policy because nothing tried."""
    app = proposal_site(tmp_path)
    text = f"{HOSTILE}\u202e\u200b\nend"
    proposal_id = Browser(app, "eve").ask(order=7, text=text)["proposal_id"]
    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
    page.on("dialog", lambda dialog: told.append(dialog.message))
    page.set_extra_http_headers({"X-Actor": "ops"})
    try:
        page.goto(f"http://127.0.0.1:{server.port}/litro/proposals/{proposal_id}")
        (field,) = page.locator(".fields .is-text").all()
        assert field.inner_text() == f'"{HOSTILE}\\u202e\\u200b↵\nend"'
        copied = page.evaluate(
            "() => { getSelection().selectAllChildren(document.querySelector('.fields .is-text'));"
            " return getSelection().toString() }"
        )
        assert "\\u202e\\u200b" in copied
        assert page.locator(".card img").count() == 0
        assert told == []
    finally:
        page.set_extra_http_headers({})
        server.shutdown()
