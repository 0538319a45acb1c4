"""Many processes at one ledger: every effect once, every proposal one final state.

``LITRO_RACE`` sets processes and proposals, such as ``64x200``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter

import pytest

from flask_litro_agent.core.proposals import State
from tests.ledger_bench import LedgerBench

pytestmark = pytest.mark.chaos

PROCESSES, PROPOSALS = map(int, os.environ.get("LITRO_RACE", "4x10").split("x"))
SOON = 120 + PROCESSES * PROPOSALS / 10


def run(uri, folder, variant, processes):
    command = [sys.executable, "-m", "tests.ledger_child", "race", uri, str(folder), variant, str(processes)]
    done = subprocess.run(command, capture_output=True, timeout=SOON)
    assert done.returncode == 0, done.stderr.decode()[-3000:]


def noted(folder, kind):
    file = folder / kind
    return Counter(file.read_text().split() if file.exists() else [])


@pytest.fixture
def bench(database):
    return LedgerBench(database, most_open=PROPOSALS)


def test_of_many_processes_that_approve_the_same_proposals_each_runs_once(bench, database_uri, tmp_path):
    """D1."""
    ones = [bench.propose() for _ in range(PROPOSALS)]
    run(database_uri, tmp_path, "real", PROCESSES)
    assert noted(tmp_path, "effects") == Counter(one.id for one in ones)
    assert {bench.now(one).state for one in ones} == {State.EXECUTED}
    kinds = Counter(kind for kind, _, _ in bench.audited())
    assert kinds == {"approved": PROPOSALS, "executed": PROPOSALS}


def test_control_who_selects_and_then_updates_runs_twice(bench, database_uri, tmp_path):
    """D1, control."""
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        for _ in range(PROPOSALS):
            bench.propose()
        run(database_uri, tmp_path, "control", PROCESSES)
        if max(noted(tmp_path, "effects").values()) > 1:
            return
    pytest.fail("the control never ran anything twice: the test above could not see it")


def test_of_approval_dismissal_and_expiry_exactly_one_happens(bench, database_uri, tmp_path):
    """D3."""
    lifetimes = [1, *(number * 40 for number in range(1, PROPOSALS))]
    ones = [bench.propose(ttl_ms=lifetime) for lifetime in lifetimes]
    run(database_uri, tmp_path, "decide", PROCESSES)
    deadline = ones[-1].expires_at
    while bench.database.time() <= deadline:
        time.sleep(0.02)
    effects, dismissals = noted(tmp_path, "effects"), noted(tmp_path, "dismissals")
    expected = {one.id: State.EXPIRED for one in ones}
    expected |= dict.fromkeys(dismissals, State.DISMISSED) | dict.fromkeys(effects, State.EXECUTED)
    assert effects.keys().isdisjoint(dismissals)
    assert set((effects + dismissals).values()) <= {1}
    assert {one.id: bench.now(one).state for one in ones} == expected
    assert expected[ones[0].id] is State.EXPIRED
    assert len(bench.audited()) == 2 * len(effects) + len(dismissals)
