"""The ledger's row is the outbox: each end of a proposal stands in the session's log once, whoever writes it."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.core.ledger import Ledger
from flask_litro_agent.core.outcome import CallSite
from flask_litro_agent.core.proposals import State
from flask_litro_agent.errors import LedgerAway, NotFound
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.turns.handover import hand_over
from flask_litro_agent.turns.leases import Leases
from flask_litro_agent.turns.outbox import Outbox, Owed
from flask_litro_agent.turns.runner import Runner, Standing
from tests.bench import SOON, in_background, kinds, of_kind, until
from tests.proposal_bench import DONE, EVE, OPS, Held, ProposalBench, asks, crash, ended

ROOT = Path(__file__).parents[1]


@pytest.fixture
def bench(tmp_path):
    return ProposalBench(tmp_path)


# --- a free session ---


def test_a_decision_is_appended_to_a_free_session(bench):
    proposal = bench.propose()
    bench.dismiss(proposal)
    bench.runner.tell(bench.key())
    assert kinds(bench.events())[-2:] == ["turn-end", "proposal-settled"]
    assert bench.settled() == [(proposal.id, "dismissed")]
    assert not bench.store.is_leased(bench.key())


def test_it_is_appended_once(bench):
    proposal = bench.propose()
    bench.dismiss(proposal)
    for _ in range(3):
        bench.runner.tell(bench.key())
        bench.run(DONE)
    assert bench.settled() == [(proposal.id, "dismissed")]
    assert bench.owed() == []


def test_an_open_one_is_owed_nothing(bench):
    bench.propose()
    bench.runner.tell(bench.key())
    assert bench.settled() == []


def test_of_eight_that_tell_at_once_one_writes(bench):
    proposal = bench.propose()
    bench.dismiss(proposal)
    ready = threading.Barrier(8)

    def tell():
        ready.wait()
        bench.runner.tell(bench.key())

    for thread, _ in [in_background(tell) for _ in range(8)]:
        thread.join(SOON)
    bench.runner.tell(bench.key())
    assert bench.settled() == [(proposal.id, "dismissed")]


def test_a_log_that_ends_with_a_decision_is_idle_and_is_not_taken(bench):
    bench.dismiss(bench.propose())
    bench.runner.tell(bench.key())
    seized = bench.store.acquire(bench.key(), 15)
    bench.store.release(seized)
    assert bench.runner.standing(bench.key()) == Standing(None, len(bench.entries()))
    again = bench.store.acquire(bench.key(), 15)
    assert again.epoch == seized.epoch + 1  # nobody acquired between
    bench.store.release(again)


def test_many_decisions_behind_the_last_turn_hide_its_end_from_nobody(bench):
    bench.run(asks(1, 2, 3, 4, 5), DONE)
    for card in of_kind(bench.events(), "proposal"):
        bench.dismiss(bench.ledger.get(card["proposal_id"]))
        bench.runner.tell(bench.key())
    assert len(bench.settled()) == 5
    assert Leases(bench.store, ttl=15).last_kind(bench.key()) == "turn-end"


def test_a_session_that_has_no_log_gets_none(bench):
    site = CallSite(session_id="other")
    asked = bench.gate.call("desk", "refund", {"order": 1}, actor=EVE, origin="code", site=site)
    bench.dismiss(asked.proposal)
    key = SessionKey("desk", "eve", "other")
    bench.runner.tell(key)
    assert bench.entries(key) == []
    bench.run(DONE, session="other")
    assert bench.settled(key) == [(asked.proposal.id, "dismissed")]


def test_a_turn_that_died_is_closed_before_the_decision_is_told(tmp_path, bench):
    proposal = bench.propose()
    lease = bench.store.acquire(bench.key(), 15, "t9")
    dead = bench.entries()[0]
    line = dead.line.replace(b'"seq":1,', b'"seq":%d,' % (len(bench.entries()) + 1))
    line = line.replace(bench.events()[0].payload["turn_id"].encode(), b"t9")
    bench.store.append(bench.key(), [dead._replace(seq=len(bench.entries()) + 1, line=line)], lease)
    bench.store.release(lease)
    bench.dismiss(proposal)
    bench.runner.tell(bench.key())
    assert kinds(bench.events())[-3:] == ["turn-start", "turn-end", "proposal-settled"]


# --- a running turn ---


def test_a_running_turn_tells_it_between_its_rounds(bench):
    proposal = bench.propose()
    held = Held()
    live = bench.start([["call", "echo", {"value": 1}]], DONE, provider=held)
    bench.dismiss(proposal)
    bench.runner.tell(bench.key())  # it does not wait for the turn
    assert bench.settled() == []
    held.go.set()
    ended(live)
    tail = kinds(bench.events())[-5:]
    assert tail == ["tool-result", "proposal-settled", "text-delta", "message", "turn-end"]
    assert bench.settled() == [(proposal.id, "dismissed")]


def test_a_turn_tells_it_before_its_end(bench):
    proposal = bench.propose()
    held = Held()
    live = bench.start(DONE, provider=held)
    bench.dismiss(proposal)
    held.go.set()
    ended(live)
    assert kinds(bench.events())[-2:] == ["proposal-settled", "turn-end"]


class Deciding(FileStore):
    """Calls ``decide`` when a turn-end is about to be appended: after the turn's last look, under its lease."""

    decide = staticmethod(lambda: None)

    def append(self, key, entries, lease):
        if entries[-1].kind == "turn-end":
            decide, self.decide = self.decide, lambda: None
            decide()
        super().append(key, entries, lease)


def decided_at_the_last_moment(tmp_path):
    bench = ProposalBench(tmp_path, store=Deciding(tmp_path / "sessions", fsync="never"))
    proposal = bench.propose()

    def decide():
        bench.dismiss(proposal)
        bench.runner.tell(bench.key())

    bench.store.decide = decide
    return bench, proposal


def test_a_decision_after_the_turns_last_look_is_told_when_the_lease_is_free(tmp_path):
    bench, proposal = decided_at_the_last_moment(tmp_path)
    ended(bench.start(DONE))
    assert until(bench.settled) == [(proposal.id, "dismissed")]
    assert kinds(bench.events())[-2:] == ["turn-end", "proposal-settled"]


def test_control_without_the_look_after_the_release_it_waits_for_the_next_turn(tmp_path, monkeypatch):
    bench, proposal = decided_at_the_last_moment(tmp_path)
    decide = bench.store.decide

    def decide_and_look_no_more():
        decide()
        monkeypatch.setattr(Runner, "tell", lambda runner, key: None)

    bench.store.decide = decide_and_look_no_more
    live = bench.start(DONE)
    ended(live)
    until(lambda: not bench.store.is_leased(bench.key()))
    assert bench.settled() == []
    bench.run(DONE)
    assert bench.settled() == [(proposal.id, "dismissed")]


def test_a_decision_during_a_turn_that_was_left_behind_is_told_when_it_has_ended(bench):
    proposal, deaf = bench.propose(), Held()
    live = bench.start(provider=deaf)
    try:
        bench.dismiss(proposal)
        bench.runner.tell(bench.key())
        live.end("stopped")
        assert until(bench.settled) == [(proposal.id, "dismissed")]
        assert kinds(bench.events())[-2:] == ["turn-end", "proposal-settled"]
    finally:
        deaf.go.set()


def test_a_ledger_that_does_not_answer_holds_up_no_other_turns_lease(bench, monkeypatch):
    """The end of a turn that was left behind is the watcher's work, which renews every lease."""
    answer, asked, deaf = threading.Event(), threading.Event(), Held()

    def wait(outbox, key, *written, **how):
        asked.set()
        assert answer.wait(SOON)
        return Owed()

    live = bench.start(provider=deaf)
    monkeypatch.setattr(Outbox, "owed", wait)
    try:
        live.end("stopped")
        assert asked.wait(SOON)
        assert until(lambda: "litro-watcher" not in [thread.name for thread in threading.enumerate()])
    finally:
        answer.set()
        deaf.go.set()


def test_a_history_that_was_told_something_is_kept_for_the_next_turn(bench):
    bench.dismiss(bench.propose())
    kept = bench.runner._histories._kept[bench.key()]
    bench.runner.tell(bench.key())
    assert bench.runner._histories._kept[bench.key()] is kept
    bench.run(DONE)
    assert bench.runner._histories._kept[bench.key()] is kept


def test_a_history_that_was_read_to_tell_something_gives_way_to_the_agents_own_limit(tmp_path):
    bench = ProposalBench(tmp_path, limits={"context_tokens": 500})
    bench.dismiss(bench.propose())
    bench.runner._histories.forget(bench.key())
    bench.runner.tell(bench.key())
    bench.run(DONE)
    assert bench.runner._histories._kept[bench.key()].context_tokens == 500


def test_who_finds_a_turn_running_says_nothing_of_it(bench, caplog):
    proposal, held = bench.propose(), Held()
    live = bench.start(provider=held)
    bench.dismiss(proposal)
    bench.runner.tell(bench.key())
    held.go.set()
    ended(live)
    assert "was not told" not in caplog.text


# --- ends that nobody decided ---


def test_an_expiry_is_told_once_at_the_next_turns_start(bench):
    proposal = bench.propose()
    bench.clock.move(299_999)
    bench.run(DONE)
    assert bench.settled() == []
    bench.clock.move(1)
    bench.runner.tell(bench.key())
    assert bench.settled() == []
    found = bench.run(DONE)
    assert kinds(found)[:3] == ["turn-start", "proposal-settled", "message"]
    bench.run(DONE)
    assert bench.settled() == [(proposal.id, "expired")]


def test_an_unknown_outcome_is_told_and_then_the_truth(bench):
    bench.run_refund = crash
    proposal = bench.propose()
    assert bench.approve(proposal).state is State.UNKNOWN
    bench.runner.tell(bench.key())
    bench.runner.tell(bench.key())
    bench.gate.answer(proposal.id, OPS, happened=True)
    for _ in range(2):
        bench.runner.tell(bench.key())
        bench.run(DONE)
    assert bench.settled() == [(proposal.id, "outcome_unknown"), (proposal.id, "executed")]


@pytest.mark.parametrize(("happened", "told"), [(False, "failed"), (True, "executed")])
def test_a_truth_that_comes_after_an_operators_answer_corrects_what_was_told(tmp_path, happened, told):
    goes_on = threading.Event()
    bench = ProposalBench(tmp_path, tool_seconds=0.2)

    def run(params, ctx):
        assert goes_on.wait(SOON)
        bench.paid.append(params["order"])

    bench.run_refund = run
    proposal = bench.propose()
    assert bench.approve(proposal).state is State.CLAIMED
    bench.clock.move(60_000)
    bench.gate.answer(proposal.id, OPS, happened=happened)
    bench.runner.tell(bench.key())
    assert bench.settled() == [(proposal.id, told)]
    goes_on.set()
    until(lambda: bench.ledger.get(proposal.id).truth == "late")
    for _ in range(2):
        bench.runner.tell(bench.key())
        bench.run(DONE)
    ends = [(proposal.id, "failed"), (proposal.id, "executed")]
    assert bench.settled() == (ends if not happened else ends[1:])
    assert bench.owed() == []


# --- faults ---


def test_a_kill_between_the_log_and_the_row_writes_it_once(tmp_path, bench):
    proposal = bench.propose()
    bench.dismiss(proposal)
    child = subprocess.run([sys.executable, "-m", "tests.outbox_child", str(tmp_path)], cwd=ROOT, check=False)
    assert child.returncode == -signal.SIGKILL
    assert bench.settled() == [(proposal.id, "dismissed")]
    assert [one.id for one in bench.owed()] == [proposal.id]  # the row does not know
    bench.runner.tell(bench.key())
    bench.run(DONE)
    assert bench.settled() == [(proposal.id, "dismissed")]
    assert bench.owed() == []


def test_control_who_does_not_look_into_the_log_writes_it_twice(tmp_path, bench, monkeypatch):
    proposal = bench.propose()
    bench.dismiss(proposal)
    subprocess.run([sys.executable, "-m", "tests.outbox_child", str(tmp_path)], cwd=ROOT, check=False)
    owed = Outbox.owed
    monkeypatch.setattr(Outbox, "owed", lambda outbox, key, written=(), **how: owed(outbox, key, (), **how))
    bench.runner.tell(bench.key())
    assert bench.settled() == [(proposal.id, "dismissed")] * 2


def test_a_ledger_that_is_away_delays_it_and_ends_no_turn(bench):
    proposal = bench.propose()
    bench.dismiss(proposal)

    class Away(type(bench.puppet)):
        def stream(self, request, stop):
            bench.is_away = True
            yield from super().stream(request, stop)

    bench.is_away = True
    bench.runner.tell(bench.key())
    bench.is_away = False
    assert bench.settled() == []
    found = bench.run(DONE, provider=Away())
    assert found[-1].payload["reason"] == "finished"
    bench.is_away = False
    assert bench.settled() == [(proposal.id, "dismissed")]


def test_a_row_that_cannot_be_marked_now_is_marked_later(tmp_path):
    class Forgetful(Ledger):
        away = True

        def told(self, *what):
            if self.away:
                raise LedgerAway("it is away")
            return super().told(*what)

    bench = ProposalBench(tmp_path, ledger=Forgetful)
    proposal = bench.propose()
    bench.dismiss(proposal)
    bench.runner.tell(bench.key())
    bench.ledger.away = False
    bench.run(DONE)
    assert bench.settled() == [(proposal.id, "dismissed")]
    assert bench.owed() == []


def test_a_store_that_fails_leaves_it_owed(tmp_path):
    class Full(FileStore):
        full = False

        def append(self, key, entries, lease):
            if self.full:
                raise OSError(28, "no space left on device")
            super().append(key, entries, lease)

    bench = ProposalBench(tmp_path, store=Full(tmp_path / "sessions", fsync="never"))
    proposal = bench.propose()
    bench.dismiss(proposal)
    bench.store.full = True
    bench.runner.tell(bench.key())
    bench.store.full = False
    bench.runner.tell(bench.key())
    assert bench.settled() == [(proposal.id, "dismissed")]


def test_a_runner_without_a_ledger_owes_nothing(tmp_path):
    assert not any(Outbox().owed(SessionKey("desk", "eve", "s1")))
    Outbox().void(SessionKey("desk", "eve", "s1"), reason="session_deleted")


# --- a proposal that other sessions were shown ---


@pytest.fixture
def shared(bench):
    """A bench with a proposal of ``s1`` that ``s2`` was shown as well."""
    bench.shared = bench.propose(7)
    bench.other = bench.key("s2")
    bench.run(asks(7), DONE, session="s2")
    return bench


def test_every_session_that_was_shown_it_is_told_once(shared):
    shared.dismiss(shared.shared)
    for _ in range(2):
        for session in ("s1", "s2"):
            shared.runner.tell(shared.key(session))
            shared.run(DONE, session=session)
    end = [(shared.shared.id, "dismissed")]
    assert shared.settled() == shared.settled(shared.other) == end
    assert shared.owed() == shared.owed(shared.other) == []


def test_the_model_of_the_other_session_hears_it_too(shared):
    shared.approve(shared.shared)
    shared.runner.tell(shared.other)
    shared.run(DONE, session="s2", text="and?")
    (note,) = shared.notes()
    assert [(line["proposal_id"], line["state"]) for line in note] == [(shared.shared.id, "executed")]


def test_a_turn_of_the_other_session_tells_it_between_its_rounds(bench):
    proposal, held = bench.propose(7), Held()
    live = bench.start(asks(7), DONE, session="s2", provider=held)
    until(lambda: bench.entries(bench.key("s2")))
    held.go.set()
    ended(live)
    held.go.clear()
    live = bench.start([["call", "echo", {"value": 1}]], DONE, session="s2", provider=held)
    bench.dismiss(proposal)
    held.go.set()
    ended(live)
    tail = kinds(bench.events(bench.key("s2")))[-5:]
    assert tail == ["tool-result", "proposal-settled", "text-delta", "message", "turn-end"]


def test_a_kill_between_the_other_sessions_log_and_its_row_writes_it_once(tmp_path, shared):
    shared.dismiss(shared.shared)
    command = [sys.executable, "-m", "tests.outbox_child", str(tmp_path), "s2"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL
    assert shared.settled(shared.other) == [(shared.shared.id, "dismissed")]
    assert [one.id for one in shared.owed(shared.other)] == [shared.shared.id]  # the row does not know
    shared.runner.tell(shared.other)
    shared.run(DONE, session="s2")
    assert shared.settled(shared.other) == [(shared.shared.id, "dismissed")]
    assert shared.owed(shared.other) == []


def test_the_first_sessions_deletion_is_told_to_the_others_at_once(shared):
    shared.runner.delete(shared.key())
    assert shared.settled(shared.other) == [(shared.shared.id, "void")]
    shared.run(DONE, session="s2")
    assert shared.settled(shared.other) == [(shared.shared.id, "void")]


def test_the_deletion_of_a_session_that_was_shown_it_leaves_it_open(shared):
    shared.runner.delete(shared.other)
    assert shared.ledger.other_sessions(shared.shared.id) == []
    shared.approve(shared.shared)
    shared.runner.tell(shared.key())
    assert shared.settled() == [(shared.shared.id, "executed")]


def test_sessions_that_are_handed_over_hear_the_void_each_once(shared):
    assert hand_over(shared.store, shared.runner, owner=EVE.id, heir="eva", ttl=15) == 2
    for session in ("s1", "s2"):
        moved = shared.key(session)._replace(owner="eva")
        shared.runner.tell(moved)
        assert shared.settled(moved) == [(shared.shared.id, "void")]


# --- the session goes ---


def test_a_session_that_is_gone_hides_what_is_owed_to_it_from_nobody(bench):
    """A ledger that is away in that moment keeps the debt until pruning finds that nobody is there."""
    bench.dismiss(bench.propose())
    forget, bench.ledger.forget_session = bench.ledger.forget_session, None
    bench.runner.delete(bench.key())
    bench.ledger.forget_session = forget
    assert bench.ledger.unheard(days=-1) == {bench.key()}
    bench.runner.settle_debts(bench.key())
    assert bench.ledger.unheard(days=-1) == set()


def test_before_a_row_is_pruned_its_session_is_told_of_an_expiry_too(bench):
    proposal = bench.propose()
    bench.clock.move(300_000)
    bench.runner.tell(bench.key())
    assert bench.settled() == []
    bench.runner.settle_debts(bench.key())
    assert bench.settled() == [(proposal.id, "expired")]
    assert bench.owed() == []


def test_a_busy_session_is_told_by_its_turn_and_stays_owed_until_then(bench):
    bench.propose()
    bench.clock.move(300_000)
    lease = bench.store.acquire(bench.key(), 15)
    bench.runner.settle_debts(bench.key())
    bench.store.release(lease)
    assert len(bench.owed()) == 1


def test_a_deleted_session_voids_its_open_proposals_and_no_others(bench):
    gone, stays = bench.propose(1), bench.propose(2, session="s2")
    bench.runner.delete(bench.key())
    assert bench.ledger.get(gone.id).state is State.VOID
    assert bench.ledger.get(gone.id).reason == "session_deleted"
    assert bench.ledger.get(stays.id).state is State.PROPOSED
    bench.runner.tell(bench.key())
    with pytest.raises(NotFound):
        bench.runner.standing(bench.key())


def test_a_session_whose_proposals_cannot_be_closed_is_not_deleted(bench):
    proposal = bench.propose()
    bench.is_away = True
    with pytest.raises((LedgerAway, RuntimeError)):
        bench.runner.delete(bench.key())
    bench.is_away = False
    assert bench.entries()
    assert bench.ledger.get(proposal.id).state is State.PROPOSED
    assert not bench.store.is_leased(bench.key())


def test_a_session_that_is_handed_over_hears_how_a_run_that_went_on_has_ended(tmp_path):
    goes_on = threading.Event()
    bench = ProposalBench(tmp_path, tool_seconds=0.2)
    bench.run_refund = lambda params, ctx: goes_on.wait(SOON)
    proposal = bench.propose()
    assert bench.approve(proposal).state is State.CLAIMED
    assert hand_over(bench.store, bench.runner, owner=EVE.id, heir="eva", ttl=15) == 1
    goes_on.set()
    until(lambda: bench.ledger.get(proposal.id).state is State.EXECUTED)
    moved = bench.key()._replace(owner="eva")
    bench.runner.tell(moved)
    bench.runner.tell(moved)
    assert bench.settled(moved) == [(proposal.id, "executed")]
    assert bench.owed() == []


def test_a_session_whose_proposals_cannot_be_moved_is_not_deleted(tmp_path):
    class Stuck(Ledger):
        def move_session(self, session_key, *, to):
            raise LedgerAway("it is away")

    bench = ProposalBench(tmp_path, ledger=Stuck)
    bench.propose()
    assert hand_over(bench.store, bench.runner, owner=EVE.id, heir="eva", ttl=15) == 0
    assert bench.entries()


def test_a_session_that_is_handed_over_says_that_its_proposals_are_void(bench):
    proposal = bench.propose()
    assert hand_over(bench.store, bench.runner, owner=EVE.id, heir="eva", ttl=15) == 1
    assert bench.ledger.get(proposal.id).reason == "session_moved"
    moved = bench.key()._replace(owner="eva")
    assert bench.settled(moved) == [(proposal.id, "void")]
