"""core/news.py: whoever is told of a commit has no say in it, not even by raising."""

from __future__ import annotations

import pytest

from flask_litro_agent.core.audit import Audit
from flask_litro_agent.core.ceiling import Ceiling, Level
from flask_litro_agent.core.news import CeilingChanged, ProposalRecorded, ProposalSettled, spread
from flask_litro_agent.core.proposals import State
from flask_litro_agent.core.recording import Recorded
from tests.ledger_bench import LedgerBench, draft

pytestmark = pytest.mark.parametrize("database_uri", ["sqlite"], indirect=True)
ERRORS = [RuntimeError("canary"), SystemExit(3), GeneratorExit()]


class Heard(list):
    """A witness that raises first and one that listens, in this order."""

    def __init__(self, error=None):
        self.error = error

    @property
    def witnesses(self):
        return [self.fail, self.append]

    def fail(self, news):
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_a_witness_that_raises_changes_no_row_and_keeps_no_other_from_hearing(database, error):
    heard = Heard(error)
    bench = LedgerBench(database, witnesses=heard.witnesses)
    bench.dismiss(bench.propose())
    bench.ledger.settle(bench.claimed(), outcome="ok")
    states = [news.proposal.state for news in heard]
    assert states == [State.PROPOSED, State.DISMISSED, State.PROPOSED, State.EXECUTED]
    assert sorted(row.state for row in bench.ledger.find()[0]) == [State.DISMISSED, State.EXECUTED]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_a_witness_that_raises_changes_no_level(database, error):
    heard = Heard(error)
    top = Ceiling(
        database,
        Audit(database),
        first=Level.PROPOSE,
        declared={},
        scopes=frozenset(),
        witnesses=heard.witnesses,
    )
    assert top.set("site", Level.READ, by="ola").site is Level.READ
    assert heard == [CeilingChanged(scope="site", before=None, after="read", by="ola")]


def test_a_person_who_interrupts_the_process_does(database):
    with pytest.raises(KeyboardInterrupt):
        spread(
            CeilingChanged(scope="site", before=None, after="off", by="x"), [Heard(KeyboardInterrupt()).fail]
        )


def test_every_end_that_is_written_is_told_and_nothing_else(database):
    heard = Heard()
    bench = LedgerBench(database, witnesses=heard.witnesses)
    session = bench.propose()
    again = bench.ledger.record(draft({"number": 1}))
    assert not isinstance(again, Recorded)
    claim = bench.claimed()
    bench.ledger.start(claim)
    bench.ledger.lose(claim)
    assert bench.answer(claim.proposal, happened=False)
    bench.ledger.settle(claim, outcome="ok")  # its own truth comes late
    bench.ledger.void_session(bench.now(session).session_key, reason="session_deleted", by="7")
    assert not bench.ledger.void(session.id, reason="ceiling", by="7")
    told = [(type(news), news.proposal.outcome, news.proposal.truth, news.proposal.reason) for news in heard]
    assert told == [
        (ProposalRecorded, None, None, None),
        (ProposalRecorded, None, None, None),
        (ProposalSettled, "failed", "operator", None),
        (ProposalSettled, "ok", "late", None),
        (ProposalSettled, None, None, "session_deleted"),
    ]


def test_what_is_told_is_committed(database):
    seen = []
    bench = LedgerBench(database, witnesses=[lambda news: seen.append(bench.now(news.proposal).state)])
    bench.dismiss(bench.propose())
    assert seen == [State.PROPOSED, State.DISMISSED]


def test_a_witness_that_raised_inside_the_transaction_would_have_undone_it(database):
    """The control: the same raise before the commit leaves no row."""
    bench = LedgerBench(database)
    bench.ledger._recording._decide = _raising(bench.ledger._recording._decide)
    with pytest.raises(RuntimeError):
        bench.propose()
    assert bench.ledger.find()[0] == []


def _raising(decide):
    def decided(*args):
        decide(*args)
        raise RuntimeError("canary")

    return decided
