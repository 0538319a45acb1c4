"""core/waiting.py: what waits for a person, in which order, and the mark that says that something has changed."""

from __future__ import annotations

import pytest
from sqlalchemy import inspect

from flask_litro_agent.core.proposals import State
from flask_litro_agent.core.tables import metadata
from flask_litro_agent.core.waiting import Waiting
from tests.databases import frozen, open_database
from tests.ledger_bench import LIMIT, OPERATOR, TTL, LedgerBench

DAY = 86_400_000


@pytest.fixture
def bench(tmp_path):
    return _bench(open_database(f"sqlite:///{tmp_path / 'ledger.db'}"))


def _bench(database):
    if not inspect(database.engine).get_table_names():
        metadata.create_all(database.engine)
    return LedgerBench(frozen(database), most_open=100)


@pytest.fixture
def waiting(bench):
    return Waiting(bench.database)


def ids(rows):
    return [row.id for row in rows]


def test_the_nearest_deadline_comes_first(bench, waiting):
    late = bench.propose(ttl_ms=TTL + 5000)
    soon = bench.propose(ttl_ms=TTL - 5000)
    between = bench.propose()
    board = waiting.board()
    assert ids(board.open) == [soon.id, between.id, late.id]
    assert (board.total, board.found, board.read_at) == (3, 3, soon.read_at)


def test_an_unknown_outcome_is_listed_apart_and_counted(bench, waiting):
    bench.ledger.lose(bench.claimed())
    board = waiting.board()
    assert [row.state for row in board.unknown] == [State.UNKNOWN]
    assert (ids(board.open), board.total) == ([], 1)


def test_what_is_decided_or_being_carried_out_does_not_wait(bench, waiting):
    bench.dismiss(bench.propose())
    bench.ledger.settle(bench.claimed(), outcome="ok")
    bench.claimed()
    board = waiting.board()
    assert (board.unknown, board.open, board.expired, board.total) == ([], [], [], 0)


def test_what_expired_within_a_day_is_there_until_somebody_proposes_it_again(bench, waiting):
    old, repeated = bench.propose(), bench.propose()
    bench.database.move(TTL)
    young = bench.propose(ttl_ms=1000)
    bench.propose({"again": 1}, made_from=repeated.id, relation="again")
    bench.database.move(1000)
    assert ids(waiting.board().expired) == [young.id, old.id]
    bench.database.move(DAY - 1000)
    assert old.id not in ids(waiting.board().expired)


def test_filters_narrow_the_lists_and_leave_the_total_and_the_choices(bench, waiting):
    bench.propose(tool="refund", agent="desk", proposer="7")
    other = bench.propose(tool="charge", agent="shop", proposer="8")
    board = waiting.board(agent="shop", proposer="8")
    assert ids(board.open) == [other.id]
    assert (board.total, board.found) == (2, 1)
    assert board.choices == {"agent": ["desk", "shop"], "tool": ["charge", "refund"], "proposer": ["7", "8"]}
    assert waiting.board(tool="refunds").found == 0


def test_every_database_answers_alike(database):
    bench = _bench(database)
    waiting = Waiting(bench.database)
    late, soon = bench.propose(), bench.propose(ttl_ms=1000)
    bench.ledger.lose(bench.claimed(agent="shop"))
    before = waiting.pulse()
    bench.database.move(1000)
    board = waiting.board()
    assert (ids(board.open), ids(board.expired), len(board.unknown)) == ([late.id], [soon.id], 1)
    assert (board.total, board.choices["agent"]) == (2, ["desk", "shop"])
    assert waiting.board(agent="shop").found == 1
    after = waiting.pulse()
    assert (before.count, after.count) == (3, 2)
    assert before.mark != after.mark


def test_the_lists_are_bounded_and_the_count_is_not(bench, waiting):
    for session in range(3):
        for _ in range(70):
            bench.propose(session=f"s{session}")
    board = waiting.board()
    assert (len(board.open), board.total) == (200, 210)


def test_what_was_made_from_a_proposal_is_found_from_it(bench, waiting):
    first = bench.propose()
    made = bench.propose({"other": 1}, made_from=first.id, relation="reverse")
    assert ids(waiting.made_from(first.id)) == [made.id]
    assert waiting.made_from(made.id) == []


class TestPulse:
    def test_nothing_new_keeps_the_mark(self, bench, waiting):
        bench.propose()
        assert waiting.pulse() == waiting.pulse()
        assert waiting.pulse().count == 1

    @pytest.mark.parametrize("what", ["propose", "claim", "dismiss", "void", "expire"])
    def test_whatever_happens_to_an_open_one_moves_it(self, bench, waiting, what):
        proposal = bench.propose()
        before = waiting.pulse()
        match what:
            case "propose":
                bench.propose()
            case "claim":
                bench.claim(proposal)
            case "dismiss":
                bench.dismiss(proposal)
            case "void":
                bench.ledger.void(proposal.id, reason="policy", by="x")
            case "expire":
                bench.database.move(TTL)
        after = waiting.pulse()
        assert after.mark != before.mark
        assert after.count == (2 if what == "propose" else 0)

    def test_so_does_the_end_of_a_run_its_loss_and_an_answer(self, bench, waiting):
        claim, lost = bench.claimed(), bench.claimed()
        marks = [waiting.pulse()]
        bench.ledger.settle(claim, outcome="ok")
        marks.append(waiting.pulse())
        bench.database.move(LIMIT * 2)  # nobody can know any more
        marks.append(waiting.pulse())
        bench.ledger.answer(lost.proposal.id, happened=True, operator_id=OPERATOR, note=None)
        marks.append(waiting.pulse())
        assert len({pulse.mark for pulse in marks}) == 4
        assert [pulse.count for pulse in marks] == [0, 0, 1, 0]
