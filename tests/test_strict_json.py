from __future__ import annotations

import json
import math
import re
import sys
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flask_litro_agent import strict_json
from flask_litro_agent.errors import InvalidJSON, LitroError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=20,
)
TOKENS = [
    *'[]{},:"\\-0127.eE+ \n\t\x00\x0b\ufeff\u2028é😀\ud800',
    *(
        "true",
        "false",
        "null",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e400",
        "-1e999",
        "1E-400",
        "0.1",
        "-0",
        "00",
    ),
    *('"a"', '"a":', '{"a":1,"a":2}', '{"a":{"b":1,"b":1}}', '"\\u0000"', '"\\\\u0000"', '"\\ud83d\\ude00"'),
    *(
        '"\\ud83d"',
        '"\\udc00"',
        '"\\ude00\\ud83d"',
        '"\\uD800":1',
        '"\\n"',
        '"\\x"',
        '"[["',
        "[" * 40,
        "]" * 40,
    ),
    *("9" * 1000, "9" * 1001, "[" * 64 + "]" * 64, "[" * 65 + "]" * 65, "//", "'a'", '{"\\ud800":1}'),
]
TEXTS = st.lists(st.sampled_from(TOKENS), max_size=12).map("".join)


def refused(text: bytes | str) -> str:
    """The sentence with which the decoder refuses a text, within a second of work."""
    sentence = outcome(text)
    assert isinstance(sentence, InvalidJSON)
    return str(sentence)


def outcome(text: bytes | str) -> Any:
    """The value, or the refusal, which must come within a second of this thread's own time."""
    start = time.thread_time()
    try:
        return strict_json.decode(text)
    except InvalidJSON as error:
        return error
    finally:
        assert time.thread_time() - start < 1


def same(one: Any, other: Any) -> bool:
    """Equality that tells 1 from 1.0 and from True, and 0.0 from -0.0; the order of names counts."""
    match one, other:
        case (list(), list()):
            return len(one) == len(other) and all(map(same, one, other))
        case (dict(), dict()):
            return [*one] == [*other] and all(same(one[name], other[name]) for name in one)
        case (float(), float()):
            return one == other and math.copysign(1, one) == math.copysign(1, other)
    return type(one) is type(other) and one == other


# against the standard library


class Pairs(list[tuple[str, Any]]):
    """An object of the text with every member that it has."""


def leaves(value: Any) -> list[Any]:
    match value:
        case Pairs():
            return [leaf for name, item in value for leaf in (name, *leaves(item))]
        case list():
            return [leaf for item in value for leaf in leaves(item)]
    return [value]


def levels(value: Any) -> int:
    items = [item for _, item in value] if isinstance(value, Pairs) else value
    return 1 + max(map(levels, items), default=0) if isinstance(value, list) else 0


def repeats_a_name(value: Any) -> bool:
    if isinstance(value, Pairs):
        names = [name for name, _ in value]
        return len({*names}) < len(names) or any(repeats_a_name(item) for _, item in value)
    return isinstance(value, list) and any(map(repeats_a_name, value))


def has_in_a_string(pattern: str, value: Any) -> bool:
    return any(isinstance(leaf, str) and re.search(pattern, leaf) for leaf in leaves(value))


def is_out_of_range(number: Any) -> bool:
    return (isinstance(number, float) and not math.isfinite(number)) or (
        type(number) is int and abs(number) >= 10**999
    )


#: every reason to refuse what the standard library accepts: the sentence's core, and what must be true of the value
REASONS = {
    "levels deep": lambda text, value: levels(value) > 64,
    "appears twice": lambda text, value: repeats_a_name(value),
    "a NUL": lambda text, value: has_in_a_string("\x00", value),
    "lone surrogate": lambda text, value: has_in_a_string("[\ud800-\udfff]", value),
    "out of range": lambda text, value: any(map(is_out_of_range, leaves(value))),
    "not JSON: NaN": lambda text, value: "NaN" in text,
    "not JSON: Infinity": lambda text, value: "Infinity" in text,
    "not JSON: -Infinity": lambda text, value: "-Infinity" in text,
}


@settings(deadline=None)
@given(TEXTS | VALUES.map(json.dumps))
@example("[" * 65 + "]" * 65)
@example('{"a":{"b":[{"c":1,"c":1}]}}')
def test_it_agrees_with_the_standard_library_but_for_the_listed_reasons(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        refused(text)
        return
    value = outcome(text)
    if isinstance(value, InvalidJSON):
        whole = json.loads(text, object_pairs_hook=Pairs)
        assert [reason for reason, holds in REASONS.items() if reason in str(value) and holds(text, whole)]
    else:
        assert same(value, expected)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 65 + "]" * 65, "levels deep"),
        ('{"a":1,"a":1}', "appears twice"),
        (r'["\u0000"]', "a NUL"),
        (r'["\ud800"]', "lone surrogate"),
        ("[1e999]", "out of range"),
        ("[" + "1" * 1001 + "]", "out of range"),
        ("[NaN]", "not JSON: NaN"),
        ("[Infinity]", "not JSON: Infinity"),
        ("[-Infinity]", "not JSON: -Infinity"),
    ],
)
def test_every_listed_reason_is_one_where_the_standard_library_accepts(text: str, reason: str) -> None:
    json.loads(text)
    assert reason in refused(text)


@settings(deadline=None)
@given(st.binary(max_size=40))
@example(b'"\xed\xa0\x80"')
@example(b"\xff\xfe[\x00]\x00")
@example(b"\x00[\x00]")
@example(b"[\x00]\x00")
def test_bytes_are_utf_8_or_refused(data: bytes) -> None:
    try:
        value = strict_json.decode(data)
    except InvalidJSON:
        return
    assert same(value, json.loads(data.decode("utf-8")))


@settings(deadline=None)
@given(VALUES)
def test_what_encode_writes_decode_reads_back(value: Any) -> None:
    try:
        data = strict_json.encode(value)
    except ValueError:
        assert "\\u0000" in json.dumps(value)
    else:
        assert same(strict_json.decode(data), value)


# depth


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_64_levels_are_accepted_and_65_are_not(opening: str, closing: str) -> None:
    strict_json.decode(opening * 64 + "1" + closing * 64)
    assert refused(opening * 65 + "1" + closing * 65) == "not accepted: more than 64 levels deep"


@pytest.mark.parametrize("levels", [1000, 20_000, 100_000, 1_000_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ("[", ""), ('[{"a":', "")])
def test_any_depth_is_refused_at_once(levels: int, opening: str, closing: str) -> None:
    assert "more than 64 levels deep" in refused(opening * levels + closing * levels)


def test_brackets_inside_strings_are_no_levels() -> None:
    text = json.dumps({"[" * 100: ["{" * 100, '"' + "[" * 100, "\\" + "[" * 100]})
    assert strict_json.decode(text) == json.loads(text)


def test_neighbours_are_no_levels() -> None:
    assert len(strict_json.decode("[" + ",".join(["[{}]"] * 50_000) + "]")) == 50_000


def test_the_store_reads_a_little_deeper_than_the_doors() -> None:
    text = "[" * 72 + "]" * 72
    strict_json.decode(text, depth=strict_json.STORED_DEPTH)
    with pytest.raises(InvalidJSON, match="more than 72 levels deep"):
        strict_json.decode(f"[{text}]", depth=strict_json.STORED_DEPTH)


@pytest.mark.parametrize(
    "piece", ['\\"', "\\\\", '"', '"\\', '""', '"[', '\\u0000"', "[]", "{", '"a":', "\\u"]
)
def test_a_hostile_text_costs_linear_time(piece: str) -> None:
    text = '"' + piece * 200_000 + "[" * 65
    for whole in (text, text + '"', "[" * 65 + text):
        outcome(whole)


# names


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}',
        '{"a":1,"b":2,"a":3}',
        '[[{"x":{"a":1,"a":2}}]]',
        r'{"a":1,"\u0061":2}',
        '{"":1,"":2}',
        '{"a":{"b":1},"a":{"b":1}}',
    ],
)
def test_a_name_stands_once_in_an_object(text: str) -> None:
    assert refused(text) == "not accepted: a name appears twice in one object"


def test_a_name_may_stand_in_each_of_several_objects() -> None:
    assert strict_json.decode('[{"a":1},{"a":{"a":2}}]') == [{"a": 1}, {"a": {"a": 2}}]


def test_60_000_names_are_read_within_a_second() -> None:
    text = json.dumps({f"name{number}": number for number in range(60_000)})
    assert len(outcome(text)) == 60_000


# numbers


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_is_refused_by_name(number: str) -> None:
    assert refused(f'{{"a":[{number}]}}') == f"not JSON: {number}"


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1E+999999", "9" * 400 + ".0", "123456789e400"])
def test_a_float_that_overflows_is_refused(number: str) -> None:
    assert refused(f"[{number}]") == "not accepted: a number out of range"


def test_a_float_that_underflows_is_zero() -> None:
    assert strict_json.decode("1e-400") == 0.0


@pytest.mark.parametrize("digits", [1001, 4300, 4301, 100_000, 1_000_000])
def test_an_integer_of_more_than_1000_digits_is_refused_at_once(digits: int) -> None:
    assert refused("[" + "7" * digits + "]") == "not accepted: a number out of range"


def test_an_integer_of_1000_digits_is_exact() -> None:
    assert strict_json.decode("7" * 1000) == int("7" * 1000)


def test_an_interpreter_with_a_lower_limit_of_digits_is_answered_honestly() -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert refused("7" * 700) == "not JSON: a number or a structure that is too large"
    finally:
        sys.set_int_max_str_digits(before)


@pytest.mark.parametrize("text", ["01", "-", "+1", ".5", "1.", "0x10", "1_000", "१"])
def test_other_ways_to_write_a_number_are_refused(text: str) -> None:
    assert refused(text).startswith("not JSON: ")


# characters


@pytest.mark.parametrize(
    "text",
    [r'"\ud800"', r'"\udc00"', r'"\uDFFF a"', r'"\ude00\ud83d"', r'{"\ud800":1}', r'[{"a":{"b":"\udbff"}}]'],
)
def test_an_escaped_lone_surrogate_is_refused(text: str) -> None:
    assert refused(text) == "not accepted: a lone surrogate in a string"


@pytest.mark.parametrize("text", ['"\ud800"', '{"\udfff":1}', "\ud800"])
def test_a_raw_lone_surrogate_is_refused(text: str) -> None:
    assert refused(text) == "not JSON: a lone surrogate"


def test_a_surrogate_pair_is_one_character() -> None:
    assert strict_json.decode(r'{"\ud83d\ude00": "\uD83D\uDE00"}') == {"😀": "😀"}


@pytest.mark.parametrize("text", [r'"\u0000"', r'{"a\u0000":1}', r'[["b\u0000"]]'])
def test_an_escaped_nul_is_refused(text: str) -> None:
    assert refused(text) == "not accepted: a NUL character in a string"


@pytest.mark.parametrize("text", ['"\x00"', "\x00", "1\x00", '{"\x00":1}'])
def test_a_raw_nul_is_refused(text: str) -> None:
    assert refused(text).startswith("not JSON: ")


def test_a_text_about_escapes_is_a_text() -> None:
    assert strict_json.decode(r'"\\u0000 \\ud800"') == r"\u0000 \ud800"


def test_unicode_line_ends_are_ordinary_characters() -> None:
    assert strict_json.decode('"\u2028\u2029\x85"') == "\u2028\u2029\x85"


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf{}", "\ufeff{}", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_is_refused_with_a_sentence(data: bytes | str) -> None:
    assert refused(data) == "not accepted: a byte order mark before the JSON text"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_other_encodings_are_refused(encoding: str) -> None:
    data = '{"a": 1}'.encode(encoding)
    assert json.loads(data) == {"a": 1}
    refused(data)


@pytest.mark.parametrize(
    ("data", "byte"),
    [
        (b'"\xff"', 2),
        (b'"abc\xc3"', 5),
        (b'"\xc0\x80"', 2),
        (b'"\xed\xa0\x80"', 2),
        (b'"\xf4\x90\x80\x80"', 2),
        ('"Grüße"'.encode("latin-1"), 4),
    ],
)
def test_bytes_that_are_not_utf_8_are_refused_with_their_place(data: bytes, byte: int) -> None:
    assert refused(data) == f"not UTF-8 at byte {byte}"


# the whole text


@pytest.mark.parametrize("text", ["", " ", "\n\t\r ", b"", b" "])
def test_nothing_is_not_json(text: bytes | str) -> None:
    assert refused(text).startswith("not JSON: Expecting value")


@pytest.mark.parametrize("text", ["{} {}", "1 2", "[]]", "null,", "{}//", "{}\x0b", "{}\u00a0"])
def test_something_after_the_value_is_refused(text: str) -> None:
    assert refused(text).startswith("not JSON: Extra data at character ")


def test_space_around_the_value_is_fine() -> None:
    assert strict_json.decode(b" \r\n\t[1]\n") == [1]


@pytest.mark.parametrize(
    "text", ["[1,]", '{"a":1,}', "{'a':1}", "{a:1}", "[1 2]", "[", "tru", "True", "undefined"]
)
def test_what_is_nearly_json_is_refused(text: str) -> None:
    assert re.fullmatch(r"not JSON: .+ at character [0-9]+", refused(text))


@pytest.mark.parametrize(
    "text",
    [
        '"sk-secret',
        '{"sk-secret": }',
        '{"sk-secret": 1, "sk-secret": 2}',
        '["sk-secret" sk-secret]',
        '"sk-secret\\ud800"',
        '"sk-secret\\u0000"',
        '"sk-secret\x01"',
        '"\\sk-secret"',
        "sk-secret",
        "[" * 65 + '"sk-secret"',
        b"sk-secret\xff",
    ],
)
def test_the_sentence_never_quotes_the_text(text: bytes | str) -> None:
    assert "secret" not in refused(text)


@settings(deadline=None)
@given(TEXTS)
def test_a_refusal_is_one_short_line(text: str) -> None:
    sentence = outcome(text)
    assert not isinstance(sentence, InvalidJSON) or re.fullmatch(r"[ -~]{1,100}", str(sentence))


def test_a_refusal_is_one_of_ours_and_a_value_error() -> None:
    with pytest.raises(LitroError) as raised:
        strict_json.decode("")
    assert isinstance(raised.value, ValueError)


# encoding


def test_the_form_is_compact_utf_8_in_the_given_order() -> None:
    assert (
        strict_json.encode({"b": [1, 2.5, None, True], "a": "é\n"})
        == '{"b":[1,2.5,null,true],"a":"é\\n"}'.encode()
    )


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, "\ud800", {"\udfff": 1}, "\x00", {"a\x00": 1}]
)
def test_what_json_cannot_say_is_not_written(value: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        strict_json.encode([value])


def test_a_cycle_is_not_written() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(ValueError, match="Circular"):
        strict_json.encode(cycle)


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, object()])
def test_what_is_no_json_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError):
        strict_json.encode(value)


def test_a_text_about_nul_is_written() -> None:
    assert strict_json.decode(strict_json.encode("\\u0000")) == "\\u0000"
