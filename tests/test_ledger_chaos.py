"""``kill -9`` and SIGSTOP in the middle of an approval: nothing runs twice or late, and what is left is unknown.

``LITRO_CHAOS`` sets the number of kills; CI has more than an ordinary run. With ``-rP`` each test says what it counted.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter

import pytest

from flask_litro_agent.core.claims import START_MS
from flask_litro_agent.core.database import Database, now_ms
from flask_litro_agent.core.proposals import State
from tests.ledger_bench import LedgerBench
from tests.ledger_child import ledger_child, run_ledger_child, set_clock, share_clock

pytestmark = pytest.mark.chaos

KILLS = int(os.environ.get("LITRO_CHAOS", "5"))
BATCH = min(KILLS, 20)
PROPOSALS = BATCH * 4
SOON = 120 + KILLS * 10
RESTART_MS = 30_000


def kill_workers(uri, folder, variant, seed):
    """A batch of kills: more proposals at once would be over before a worker came to them."""
    run_ledger_child("chaos", uri, folder, variant, BATCH, seed, seconds=SOON)


def effects(folder):
    file = folder / "effects"
    return Counter(file.read_text().split() if file.exists() else [])


def test_killed_at_random_points_nothing_runs_twice_and_what_is_left_is_unknown(
    database, database_uri, tmp_path
):
    """D13."""
    bench = LedgerBench(database, most_open=10_000)
    later = LedgerBench(Database(database.engine, clock=now_ms() + RESTART_MS))
    states, left, kills, deadline = {}, [], 0, time.monotonic() + SOON
    while kills < KILLS or not left:
        assert time.monotonic() < deadline, "no kill came in the middle of an approval"
        ones = [bench.propose() for _ in range(PROPOSALS)]
        kill_workers(database_uri, tmp_path, "real", len(states))
        kills += BATCH
        states |= {one.id: later.now(one).state for one in ones}
        left = [one for one, state in states.items() if state is not State.EXECUTED]
    ran = effects(tmp_path)
    assert set(ran.values()) == {1}
    assert {states[one] for one in left} == {State.UNKNOWN}
    assert {one for one, state in states.items() if state is State.EXECUTED} <= ran.keys()
    assert bench.audited()
    print(f"{kills} kills, {len(states)} proposals: {len(ran)} effects, none twice, {len(left)} unknown")


def test_control_who_runs_first_and_then_claims_runs_twice(database, database_uri, tmp_path):
    """D13, control."""
    bench = LedgerBench(database, most_open=10_000)
    deadline = time.monotonic() + SOON
    for seed in range(1_000):
        for _ in range(PROPOSALS):
            bench.propose()
        kill_workers(database_uri, tmp_path, "run first", seed)
        if twice := [one for one, times in effects(tmp_path).items() if times > 1]:
            print(f"control: {len(twice)} ran more than once")
            return
        if time.monotonic() > deadline:
            break
    pytest.fail("the control never ran anything twice: the test above could not see it")


@pytest.mark.parametrize(
    ("variant", "waited", "ran"),
    [("real", START_MS, 0), ("real", START_MS - 1, 1), ("control", START_MS, 1)],
)
def test_a_process_stopped_between_claim_and_start_does_not_run_late(
    database, database_uri, tmp_path, variant, waited, ran
):
    """The control runs whatever ``start`` says."""
    shared = share_clock(database)
    proposed = LedgerBench(shared).propose()
    with ledger_child("stop", database_uri, tmp_path, variant) as child:
        assert os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1])
        set_clock(database, proposed.created_at + waited)
        child.send_signal(signal.SIGCONT)
        assert child.wait(SOON) == 0, child.stderr.read().decode()
    assert sum(effects(tmp_path).values()) == ran
