"""A visitor's sessions become the account's: each whole, none lost, none overwritten."""

import pytest

from flask_litro_agent import events
from flask_litro_agent.contracts import Actor
from flask_litro_agent.errors import SessionDeleted, StoreError
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.turns.handover import hand_over
from tests.bench import ANN, SOON, Bench, here, messages_are_valid, until

HI = [["say", "hi"]]
LONG = [["say", "one"], ["sleep", 60]]
VISITOR = Actor("visitor:1", "Visitor")


class Failing(FileStore):
    """Fails at one append, counted from one, when asked to."""

    def __init__(self, path):
        super().__init__(path, fsync="never")
        self.fail_at, self.appends = 0, 0

    def append(self, key, entries, lease):
        self.appends += 1
        if self.appends == self.fail_at:
            raise StoreError("no space")
        super().append(key, entries, lease)


@pytest.fixture
def bench(tmp_path):
    return Bench(Failing(tmp_path / "sessions"))


def give(bench, *, ttl=15.0):
    return hand_over(bench.store, bench.runner, owner=VISITOR.id, heir=ANN.id, ttl=ttl)


def visitors(session="s1"):
    return Bench.key(None, session, VISITOR)


def anns(session="s1"):
    return Bench.key(None, session, ANN)


def test_every_session_moves_byte_for_byte_with_its_private_parts(bench):
    for session in ("a", "b", "c"):
        bench.run(
            [["say", "x"], ["call", "quiet", {"value": "v"}]], HI, session=session, actor=VISITOR, spawn=here
        )
    before = {session: bench.entries(visitors(session)) for session in ("a", "b", "c")}
    assert give(bench) == 3
    for session, entries in before.items():
        assert bench.entries(anns(session)) == entries
        with pytest.raises(SessionDeleted):
            bench.entries(visitors(session))
    assert bench.store.list(VISITOR.id)[0] == []


def test_of_what_moved_nothing_stays_in_memory_under_the_visitor(bench):
    bench.run(HI, actor=VISITOR, spawn=here)
    assert visitors() in bench.runner._histories._kept
    give(bench)
    assert visitors() not in bench.runner._histories._kept


def test_the_conversation_goes_on_where_it_was(bench):
    bench.run([["say", "before"]], actor=VISITOR, spawn=here)
    give(bench)
    bench.run(HI, spawn=here)
    said = bench.puppet.requests[-1].messages
    assert [message.role for message in said] == ["user", "assistant", "user"]
    assert said[1].parts[0].text == "before "


def test_nothing_to_move_is_nothing_moved(bench):
    assert give(bench) == 0


def test_more_sessions_than_a_page_all_move(bench):
    for number in range(60):
        bench.run(HI, session=f"s{number}", actor=VISITOR, spawn=here)
    assert give(bench) == 60
    assert len(bench.store.list(ANN.id, limit=100)[0]) == 60


def test_a_session_whose_id_the_heir_uses_stays_and_neither_changes(bench):
    bench.run([["say", "visitor's"]], actor=VISITOR, spawn=here)
    bench.run([["say", "heir's"]], actor=ANN, spawn=here)
    bench.run(HI, session="free", actor=VISITOR, spawn=here)
    logs = bench.log(visitors()), bench.log(anns())
    assert give(bench) == 1
    assert (bench.log(visitors()), bench.log(anns())) == logs


def test_a_session_whose_id_the_heir_has_deleted_stays(bench):
    bench.run(HI, actor=ANN, spawn=here)
    bench.runner.delete(anns())
    bench.run(HI, actor=VISITOR, spawn=here)
    assert give(bench) == 0
    assert len(bench.entries(visitors())) > 0


def test_a_copy_that_is_cut_short_loses_nothing_and_is_completed_later(tmp_path, monkeypatch):
    """Cut at every append of the copy in turn."""
    monkeypatch.setattr("flask_litro_agent.turns.handover._GROUP", 2)
    for fail_at in range(1, 5):
        bench = Bench(Failing(tmp_path / str(fail_at)))
        bench.run([["say", "one two three"]], actor=VISITOR, spawn=here)
        original = bench.entries(visitors())
        bench.store.appends, bench.store.fail_at = 0, fail_at
        assert give(bench) == 0
        assert bench.entries(visitors()) == original
        assert len(bench.entries(anns())) == 2 * (fail_at - 1)
        assert give(bench) == 1
        assert bench.entries(anns()) == original


def test_control_without_the_original_a_copy_that_was_cut_short_is_all_there_is(tmp_path, monkeypatch):
    """Control: deleting first loses what the copy had not reached."""
    monkeypatch.setattr("flask_litro_agent.turns.handover._GROUP", 2)
    bench = Bench(Failing(tmp_path / "s"))
    bench.run([["say", "one two three"]], actor=VISITOR, spawn=here)
    original = bench.entries(visitors())
    bench.store.appends, bench.store.fail_at = 0, 2
    give(bench)
    bench.runner.delete(visitors())
    assert give(bench) == 0
    assert bench.entries(anns()) == original[:2]


def test_a_copy_that_the_heir_has_used_since_is_left_alone(bench, monkeypatch):
    monkeypatch.setattr("flask_litro_agent.turns.handover._GROUP", 2)
    bench.run([["say", "one two three"]], actor=VISITOR, spawn=here)
    bench.store.appends, bench.store.fail_at = 0, 2
    give(bench)
    bench.run(HI, spawn=here)
    assert give(bench) == 0
    assert messages_are_valid(bench.puppet.requests[-1].messages)


def test_a_running_turn_is_stopped_first(bench):
    live = bench.start(LONG, actor=VISITOR)
    until(lambda: len(bench.entries(visitors())) == 3)
    assert give(bench) == 1
    assert live.wait_closed(SOON)
    assert bench.events(anns())[-1].kind == events.TURN_END
    assert bench.events(anns())[-1].payload["reason"] == "stopped"


def test_other_peoples_sessions_stay(bench):
    other = Actor("visitor:2", "Another")
    bench.run(HI, actor=other, spawn=here)
    bench.run(HI, actor=VISITOR, spawn=here)
    assert give(bench) == 1
    assert len(bench.entries(Bench.key(None, "s1", other))) > 0


def test_no_lease_is_kept(bench):
    bench.run(HI, actor=VISITOR, spawn=here)
    bench.run(HI, session="both", actor=VISITOR, spawn=here)
    bench.run(HI, session="both", actor=ANN, spawn=here)
    give(bench)
    for key in (visitors(), anns(), visitors("both"), anns("both")):
        assert not bench.store.is_leased(key)


@pytest.mark.parametrize("again", [1, 2])
def test_handing_over_again_changes_nothing(bench, again):
    bench.run(HI, actor=VISITOR, spawn=here)
    give(bench)
    log = bench.log(anns())
    for _ in range(again):
        assert give(bench) == 0
    assert bench.log(anns()) == log
