from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flask_litro_agent import events, strict_json
from flask_litro_agent.errors import InvalidJSON
from flask_litro_agent.events import Event

TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)
EVENTS = st.builds(
    Event,
    st.integers(1, 10**18 - 1),
    st.integers(0, 10**17 - 1),
    st.sampled_from(sorted(events.KINDS)),
    st.fixed_dictionaries({"text": TEXTS}) | st.dictionaries(TEXTS, VALUES, max_size=4),
)
LINE = b'{"seq":7,"ts":1796021904525,"kind":"text-delta","payload":{"text":"hi"}}\n'
DELTA = Event(7, 1796021904525, "text-delta", {"text": "hi"})


def line(event: Event) -> bytes:
    return events.encode(event.seq, event.ts, event.kind, event.payload)


# one line of bytes


def test_an_event_has_one_fixed_form() -> None:
    assert line(DELTA) == LINE


def test_the_payload_is_compact_utf_8_in_the_given_order() -> None:
    payload = {"call_id": "c1", "name": "find", "output": {"b": [1, 2.5], "a": "é"}}
    assert events.encode(1, 2, "tool-result", payload) == (
        '{"seq":1,"ts":2,"kind":"tool-result","payload":'
        '{"call_id":"c1","name":"find","output":{"b":[1,2.5],"a":"é"}}}\n'.encode()
    )


@settings(deadline=None)
@given(EVENTS)
def test_what_was_encoded_is_decoded(event: Event) -> None:
    assert events.decode(line(event)) == event


@settings(deadline=None)
@given(EVENTS)
def test_a_decoded_event_is_encoded_to_the_same_bytes(event: Event) -> None:
    assert line(events.decode(line(event))) == line(event)


@settings(deadline=None)
@given(TEXTS)
def test_a_deltas_short_way_writes_what_the_long_way_writes(text: str) -> None:
    slow = json.dumps(
        {"seq": 7, "ts": 8, "kind": "text-delta", "payload": {"text": text}},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    assert events.encode(7, 8, "text-delta", {"text": text}) == slow.encode() + b"\n"


@pytest.mark.parametrize("text", [None, 7, ["a", "b"], {"a": 1}])
def test_only_a_text_takes_the_short_way(text: Any) -> None:
    assert b'"payload":' + strict_json.encode({"text": text}) in events.encode(7, 8, "ui", {"text": text})


@settings(deadline=None)
@given(EVENTS)
def test_the_only_newline_is_the_last_byte(event: Event) -> None:
    assert line(event).index(b"\n") == len(line(event)) - 1


@pytest.mark.parametrize(
    "end", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
)
def test_no_line_end_inside_a_text_breaks_the_line(end: str) -> None:
    stream = events.encode(1, 1, "text-delta", {"text": f"a{end}b"}) + LINE
    first, second, rest = stream.split(b"\n")
    assert events.decode(first).payload["text"] == f"a{end}b"
    assert (second + b"\n", rest) == (LINE, b"")


@pytest.mark.parametrize("payload", [{"text": "\ud800"}, {"role": "user", "text": "a\udfff"}, {"\ud800": 1}])
def test_a_lone_surrogate_is_an_encoding_error(payload: dict[str, Any]) -> None:
    with pytest.raises(UnicodeEncodeError):
        events.encode(1, 1, "message", payload)


@pytest.mark.parametrize("payload", [{"text": "a\x00"}, {"role": "user", "text": "\x00"}, {"a\x00": 1}])
def test_a_nul_is_never_written(payload: dict[str, Any]) -> None:
    with pytest.raises(InvalidJSON, match="NUL"):
        events.encode(1, 1, "message", payload)


@pytest.mark.parametrize("payload", [{"text": "\\u0000"}, {"role": "user", "text": r"C:\u0000 \\u0000"}])
def test_a_text_about_nul_is_written(payload: dict[str, Any]) -> None:
    assert events.decode(events.encode(1, 1, "message", payload)).payload == payload


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["text", "value"])
def test_a_number_that_json_cannot_say_is_never_written(name: str, value: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        events.encode(1, 1, "tool-progress", {name: value})


def test_what_is_no_json_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        events.encode(1, 1, "tool-progress", {"value": object()})


def test_the_deepest_value_of_a_door_can_be_read_back_from_its_event() -> None:
    value = strict_json.decode("[" * strict_json.MAX_DEPTH + "]" * strict_json.MAX_DEPTH)
    payload = {"call_id": "c1", "name": "look", "data": value, "hydrate": {"props": {"value": value}}}
    assert events.decode(events.encode(1, 1, "ui", payload)).payload == payload


# what is not an event


def changed(**members: Any) -> bytes:
    event = {"seq": 7, "ts": 8, "kind": "message", "payload": {"text": "hi"}, **members}
    return strict_json.encode({name: value for name, value in event.items() if value != "gone"}) + b"\n"


NO_EVENTS = [
    *(changed(**{name: "gone"}) for name in ("seq", "ts", "kind", "payload")),
    *(changed(seq=seq) for seq in (0, -1, 1.0, True, "7", None)),
    *(changed(ts=ts) for ts in (-1, 1.5, False, "8", None)),
    *(changed(kind=kind) for kind in ("", "Message", "message ", "proposal-forged", None, 7)),
    *(changed(payload=payload) for payload in (None, [], "hi", 7)),
    changed(private={}),
    b"[7,8,9,10]\n",
    b"null\n",
]


@pytest.mark.parametrize("data", NO_EVENTS)
def test_what_is_not_an_event_is_refused(data: bytes) -> None:
    with pytest.raises(
        InvalidJSON, match="not an event: it needs seq, ts, kind and payload, and nothing else"
    ):
        events.decode(data)


@pytest.mark.parametrize(
    "data", [b"", b"\n", LINE[:-2], LINE + LINE, b"\x80" + LINE, LINE.replace(b"7", b"NaN")]
)
def test_what_is_not_json_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidJSON):
        events.decode(data)


def test_a_line_may_lack_its_newline() -> None:
    assert events.decode(LINE.rstrip()) == DELTA


# the frame


@settings(deadline=None)
@given(EVENTS)
def test_the_frame_of_an_event_is_what_decoding_says(event: Event) -> None:
    assert events.frame(line(event)) == (event.seq, event.kind)


def test_the_frame_of_a_torn_line_needs_no_payload() -> None:
    assert events.frame(LINE[:60]) == (7, "text-delta")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"{}",
        LINE[1:],
        b" " + LINE,
        b"\n" + LINE,
        LINE[:57],
        LINE.replace(b'"seq":7', b'"seq":0'),
        LINE.replace(b'"seq":7', b'"seq":07'),
        LINE.replace(b'"seq":7', b'"seq":-7'),
        LINE.replace(b'"seq":7', b'"seq":7.0'),
        LINE.replace(b'"seq":7', b'"seq":true'),
        LINE.replace(b'"seq":7', b'"seq": 7'),
        LINE.replace(b'"seq":7', b'"seq":' + b"7" * 19),
        LINE.replace(b'"seq"', b'"SEQ"'),
        LINE.replace(b'"kind":"text-delta"', b'"kind":""'),
        LINE.replace(b'"kind":"text-delta"', b'"kind":"Text-Delta"'),
        LINE.replace(b'"kind":"text-delta"', b'"kind":"' + b"x" * 33 + b'"'),
        LINE.replace(b'"payload":{', b'"payload":['),
        LINE.replace(b'"ts":1796021904525', b'"ts":"1796021904525"'),
        b'{"ts":1796021904525,"seq":7,"kind":"text-delta","payload":{"text":"hi"}}\n',
    ],
)
def test_a_near_miss_has_no_frame(data: bytes) -> None:
    assert events.frame(data) is None


@settings(deadline=None)
@given(EVENTS, st.integers(0, 60), st.sampled_from(b'0123456789-., "{}[]nsx\n'))
def test_a_changed_byte_never_makes_frame_and_decoding_disagree(event: Event, place: int, byte: int) -> None:
    altered = line(event)
    altered = altered[:place] + bytes([byte]) + altered[place + 1 :]
    try:
        decoded = events.decode(altered)
    except InvalidJSON:
        return
    assert events.frame(altered) in (None, (decoded.seq, decoded.kind))


# the words


def test_history_and_what_must_last_are_kinds() -> None:
    assert events.HISTORY <= events.KINDS
    assert events.DURABLE <= events.KINDS


def test_every_kind_has_its_constant() -> None:
    constants = {value for name, value in vars(events).items() if name.isupper() and isinstance(value, str)}
    assert constants == events.KINDS


def test_every_kind_fits_the_frame() -> None:
    assert {events.frame(events.encode(1, 1, kind, {})) for kind in events.KINDS} == {
        (1, kind) for kind in events.KINDS
    }


def test_no_code_stands_twice() -> None:
    for codes in (events.ERROR_CODES, events.TOOL_ERROR_CODES, events.TURN_END_REASONS):
        assert len(set(codes)) == len(codes)


def test_an_event_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        DELTA.seq = 8
