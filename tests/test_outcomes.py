"""core/outcomes.py: what became of proposals, counted on three databases."""

from __future__ import annotations

import pytest

from flask_litro_agent.core.outcomes import DAY_MS, Counted, Waited, outcomes
from flask_litro_agent.core.proposals import State
from tests.databases import frozen
from tests.ledger_bench import TTL, LedgerBench

TODAY = 20_000


@pytest.fixture
def clock(database):
    return frozen(database, TODAY * DAY_MS + DAY_MS // 2)


@pytest.fixture
def bench(clock):
    return LedgerBench(clock, most_open=100)


def test_proposals_are_counted_by_day_agent_state_and_outcome(bench, clock):
    clock.move(-DAY_MS)
    bench.propose()
    clock.move(DAY_MS)
    for outcome in ("ok", "ok", "failed"):
        bench.ledger.settle(bench.claimed(), outcome=outcome)
    bench.dismiss(bench.propose(agent="shop"))
    found = outcomes(clock, days=2)
    assert (found.first, found.today) == (TODAY - 1, TODAY)
    assert sorted(found.counted, key=str) == [
        Counted(TODAY - 1, "desk", State.EXPIRED, None, 1),
        Counted(TODAY, "desk", State.EXECUTED, "failed", 1),
        Counted(TODAY, "desk", State.EXECUTED, "ok", 2),
        Counted(TODAY, "shop", State.DISMISSED, None, 1),
    ]


def test_what_is_older_than_the_days_is_left_out(bench, clock):
    bench.dismiss(bench.propose())
    clock.move(2 * DAY_MS)
    assert outcomes(clock, days=2).counted == []
    assert len(outcomes(clock, days=3).counted) == 1


def test_what_waits_now_is_counted_however_old_it_is(bench, clock):
    lost = bench.claimed(agent="shop")
    bench.ledger.lose(lost)
    clock.move(9 * DAY_MS)
    bench.propose()
    bench.propose(ttl_ms=1)
    clock.move(1)
    bench.dismiss(bench.propose())
    assert sorted(outcomes(clock, days=1).waiting) == [
        ("desk", State.PROPOSED, 1),
        ("shop", State.UNKNOWN, 1),
    ]


def test_a_decision_took_as_long_as_somebody_needed_to_approve_or_to_dismiss(bench, clock):
    approved, dismissed, expired = bench.propose(), bench.propose(agent="shop"), bench.propose(ttl_ms=5000)
    clock.move(7000)
    claim = bench.claim(approved)
    clock.move(4000)
    bench.ledger.settle(claim, outcome="ok")
    bench.dismiss(dismissed)
    void = bench.propose()
    bench.ledger.void(void.id, reason="ceiling", by="somebody")
    clock.move(TTL)
    assert bench.now(expired).state is State.EXPIRED
    found = outcomes(clock, days=1).waited
    assert sorted(found, key=str) == [Waited("desk", 7000), Waited("shop", 11_000)]


def test_an_empty_ledger_counts_nothing(clock):
    found = outcomes(clock, days=7)
    assert (found.counted, found.waited, found.waiting) == ([], [], [])
