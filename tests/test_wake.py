"""``Agent(continue_after_approval=True)``: a decision begins a turn without a word of the person."""

import threading

import pytest

from flask_litro_agent.contracts import Done, Note, SessionKey
from tests.bench import SOON, here, in_background, kinds, of_kind, until
from tests.proposal_bench import DONE, Held, ProposalBench, asks, ended


@pytest.fixture
def bench(tmp_path):
    return ProposalBench(tmp_path)


def wake(bench, key=None, **options):
    return bench.runner.wake(key or bench.key(), bench.assignment(), **options)


def test_a_woken_turn_tells_the_model_and_has_no_word_of_the_person(bench):
    proposal = bench.propose(7)
    bench.approve(proposal)
    before = len(bench.entries())
    wake(bench, spawn=here)
    found = bench.events()[before:]
    assert kinds(found)[:2] == ["turn-start", "proposal-settled"]
    assert kinds(found)[-2:] == ["message", "turn-end"]
    assert [message["role"] for message in of_kind(found, "message")] == ["assistant"]
    last = bench.puppet.requests[-1].messages[-1]
    assert (last.role, type(last.parts[0])) == ("user", Note)


def test_the_turn_after_it_is_not_told_again(bench):
    bench.approve(bench.propose(7))
    wake(bench, spawn=here)
    bench.run(text="thanks")
    assert len(bench.notes()) == 1
    assert [message.role for message in bench.puppet.requests[-1].messages[-3:]] == [
        "user", "assistant", "user",
    ]  # fmt: skip


def test_what_was_appended_to_a_free_session_wakes_too(bench):
    bench.approve(bench.propose(7))
    bench.runner.tell(bench.key())
    assert wake(bench, spawn=here) is not None
    assert len(bench.settled()) == 1
    assert len(bench.notes()) == 1


def test_without_news_nobody_is_woken(bench):
    bench.propose(7)
    before = bench.log()
    assert wake(bench) is None
    assert bench.log() == before
    assert not bench.store.is_leased(bench.key())


def test_a_busy_session_is_not_woken_and_its_turn_tells_it(bench):
    proposal = bench.propose(7)
    held = Held()
    live = bench.start(DONE, provider=held)
    bench.approve(proposal)
    assert wake(bench) is None
    held.go.set()
    ended(live)
    assert bench.settled() == [(proposal.id, "executed")]
    assert kinds(bench.events()).count("turn-start") == 2


def test_of_eight_that_wake_at_once_one_begins_a_turn(bench):
    bench.approve(bench.propose(7))
    ready = threading.Barrier(8)

    def begin():
        ready.wait()
        return wake(bench)

    for thread, _ in [in_background(begin) for _ in range(8)]:
        thread.join(SOON)
    until(lambda: not bench.store.is_leased(bench.key()))
    assert kinds(bench.events()).count("turn-start") == 2
    assert len(bench.settled()) == 1


def test_a_session_without_a_log_or_with_a_tombstone_is_not_woken(bench):
    bench.approve(bench.propose(7))
    assert wake(bench, SessionKey("desk", "eve", "other")) is None
    bench.runner.delete(bench.key())
    assert wake(bench) is None


def test_a_full_process_wakes_nobody_and_owes_it_still(tmp_path):
    bench = ProposalBench(tmp_path, max_turns=1)
    proposal = bench.propose(7)
    bench.approve(proposal)
    held = Held()
    live = bench.start(DONE, session="s2", provider=held)
    assert wake(bench) is None
    held.go.set()
    ended(live)
    bench.runner.tell(bench.key())
    assert bench.settled() == [(proposal.id, "executed")]


def test_a_woken_turn_can_only_propose_like_any_other(bench):
    """D16: no click, no change."""
    bench.approve(bench.propose(7))

    class Eager(Held):
        def stream(self, request, stop):
            self.requests.append(request)
            first = request.messages[-1].role == "user"
            for step in asks(8) if first else DONE:
                yield from self._play(step, stop)
            yield Done("stop")

    bench.runner.wake(bench.key(), bench.assignment(provider=Eager()), spawn=here)
    assert bench.paid == [7]
    assert kinds(bench.events()).count("proposal") == 2
