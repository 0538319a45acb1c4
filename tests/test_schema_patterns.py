from __future__ import annotations

import re
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from marshmallow import Schema, fields, validate

from flask_litro_agent.errors import InvalidArguments
from flask_litro_agent.schemas import load_arguments
from flask_litro_agent.schemas.patterns import ecma_pattern, literal
from flask_litro_agent.schemas.text_forms import EMAIL, strptime_form, url_form

TRANSLATED = {
    r"[a-z]+\Z": "^[a-z]+$",
    r"\A[a-z]": "^[a-z]",
    r"abc": "^abc",
    r"a|b": "^(?:a|b)",
    r"(a|b)c": "^(a|b)c",
    r"^a|b$": "^(?:^a|b$)",
    r"\d{2}-\d{,3}": "^[0-9]{2}-[0-9]{0,3}",
    r"(?P<year>\d{4})": "^([0-9]{4})",
    r"\w+\s\S": r"^[A-Za-z0-9_]+[ \t\n\r\f\v][^\s\x1c-\x1f\x85]",
    r"[^\s/]+": r"^[^\s\x1c-\x1f\x85/]+",
    r"[]a]": r"^[\]a]",
    r"[a[]": r"^[a\[]",
    r"\@\-\/": "^@-/",
    r"\.\*": r"^\.\*",
    r"{}]": r"^\{\}\]",
    r"\U0001F600": "^😀",
    r"a+?b{2,}?": "^a+?b{2,}?",
    r"(?!admin)[a-z]+": "^(?!admin)[a-z]+",
    r"\a\x41A": r"^\x07\x41A",
}
UNTRANSLATABLE = [
    r"(a)\1",
    r"(?P<a>x)(?P=a)",
    r"(?<=a)b",
    r"(?<!a)b",
    r"a++",
    r"(?>a)",
    r"(a)?(?(1)b|c)",
    r"\bword",
    r"\D",
    r"\W",
    r"[^\d]",
    r"[\D]",
    r"(?i:a)",
    r"(?!\d)a",
    r"(?#comment)a",
    r"\101",
]


@pytest.mark.parametrize("source", TRANSLATED)
def test_a_pattern_is_translated(source: str) -> None:
    assert ecma_pattern(re.compile(source)) == TRANSLATED[source]


@pytest.mark.parametrize("source", UNTRANSLATABLE)
def test_a_pattern_that_has_no_narrower_form_is_not_translated(source: str) -> None:
    assert ecma_pattern(re.compile(source)) is None


@pytest.mark.parametrize("flags", [re.IGNORECASE, re.MULTILINE, re.VERBOSE])
def test_flags_that_ecma_patterns_do_not_have_are_not_translated(flags: re.RegexFlag) -> None:
    assert ecma_pattern(re.compile("a", flags)) is None


def test_a_pattern_of_bytes_is_not_translated() -> None:
    assert ecma_pattern(re.compile(b"a")) is None


def test_the_ascii_flag_makes_negated_classes_translatable() -> None:
    assert ecma_pattern(re.compile(r"\D\W\b[^\d]", re.ASCII)) == r"^[^0-9][^A-Za-z0-9_]\b[^0-9]"


def test_a_dot_that_matches_newlines_stays_one() -> None:
    assert ecma_pattern(re.compile("a.b", re.DOTALL)) == r"^a[\s\S]b"


@given(st.text(alphabet="ab1 _-.\n\x1cé٣]", max_size=8))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_translation_accepts_only_what_the_original_accepts(text: str) -> None:
    for source in [*TRANSLATED, r"[^\s]+$", r"[\w.-]+\Z", r"(\d|é)+", r"a.b"]:
        original = re.compile(source)
        translated = ecma_pattern(original)
        assert translated is not None
        if re.search(translated.replace("$", r"\Z"), text):  # the end of the text, as ECMA has it
            assert original.match(text), source


@given(st.text())
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_literal_matches_its_text(text: str) -> None:
    assert re.fullmatch(literal(text), text)


def test_a_strptime_format_with_names_of_the_locale_has_no_pattern() -> None:
    assert strptime_form("%d %B %Y") is None


def test_a_strptime_format_keeps_its_other_characters() -> None:
    assert re.fullmatch(strptime_form("%H.%M (100%%)") or "", "09.30 (100%)")


LONG = 200_000
TRAPS = {
    "labels": "a@" + "a." * LONG,
    "label": "a@" + "a" * LONG,
    "dashes": "http://" + "a-" * LONG,
    "user": "http://" + "a:" * LONG,
    "atoms": "a." * LONG + "@",
    "quoted": '"' + "\\a" * LONG,
    "scheme": "a" * LONG + "://",
    "path": "http://a.b/" + "?" * LONG + " ",
}


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("pattern", [EMAIL, url_form(validate.URL()), url_form(validate.URL(relative=True))])
def test_our_own_patterns_are_linear(pattern: str, trap: str) -> None:
    assert _seconds(lambda: re.search(pattern, TRAPS[trap])) < 2


class Addresses(Schema):
    email = fields.Email()
    url = fields.Url()
    relative = fields.Url(relative=True)


@pytest.mark.parametrize("trap", TRAPS)
def test_fields_for_addresses_refuse_long_traps_at_once(trap: str) -> None:
    def refuse() -> None:
        with pytest.raises(InvalidArguments):
            load_arguments(Addresses(), dict.fromkeys(("email", "url", "relative"), TRAPS[trap]))

    assert _seconds(refuse) < 4


def test_the_stopwatch_notices_a_pattern_that_is_not_linear() -> None:
    nested = re.compile("^(a+)+$")

    short, long = (_seconds(lambda length=length: nested.search("a" * length + "!")) for length in (16, 22))

    assert long > 10 * short


def _seconds(work: object) -> float:
    assert callable(work)
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
