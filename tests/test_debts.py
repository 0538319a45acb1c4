"""core/debts.py: sessions that were shown another one's open proposal hear how it ends, each once."""

from __future__ import annotations

import threading

import pytest

from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.core.ledger import Recorded, Twin
from flask_litro_agent.core.proposals import State, session_digest
from tests.databases import frozen
from tests.ledger_bench import SESSION_KEY, TTL, LedgerBench, draft

HERE, THERE, THIRD = (SessionKey("desk", "7", session) for session in ("s1", "s2", "s3"))
ONE = {"order": 1}


@pytest.fixture
def clock(database):
    return frozen(database)


@pytest.fixture
def bench(clock):
    return LedgerBench(clock)


def meet(bench, key=THERE):
    """Let the session ask for what waits in another one."""
    answer = bench.ledger.record(draft(ONE, agent=key.agent, owner=key.owner, session=key.session))
    assert isinstance(answer, Twin)
    return answer.proposal


def owed(bench, key=THERE):
    return [(one.id, one.state) for one in bench.ledger.owed(session_digest(*key))]


def tell(bench, key=THERE):
    """Note what the session is owed as told, and return how often that was news."""
    digest = session_digest(*key)
    found = bench.ledger.owed(digest)
    return [bench.ledger.told(digest, one.id, one.state, one.outcome) for one in found]


def test_a_session_that_meets_an_open_twin_hears_how_it_ends(bench):
    one = bench.propose(ONE)
    assert meet(bench).id == one.id
    assert owed(bench) == []
    bench.dismiss(one)
    assert owed(bench) == owed(bench, HERE) == [(one.id, State.DISMISSED)]
    assert bench.ledger.other_sessions(one.id) == [THERE]


def test_each_of_them_is_told_once_and_by_itself(bench):
    one = bench.propose(ONE)
    meet(bench)
    meet(bench, THIRD)
    bench.dismiss(one)
    assert tell(bench) == [True]
    assert not bench.ledger.told(session_digest(*THERE), one.id, State.DISMISSED)
    assert owed(bench) == []
    assert owed(bench, HERE) == owed(bench, THIRD) == [(one.id, State.DISMISSED)]
    assert tell(bench, HERE) == tell(bench, THIRD) == [True]
    assert owed(bench, HERE) == owed(bench, THIRD) == []


def test_meeting_it_again_makes_nobody_hear_it_twice(bench):
    one = bench.propose(ONE)
    for _ in range(3):
        meet(bench)
    assert bench.ledger.other_sessions(one.id) == [THERE]


def test_the_session_that_it_came_from_is_no_listener(bench):
    one = bench.propose(ONE)
    meet(bench, HERE)
    assert bench.ledger.other_sessions(one.id) == []


def test_a_call_outside_a_session_listens_to_nothing(bench):
    one = bench.propose(ONE)
    assert isinstance(bench.ledger.record(draft(ONE, session=None)), Twin)
    assert bench.ledger.other_sessions(one.id) == []


def test_what_came_from_no_session_is_heard_by_the_one_that_met_it(bench):
    one = bench.propose(ONE, session=None)
    meet(bench)
    bench.dismiss(one)
    assert owed(bench) == [(one.id, State.DISMISSED)]


def test_an_expiry_is_owed_too(bench, clock):
    one = bench.propose(ONE)
    meet(bench)
    clock.move(TTL)
    assert owed(bench) == [(one.id, State.EXPIRED)]


def test_what_is_met_when_it_is_over_is_not_listened_to(bench, clock):
    one = bench.propose(ONE)
    clock.move(TTL)
    assert isinstance(bench.ledger.record(draft(ONE, session="s2")), Recorded)
    assert bench.ledger.other_sessions(one.id) == []


def test_an_unknown_outcome_is_told_and_then_the_truth(bench):
    one = bench.propose(ONE)
    meet(bench)
    bench.ledger.lose(bench.claim(one))
    assert owed(bench) == [(one.id, State.UNKNOWN)]
    assert tell(bench) == [True]
    assert owed(bench) == []
    bench.answer(one, happened=True)
    assert owed(bench) == [(one.id, State.EXECUTED)]
    assert tell(bench) == [True]
    assert not bench.ledger.told(session_digest(*THERE), one.id, State.UNKNOWN)
    assert owed(bench) == []


def test_a_late_truth_corrects_what_a_listener_was_told(bench):
    one = bench.propose(ONE)
    meet(bench)
    claim = bench.claim(one)
    bench.ledger.lose(claim)
    answered = bench.answer(one, happened=False)
    assert tell(bench) == [True]
    bench.ledger.settle(claim, outcome="ok")
    assert owed(bench) == [(one.id, State.EXECUTED)]
    assert not bench.ledger.told(session_digest(*THERE), one.id, answered.state, answered.outcome)
    assert tell(bench) == [True]
    assert owed(bench) == []


def test_the_void_of_a_deleted_session_is_heard_by_the_others(bench):
    one = bench.propose(ONE)
    meet(bench)
    assert bench.ledger.void_session(SESSION_KEY, reason="session_deleted", by="7") == [one.id]
    bench.ledger.forget_session(SESSION_KEY)
    assert owed(bench, HERE) == []
    assert owed(bench) == [(one.id, State.VOID)]


def test_a_listener_that_is_deleted_hears_nothing_and_voids_nothing(bench):
    one = bench.propose(ONE)
    meet(bench)
    digest = session_digest(*THERE)
    assert bench.ledger.void_session(digest, reason="session_deleted", by="7") == []
    bench.ledger.forget_session(digest)
    assert bench.now(one).state is State.PROPOSED
    bench.dismiss(one)
    assert owed(bench) == []
    assert owed(bench, HERE) == [(one.id, State.DISMISSED)]


def test_a_listener_that_is_handed_over_hears_it_at_its_new_place(bench):
    one = bench.propose(ONE)
    meet(bench)
    moved = THERE._replace(owner="8")
    bench.ledger.move_session(session_digest(*THERE), to=moved)
    bench.dismiss(one)
    assert (owed(bench), owed(bench, moved)) == ([], [(one.id, State.DISMISSED)])
    assert bench.ledger.other_sessions(one.id) == [moved]


def test_a_session_that_is_handed_over_to_one_that_listens_already_hears_it_once(bench):
    one = bench.propose(ONE, session=None)
    meet(bench)
    meet(bench, THIRD)
    bench.ledger.move_session(session_digest(*THERE), to=THIRD)
    assert bench.ledger.other_sessions(one.id) == [THIRD]


def test_a_session_that_is_handed_over_has_its_own_proposals_at_its_new_place(bench):
    claim = bench.claimed()
    moved = HERE._replace(owner="8")
    bench.ledger.move_session(SESSION_KEY, to=moved)
    now = bench.now(claim.proposal)
    assert (now.home, now.owner) == (moved, "7")
    assert [row.id for row in bench.ledger.find(owner="8")[0]] == [now.id]


def test_pruning_leaves_what_a_listener_was_not_told(bench, clock):
    one = bench.propose(ONE)
    meet(bench)
    bench.dismiss(one)
    tell(bench, HERE)
    clock.move(1)
    assert bench.ledger.unheard(days=0) == {THERE}
    assert bench.ledger.prune(days=0) == 0
    tell(bench)
    assert bench.ledger.unheard(days=0) == set()
    assert bench.ledger.prune(days=0) == 1
    assert bench.ledger.other_sessions(one.id) == []


def test_a_twin_that_is_decided_in_the_same_moment_is_heard_of_by_all_or_asked_for_anew(database):
    """Whoever was shown an open one is in the list that its decider reads afterwards."""
    bench = LedgerBench(database, dismissed_ms=0)
    for _ in range(15):
        one, ready = bench.propose(ONE), threading.Barrier(2)
        met, heard = [], []

        def ask(ready=ready, met=met):
            ready.wait(30)
            met.append(bench.ledger.record(draft(ONE, session="s2")))

        def decide(one=one, ready=ready, heard=heard):
            ready.wait(30)
            assert bench.dismiss(one)
            heard += bench.ledger.other_sessions(one.id)

        threads = [threading.Thread(target=work) for work in (ask, decide)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        is_met = isinstance(met[0], Twin)
        assert heard == ([THERE] if is_met else [])
        if not is_met:
            bench.dismiss(met[0].proposal)
        for key in (HERE, THERE):
            tell(bench, key)


def test_many_who_meet_it_at_once_are_one_listener_each(database):
    bench, ready = LedgerBench(database), threading.Barrier(9)
    one = bench.propose(ONE)

    def ask(number):
        ready.wait(30)
        meet(bench, THERE._replace(session=f"other{number % 3}"))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert {key.session for key in bench.ledger.other_sessions(one.id)} == {"other0", "other1", "other2"}


def test_control_without_the_row_the_other_session_never_hears_it(bench, monkeypatch):
    monkeypatch.setattr("flask_litro_agent.core.recording.debts.listen", lambda *what: True)
    one = bench.propose(ONE)
    meet(bench)
    bench.dismiss(one)
    assert owed(bench) == []
