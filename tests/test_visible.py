"""Texts that a person can read: every character shows, and no two texts look the same."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flask_litro_agent.core.visible import ESCAPED, LOOKALIKE, MIXED, escape, is_seen, visible, visible_json

TRICKY = "\\\n\r\t u202eU0001\u202e\u200b\u0301\u0323\u21b5a\u1161\u1112\u00e9A\U000e0041\ufe0f\x00"
TEXTS = st.text(max_size=12) | st.text(st.sampled_from(TRICKY), max_size=12)
ESCAPE = re.compile(r"\\\\|\\u([0-9a-f]{4})|\\U([0-9a-f]{8})")


def read_back(shown: str) -> str:
    """Return the text that is shown so."""

    def one(match: re.Match[str]) -> str:
        digits = match[1] or match[2]
        return chr(int(digits, 16)) if digits else "\\"

    return ESCAPE.sub(one, shown.replace("↵\n", "\n"))


@given(TEXTS, st.booleans())
@example("\\u202e", False)
@example("\u202e", False)
@example("\\\\u202e", False)
@example("\\\u202e", False)
@example("\\\n", True)
@example("\u21b5\n", True)
@example("\\U000e0041", True)
def test_what_is_shown_says_exactly_which_text_it_is(text: str, breaks: bool) -> None:
    assert read_back(visible(text, breaks=breaks).text) == text


@given(TEXTS)
def test_every_character_that_is_shown_is_seen(text: str) -> None:
    assert all(map(is_seen, visible(text).text))
    assert all(is_seen(each) or each == "\n" for each in visible(text, breaks=True).text)


@given(TEXTS)
def test_what_is_shown_is_in_normal_form(text: str) -> None:
    """Two texts that a typeface draws alike, e and accent or é, are two."""
    assert unicodedata.is_normalized("NFC", visible(text).text)


@given(TEXTS)
def test_a_text_that_is_shown_otherwise_is_marked(text: str) -> None:
    shown = visible(text)
    assert (ESCAPED in shown.marks) is (shown.text != text)


@pytest.mark.parametrize(
    "hidden",
    "\u202e\u2066\u2069\u200b\u200d\ufeff\u00ad\U000e0041\ufe00\ufe0f\U000e0100\x00\r\t\x1b\x85\u2028\u00a0\u3000"
    "\u034f\u115f\u3164\uffa0\u2800\u180e\u061c\U0001d159\U00016fe4\ue000\ud800",
)
def test_what_does_not_show_is_written_out(hidden: str) -> None:
    """E1."""
    assert visible(f"a{hidden}b", breaks=True) == (f"a{escape(hidden)}b", (ESCAPED,))


@given(TEXTS)
@example("\\u202e\u202e\U000e0041")
def test_json_text_is_seen_and_says_the_same(text: str) -> None:
    written = visible_json(json.dumps({text: text}, ensure_ascii=False))
    assert all(map(is_seen, written))
    assert json.loads(written) == {text: text}


def test_escapes_have_one_length_each() -> None:
    assert (escape("\u202e"), escape("\U000e0041"), escape("\x00")) == ("\\u202e", "\\U000e0041", "\\u0000")


@pytest.mark.parametrize(
    "text", ["C:\\users", "\\d+", "a\\", 'say "x"', "<b>", "{{7*7}}", "[a](b)", "日本語", "é"]
)
def test_what_shows_stands_as_it_is(text: str) -> None:
    assert visible(text) == (text, ())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\\u202e", "\\\\u202e"),
        ("\\\\srv", "\\\\\\\\srv"),
        ("\\ \u200b", "\\\\ \\u200b"),
        ("\u21b5", "\\u21b5"),
    ],
)
def test_what_could_be_taken_for_an_escape_is_one(text: str, shown: str) -> None:
    assert visible(text) == (shown, (ESCAPED,))


def test_line_breaks_are_seen_and_still_break() -> None:
    assert visible("Dear Ann,\n\nyours\n", breaks=True) == ("Dear Ann,↵\n↵\nyours↵\n", ())


def test_a_line_break_in_a_name_is_an_escape() -> None:
    assert visible("a\nb").text == "a\\u000ab"


@pytest.mark.parametrize("text", ["e\u0301", "\u212b", "\u1112\u1161", "\u0301a", "\n\u0301a"])
def test_what_would_join_its_neighbour_is_written_out(text: str) -> None:
    assert ESCAPED in visible(text, breaks=True).marks


def test_a_heap_of_accents_does_not_cover_the_line_above() -> None:
    assert visible("a" + "\u0336" * 40).text.count("\\u0336") == 32


@pytest.mark.parametrize(
    "text", ["नमस्ते", "שָׁלוֹם", "ไม้", "Ελλάδα", "Привет, мир", "résumé", "10 µm", "nº 5", "m²"]
)
def test_ordinary_words_of_any_language_have_no_mark(text: str) -> None:
    assert visible(unicodedata.normalize("NFC", text)).marks in ((), (ESCAPED,) if "שׁ" in text else ())


@pytest.mark.parametrize("text", ["pаypal", "Βank", "ο'Neil mіx", "αbc", "Tеst-1"])
def test_a_word_of_several_scripts_is_marked(text: str) -> None:
    assert MIXED in visible(text).marks


@pytest.mark.parametrize("text", ["Tシャツ", "Anna и Борис", "αβγ abc", "漢字かな", "K-팝 POP"])
def test_words_of_several_languages_beside_each_other_are_not(text: str) -> None:
    assert visible(text).marks == ()


@pytest.mark.parametrize("text", ["АВС-12", "order ОЕМ", "ｒｅｆｕｎｄ", "𝟏𝟎𝟎", "𝐫𝐞𝐟𝐮𝐧𝐝", "ᎡᎬᎳ"])
def test_letters_that_only_look_latin_are_marked(text: str) -> None:
    assert visible(text).marks == (LOOKALIKE,)
