"""Many processes at one ledger: every effect once, every proposal one final state.

``LITRO_RACE`` sets processes and proposals, ``LITRO_ROUNDS`` how many proposals are approved, dismissed and over at one
moment. With ``-rP`` each test says what it counted. CI has more than an ordinary run; this is the full size:

    LITRO_RACE=64x200 LITRO_ROUNDS=1000 LITRO_CHAOS=200 pytest -rP tests/test_ledger_race.py tests/test_ledger_chaos.py
"""

from __future__ import annotations

import os
import time
from collections import Counter

import pytest

from flask_litro_agent.core.proposals import State
from tests.ledger_bench import LedgerBench
from tests.ledger_child import run_ledger_child, share_clock

pytestmark = pytest.mark.chaos

PROCESSES, PROPOSALS = map(int, os.environ.get("LITRO_RACE", "4x10").split("x"))
ROUNDS = int(os.environ.get("LITRO_ROUNDS", "30"))
SOON = 120 + PROCESSES * PROPOSALS + ROUNDS


def run(what, uri, folder, variant, *numbers):
    run_ledger_child(what, uri, folder, variant, *numbers, seconds=SOON)


def noted(folder, kind):
    file = folder / kind
    return Counter(file.read_text().split() if file.exists() else [])


@pytest.fixture
def bench(database):
    """A bench whose time stands still in every process, so that none is ever too slow, until one of them moves it."""
    return LedgerBench(share_clock(database), most_open=max(PROPOSALS, ROUNDS))


def test_of_many_processes_that_approve_the_same_proposals_each_runs_once(bench, database_uri, tmp_path):
    """D1."""
    ones = [bench.propose() for _ in range(PROPOSALS)]
    run("race", database_uri, tmp_path, "real", PROCESSES)
    assert noted(tmp_path, "effects") == Counter(one.id for one in ones)
    assert {bench.now(one).state for one in ones} == {State.EXECUTED}
    kinds = Counter(kind for kind, _, _ in bench.audited())
    assert kinds == {"approved": PROPOSALS, "executed": PROPOSALS}
    print(f"{PROCESSES} processes, {PROPOSALS} proposals: {PROPOSALS} effects, none twice")


def test_control_who_selects_and_then_updates_runs_twice(bench, database_uri, tmp_path):
    """D1, control."""
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        for _ in range(PROPOSALS):
            bench.propose()
        run("race", database_uri, tmp_path, "control", PROCESSES)
        if twice := [one for one, times in noted(tmp_path, "effects").items() if times > 1]:
            print(f"control: {len(twice)} ran more than once")
            return
    pytest.fail("the control never ran anything twice: the test above could not see it")


def propose_with_deadlines(bench):
    """Return proposals of one moment; each is over a second after the one before it."""
    return [bench.propose(ttl_ms=1_000 * number) for number in range(1, ROUNDS + 1)]


def test_of_approval_dismissal_and_expiry_exactly_one_happens(bench, database_uri, tmp_path):
    """D3: all three at one moment, until each of them has been the first."""
    ones, states, deadline = [], {}, time.monotonic() + SOON
    while len(set(states.values())) < 3:
        assert time.monotonic() < deadline, f"there was no race: {states}"
        ones += propose_with_deadlines(bench)
        run("decide", database_uri, tmp_path, "real")
        states = {one.id: bench.now(one).state for one in ones}
    effects, dismissals = noted(tmp_path, "effects"), noted(tmp_path, "dismissals")
    assert set((effects + dismissals).values()) == {1}
    assert states == {
        **{one.id: State.EXPIRED for one in ones},
        **dict.fromkeys(dismissals, State.DISMISSED),
        **dict.fromkeys(effects, State.EXECUTED),
    }
    assert len(bench.audited()) == 2 * len(effects) + len(dismissals)
    print(f"{len(ones)} rounds: {len(effects)} approved, {len(dismissals)} dismissed, the others expired")


def test_control_who_selects_and_then_updates_has_two_ends(bench, database_uri, tmp_path):
    """D3, control."""
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        propose_with_deadlines(bench)
        run("decide", database_uri, tmp_path, "control")
        if both := noted(tmp_path, "effects").keys() & noted(tmp_path, "dismissals").keys():
            print(f"control: {len(both)} had two ends")
            return
    pytest.fail("the control never had two ends: the test above could not see it")
