"""core/search.py: what is looked for in the ledger, and how many there are in each state, on three databases."""

from __future__ import annotations

import pytest

from flask_litro_agent.core import search
from flask_litro_agent.core.proposals import State
from flask_litro_agent.core.search import Wanted
from flask_litro_agent.errors import BadRequest
from tests.databases import frozen
from tests.ledger_bench import OPERATOR, TTL, LedgerBench


@pytest.fixture
def clock(database):
    return frozen(database)


@pytest.fixture
def bench(clock):
    return LedgerBench(clock, most_open=100)


def found(bench, **wanted):
    return [one.id for one in bench.ledger.search(Wanted(**wanted))[0]]


def ended(bench, outcome="ok"):
    claim = bench.claimed()
    return bench.ledger.settle(claim, outcome=outcome)


def test_each_condition_narrows_what_is_found(bench):
    plain = bench.propose()
    other = bench.propose(agent="shop", owner="8", tool="charge", proposer="9")
    for condition in ({"agent": "shop"}, {"owner": "8"}, {"tool": "charge"}, {"proposer": "9"}):
        assert found(bench, **condition) == [other.id]
    assert sorted(found(bench)) == sorted([plain.id, other.id])
    assert found(bench, agent="shop", proposer="7") == []


def test_who_decided_and_how_it_ended(bench):
    done, failed, dismissed = ended(bench), ended(bench, "failed"), bench.propose()
    bench.dismiss(dismissed)
    assert sorted(found(bench, decider=OPERATOR)) == sorted([done.id, failed.id, dismissed.id])
    assert found(bench, decider="nobody") == []
    assert (found(bench, outcome="ok"), found(bench, outcome="failed")) == ([done.id], [failed.id])


def test_a_time_counts_from_its_beginning_and_not_at_its_end(bench, clock):
    first = bench.propose()
    clock.move(1000)
    second = bench.propose()
    assert found(bench, since=first.created_at) == [second.id, first.id]
    assert found(bench, since=first.created_at + 1) == [second.id]
    assert found(bench, until=second.created_at) == [first.id]
    assert found(bench, until=second.created_at + 1) == [second.id, first.id]


def test_a_text_is_found_in_what_people_read_and_an_id_when_it_is_whole(bench):
    one = bench.propose(summary="Refund 100% of Order_5")
    dismissed = bench.propose(summary="other")
    bench.dismiss(dismissed, note="Not this week")
    assert found(bench, text="order_5") == found(bench, text="100%") == found(bench, text=one.id) == [one.id]
    assert found(bench, text="THIS WEEK") == found(bench, text=OPERATOR) == [dismissed.id]
    assert found(bench, text=one.id[:-1]) == []


def test_pages_go_on_behind_the_mark_whatever_else_is_asked(bench, clock):
    ones = []
    for _ in range(5):
        ones.append(bench.propose(tool="charge").id)
        bench.propose()
        clock.move(1)
    wanted, mark, pages = Wanted(tool="charge", states=(State.PROPOSED,)), None, []
    while True:
        page, mark = bench.ledger.search(wanted, after=mark, limit=2)
        pages.append([one.id for one in page])
        if mark is None:
            break
    assert pages == [ones[:2:-1], ones[2:0:-1], ones[:1]]


@pytest.mark.parametrize("mark", ["", "1", "x-a", "1-", "1-a/b", "1-a\x00", "9" * 19 + "-a", "1-" + "a" * 33])
def test_what_is_no_mark_is_refused(tmp_path, mark):
    bench = LedgerBench(None)
    with pytest.raises(BadRequest, match="there is no such page"):
        bench.ledger.search(Wanted(), after=mark)


class TestCounts:
    def test_every_row_is_counted_as_it_stands_now(self, bench, clock):
        expired = bench.propose()
        clock.move(TTL)
        for outcome in ("ok", "failed"):
            ended(bench, outcome)
        bench.dismiss(bench.propose())
        bench.ledger.lose(bench.claimed())
        bench.claimed()
        void = bench.propose()
        bench.ledger.void(void.id, reason="ceiling", by=OPERATOR)
        bench.propose()
        assert bench.now(expired).state is State.EXPIRED
        assert bench.ledger.counts(Wanted()) == {
            State.PROPOSED: 1,
            State.CLAIMED: 1,
            State.EXECUTED: 2,
            State.DISMISSED: 1,
            State.VOID: 1,
            State.EXPIRED: 1,
            State.UNKNOWN: 1,
        }

    def test_conditions_count_and_the_states_that_are_wanted_do_not(self, bench):
        bench.propose(agent="shop")
        bench.dismiss(bench.propose(agent="shop"))
        bench.propose()
        wanted = Wanted(agent="shop", states=(State.DISMISSED,))
        assert bench.ledger.counts(wanted) == {State.PROPOSED: 1, State.DISMISSED: 1}

    def test_an_empty_ledger_counts_nothing(self, bench):
        assert bench.ledger.counts(Wanted()) == {}

    def test_a_states_count_is_that_of_its_pages(self, bench, clock):
        for number in range(12):
            one = bench.propose(ttl_ms=1000 + number)
            if number % 3 == 0:
                bench.dismiss(one)
        clock.move(1006)
        for state, count in bench.ledger.counts(Wanted()).items():
            assert len(found(bench, states=(state,))) == count


@pytest.mark.parametrize("database_uri", ["sqlite"], indirect=True)
def test_counting_settled_rows_reads_an_index_and_no_row(bench):
    """A row may be large: its arguments, its preview and its result are in it."""
    engine = bench.database.engine
    counted = search._count_settled([]).compile(engine, compile_kwargs={"literal_binds": True})

    def plan(connection):
        return [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {counted}")]

    assert bench.database.read(plan) == ["SCAN litro_proposal USING COVERING INDEX litro_proposal_state"]
