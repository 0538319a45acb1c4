"""What a log has about a call: the right message, the right words, and no more reading than needed."""

from __future__ import annotations

import pytest

from flask_litro_agent.contracts import Entry, SessionKey
from flask_litro_agent.errors import SessionDeleted
from flask_litro_agent.events import encode
from flask_litro_agent.web.admin.scenes import LONGEST, Scene, Scenes

KEY = SessionKey("desk", "eve", "s1")


class Log:
    """A log that counts the entries that were read from it."""

    def __init__(self, *said):
        self.entries = [
            Entry(seq, kind, encode(seq, 1, kind, payload)) for seq, (kind, payload) in enumerate(said, 1)
        ]
        self.read_entries = 0

    def last_seq(self, key):
        return len(self.entries)

    def read(self, key, after=0, kinds=None):
        for entry in self.entries[after:]:
            self.read_entries += 1
            if entry.kind in kinds:
                yield entry


def turn(name, *calls, text="Do it", said="Yes"):
    yield "turn-start", {"turn_id": name, "agent": "desk"}
    if text is not None:
        yield "message", {"role": "user", "text": text}
    yield from [("text-delta", {"text": "."})] * 5
    yield "message", {"role": "assistant", "text": said}
    yield from (("tool-call", {"call_id": call, "name": "refund", "input": {}}) for call in calls)
    yield from (("tool-result", {"call_id": call, "name": "refund", "output": 1}) for call in calls)
    yield "turn-end", {"turn_id": name, "reason": "finished", "usage": {}}


def find(log, name, call):
    return Scenes(log).of(KEY, turn=name, call_id=call)


def test_a_scene_is_that_of_the_call():
    log = Log(*turn("t1", "a", text="One"), *turn("t2", "b", "c", text="Two"))
    for call in "bc":
        assert find(log, "t2", call) == Scene(first=12, message=13, words="Two", said="Yes")
    assert find(log, "t1", "b") is None


def test_a_turn_that_nobody_began_has_no_words():
    assert find(Log(*turn("t1", "a", text=None)), "t1", "a") == Scene(
        first=1, message=None, words=None, said="Yes"
    )


def test_near_the_end_of_a_long_log_only_its_end_is_read():
    log = Log(*(line for _ in range(2000) for line in turn("old", "x")), *turn("new", "a"))
    assert find(log, "new", "a").words == "Do it"
    assert log.read_entries <= 256


def test_far_from_its_end_a_long_log_is_read_to_the_call():
    log = Log(*turn("t1", "a", text="First"), *(line for _ in range(200) for line in turn("t2", "x")))
    assert find(log, "t1", "a").words == "First"
    assert log.read_entries <= 256 + 10


def test_a_turn_that_begins_before_the_last_stretch_is_read_whole():
    """The call is near the end, and its message is not."""
    rounds = [("tool-call", {"call_id": f"c{n}", "name": "echo", "input": {}}) for n in range(400)]
    start, message, *_ = turn("t1", text="Long ago")
    assert find(Log(start, message, *rounds), "t1", "c399").words == "Long ago"


def test_what_was_found_once_is_not_read_again():
    log = Log(*turn("t1", "a"), *turn("t2", "b"))
    scenes = Scenes(log)
    found = [scenes.of(KEY, turn="t1", call_id="a") for _ in range(3)]
    assert (len(set(found)), log.read_entries) == (1, 9)
    assert scenes.of(KEY, turn="t2", call_id="b") != found[0]


def test_what_was_not_found_is_looked_for_again():
    log = Log(*turn("t1", "a"))
    scenes = Scenes(log)
    assert scenes.of(KEY, turn="t2", call_id="b") is None
    log.entries += Log(*turn("t1", "a"), *turn("t2", "b")).entries[len(log.entries) :]
    assert scenes.of(KEY, turn="t2", call_id="b") is not None


def test_a_log_that_is_deleted_takes_what_was_found_with_it():
    log = Log(*turn("t1", "a"))
    scenes = Scenes(log)
    assert scenes.of(KEY, turn="t1", call_id="a") is not None

    def deleted(key):
        raise SessionDeleted("gone")

    log.last_seq = deleted
    with pytest.raises(SessionDeleted):
        scenes.of(KEY, turn="t1", call_id="a")


def test_a_log_that_was_pruned_takes_what_was_found_with_it():
    log = Log(*turn("t1", "a"))
    scenes = Scenes(log)
    assert scenes.of(KEY, turn="t1", call_id="a") is not None
    log.entries.clear()
    assert scenes.of(KEY, turn="t1", call_id="a") is None


def test_of_a_long_text_the_beginning_is_kept():
    found = find(Log(*turn("t1", "a", text="x" * 100_000)), "t1", "a")
    assert len(found.words) == LONGEST + 1


def test_only_so_many_scenes_are_kept():
    log = Log(*turn("t1", *(f"c{number}" for number in range(1100))))
    scenes = Scenes(log)
    for number in range(1100):
        scenes.of(KEY, turn="t1", call_id=f"c{number}")
    assert len(scenes._known) == 1024
