"""Real processes, really killed in the middle of a turn: whoever saw a line will find it in the log.

``LITRO_CHAOS`` sets the number of random kills.
"""

import os
import random
import time

import pytest

from flask_litro_agent import events
from flask_litro_agent.sessions.file import FileStore
from tests.bench import SOON, Bench, of_kind
from tests.turn_child import Child

pytestmark = pytest.mark.chaos

KILLS = int(os.environ.get("LITRO_CHAOS", "8"))
SHORT = ([["say", "one"], ["call", "count", {"to": 1}]], [["say", "two"]])
APPENDS = 8
BUSY = (
    [
        ["say", "let me look at that", 0.002],
        ["call", "count", {"to": 20}],
        ["call", "echo", {"value": "é\u2028"}],
    ],
    [["say", "one more", 0.002], ["call", "crash", {}]],
    [["say", "that is all of it", 0.002]],
)


def check(folder, shown):
    """Check a killed turn's log: whole, at least what was shown, and closed by the next look."""
    bench = Bench(FileStore(folder, fsync="never"))
    log = bench.log()
    assert log.startswith(shown)
    found = bench.events()
    assert [event.seq for event in found] == list(range(1, len(found) + 1))
    if found:
        bench.runner.standing(bench.key())
        found = bench.events()
        assert bench.log().startswith(log)
        assert found[-1].kind == events.TURN_END
        calls = [call["call_id"] for call in of_kind(found, events.TOOL_CALL)]
        assert sorted(calls) == sorted(r["call_id"] for r in of_kind(found, events.TOOL_RESULT, events.UI))
    bench.run([["say", "again"]])
    assert bench.events()[-1].payload["reason"] == "finished"
    return log


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(1, APPENDS + 1))
def test_a_process_killed_around_each_append_has_shown_only_what_is_stored(tmp_path, number, when):
    """Law 1."""
    with Child(tmp_path / "s", SHORT, die_at=number, when=when) as child:
        assert child.process.wait(SOON) == -9
        shown = child.shown()
    log = check(tmp_path / "s", shown)
    assert (b"turn-end" in log) == (number == APPENDS and when == "after")


def test_control_one_append_more_is_never_reached(tmp_path):
    """Control of the test above: it killed at every append that there is."""
    with Child(tmp_path / "s", SHORT, die_at=APPENDS + 1, when="before") as child:
        assert child.process.wait(SOON) == 0
        assert child.shown().count(b"turn-end") == 1


def test_control_a_process_that_shows_first_has_shown_what_the_log_lacks(tmp_path):
    """Law 1, control: the naive order, killed at the same places."""
    with Child(tmp_path / "s", SHORT, die_at=3, when="before", show_first=True) as child:
        assert child.process.wait(SOON) == -9
        shown = child.shown()
    log = Bench(FileStore(tmp_path / "s")).log()
    assert shown != log
    assert shown.startswith(log)


def test_killed_at_random_moments_no_line_that_was_shown_is_lost(tmp_path):
    """Law 1, H5."""
    chance, in_a_turn = random.Random(7), 0
    for number in range(KILLS):
        with Child(tmp_path / str(number), *[BUSY] * 200) as child:
            time.sleep(chance.random() * 0.25)
            child.kill()
            shown = child.shown()
        log = check(tmp_path / str(number), shown)
        in_a_turn += bool(shown) and b'"kind":"turn-end"' not in log.splitlines()[-1]
    assert in_a_turn > KILLS / 2, "most kills came in the middle of a turn that somebody saw"
