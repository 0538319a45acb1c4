"""Server-sent events, however the bytes are cut."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_litro_agent.providers.sse import Event, EventStream, StreamTooLarge


def parsed(*pieces: bytes) -> list[Event]:
    stream = EventStream()
    events = [event for piece in pieces for event in stream.feed(piece)]
    return events + stream.end()


def data_of(*pieces: bytes) -> list[str]:
    return [event.data for event in parsed(*pieces)]


def test_one_blank_after_the_colon_is_dropped_and_no_more() -> None:
    assert data_of(b"data:a\n\ndata: b\n\ndata:  c\n\n") == ["a", "b", " c"]


def test_data_lines_of_one_event_are_joined_by_newlines() -> None:
    assert data_of(b"data: a\ndata\ndata: b\n\n") == ["a\n\nb"]


def test_every_line_end_ends_a_line() -> None:
    assert data_of(b"data: a\r\n\r\ndata: b\r\rdata: c\n\n") == ["a", "b", "c"]


def test_a_line_end_cut_in_two_is_one() -> None:
    assert data_of(b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n") == ["a\nb"]


def test_names_ids_and_retry_are_read() -> None:
    assert parsed(b"event: ping\nid: 7\ndata: a\n\nretry: 10\n\ndata: b\n\n") == [
        Event("ping", "a", "7"),
        Event("message", "b", "7"),
    ]


def test_an_event_without_data_is_none() -> None:
    assert parsed(b"event: ping\n\nid: 1\n\n: comment\n\ndata: a\n\n") == [Event("message", "a", "1")]


def test_an_empty_data_line_is_an_event() -> None:
    assert data_of(b"data\n\n") == [""]


def test_one_byte_order_mark_is_dropped_wherever_it_is_cut() -> None:
    assert data_of(b"\xef", b"\xbb", b"\xbfdata: a\n\n") == ["a"]
    assert data_of(b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n") == ["b"]


def test_separators_of_unicode_end_no_line() -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"
    assert data_of(f"data: {text}\n\n".encode()) == [text]


def test_the_end_of_the_stream_dispatches_the_last_block() -> None:
    assert data_of(b"data: a\n\ndata: b") == ["a", "b"]


def test_nul_bytes_around_a_line_are_padding() -> None:
    assert data_of(b"\0\0\n\n\0data: a\n\0\0\ndata: b\n\n") == ["a\nb"]


def test_an_error_field_is_an_event_of_that_name() -> None:
    assert parsed(b"error: no\n\n") == [Event("error", "no")]


def test_lines_that_are_no_field_are_kept_apart() -> None:
    stream = EventStream()
    assert stream.feed(b'{\n"error": 1\n}\n') == []
    stream.end()
    assert stream.stray == '{\n"error": 1\n}'


def test_bytes_that_are_not_utf8_become_replacement_characters() -> None:
    assert data_of(b"data: a\xffb\n\n") == ["a\ufffdb"]


def test_a_line_over_its_cap_is_refused() -> None:
    stream = EventStream(max_line=1000)
    stream.feed(b"data: " + b"x" * 900)
    with pytest.raises(StreamTooLarge):
        stream.feed(b"x" * 200)
    with pytest.raises(StreamTooLarge):
        EventStream(max_line=1000).feed(b"x" * 1001 + b"\n")


def test_too_many_events_are_refused() -> None:
    stream = EventStream(max_events=10)
    stream.feed(b"data\n\n" * 10)
    with pytest.raises(StreamTooLarge):
        stream.feed(b"data\n\n")


def test_a_long_line_in_small_pieces_costs_linear_time() -> None:
    def seconds(pieces: int) -> float:
        stream, began = EventStream(), time.process_time()
        for _ in range(pieces):
            stream.feed(b"x" * 64)
        stream.feed(b"\n")
        return time.process_time() - began

    seconds(1000)
    small, large = min(seconds(4000) for _ in range(3)), min(seconds(32000) for _ in range(3))
    assert large < small * 8 * 4


_PIECES = st.sampled_from(
    [
        b"data: a",
        b"data:b",
        b"event: x",
        b"id: 1",
        b": c",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\0",
        b"\xef\xbb\xbf",
        "é".encode(),
    ]
)


@given(st.lists(_PIECES, max_size=20).map(b"".join), st.lists(st.integers(0, 60), max_size=8))
def test_where_the_bytes_are_cut_changes_nothing(body: bytes, cuts: list[int]) -> None:
    places = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    pieces = [body[start:end] for start, end in itertools.pairwise(places)]
    assert parsed(*pieces) == parsed(body)
