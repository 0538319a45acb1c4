"""core/ledger.py, core/recording.py, core/standing.py: rows, and the few ways in which they change."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import func, select

from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.core import standing
from flask_litro_agent.core.claims import facts
from flask_litro_agent.core.ledger import Dismissed, Flooded, Recorded, Twin
from flask_litro_agent.core.proposals import State, digest_of
from flask_litro_agent.core.tables import proposal
from flask_litro_agent.errors import BadRequest, LedgerAway
from tests.databases import frozen, open_database
from tests.ledger_bench import LIMIT, OPERATOR, SESSION_KEY, TTL, LedgerBench, draft

DAY = 86_400_000


@pytest.fixture
def clock(database):
    return frozen(database)


@pytest.fixture
def bench(clock):
    return LedgerBench(clock)


def rows(bench):
    return bench.database.read(
        lambda connection: connection.execute(select(func.count(proposal.c.id))).scalar_one()
    )


def call(number=1, arguments=None, **changes):
    return draft(arguments, turn="t1", call_id=f"c{number}", **changes)


# recording


def test_what_was_recorded_is_read_back_whole(bench, clock):
    asked = call(preview=[{"label": "sum", "before": 1.5, "after": None}], as_of="v7", four_eyes=True)
    recorded = bench.ledger.record(asked).proposal
    assert bench.ledger.get(recorded.id) == recorded
    assert {name: getattr(recorded, name) for name in ("preview", "as_of", "arguments", "four_eyes")} == {
        "preview": asked.preview,
        "as_of": "v7",
        "arguments": asked.arguments,
        "four_eyes": True,
    }
    assert recorded.digest == digest_of(recorded.id, asked)
    assert (recorded.state, recorded.created_at, recorded.expires_at) == (
        State.PROPOSED,
        clock.ms,
        clock.ms + TTL,
    )


def test_there_is_no_proposal_of_an_unknown_id(bench):
    assert bench.ledger.get("0" * 32) is None


def test_one_call_recorded_twice_is_one_row(bench):
    first = bench.ledger.record(call())
    again = bench.ledger.record(call())
    assert (first.is_new, again) == (True, Recorded(first.proposal, False))
    assert rows(bench) == 1


def test_one_call_recorded_again_after_its_decision_is_still_that_row(bench):
    first = bench.ledger.record(call()).proposal
    bench.dismiss(first)
    again = bench.ledger.record(call())
    assert (again.proposal.id, again.proposal.state, again.is_new) == (first.id, State.DISMISSED, False)


def test_calls_of_two_turns_are_two_calls(bench):
    bench.ledger.record(call())
    assert bench.ledger.record(call(arguments=[2], session="s2")).is_new
    assert bench.ledger.record(draft([3], turn="t2", call_id="c1")).is_new


def test_the_same_arguments_while_one_is_open_get_the_open_one(bench):
    first = bench.propose([1])
    assert bench.ledger.record(draft([1])) == Twin(first)
    assert bench.ledger.record(draft([1], session="s2")) == Twin(first), (
        "in another session of that person too"
    )
    assert rows(bench) == 1


@pytest.mark.parametrize("changes", [{"tool": "collect"}, {"agent": "shop"}, {"owner": "8"}])
def test_another_tool_agent_or_owner_has_no_twin_here(bench, changes):
    bench.propose([1])
    assert bench.ledger.record(draft([1], **changes)).is_new


@pytest.mark.parametrize("other", [1.0, True, "1"])
def test_equal_looking_arguments_of_another_type_are_no_twin(bench, other):
    bench.propose({"n": 1})
    assert bench.ledger.record(draft({"n": other})).is_new


def test_an_expired_one_gives_its_keys_to_its_successor(bench, clock):
    first = bench.propose([1])
    clock.move(TTL)
    second = bench.ledger.record(draft([1]))
    assert second.is_new
    assert bench.now(first).state is State.EXPIRED
    assert bench.ledger.record(draft([1])) == Twin(second.proposal)


def test_a_claimed_one_gives_its_keys_to_its_successor(bench):
    bench.claim(bench.propose([1]))
    assert bench.ledger.record(draft([1])).is_new


def test_a_session_gets_so_many_open_ones_and_no_more(bench):
    open_ones = [bench.propose() for _ in range(5)]
    assert bench.ledger.record(draft(["one more"])) == Flooded(5)
    assert bench.ledger.record(draft(["one more"], session="s2")).is_new
    assert bench.ledger.record(draft(["another"], owner="8")).is_new
    bench.dismiss(open_ones[2])
    assert bench.ledger.record(draft(["a place is free"])).is_new
    assert bench.ledger.record(draft(["one more again"])) == Flooded(5)


def test_expired_ones_take_no_place(bench, clock):
    for _ in range(5):
        bench.propose()
    clock.move(TTL - 1)
    assert bench.ledger.record(draft(["now"])) == Flooded(5)
    clock.move(1)
    assert [bench.propose() for _ in range(5)]
    assert bench.ledger.record(draft(["now"])) == Flooded(5)


def test_calls_outside_a_session_have_places_of_their_own(bench):
    for _ in range(5):
        bench.propose(session=None)
    assert bench.ledger.record(draft(["x"], session=None)) == Flooded(5)
    assert bench.ledger.record(draft(["x"])).is_new


def test_what_was_dismissed_is_not_asked_again_for_ten_minutes(bench, clock):
    first = bench.propose([1])
    dismissed = bench.dismiss(first, "too much")
    assert bench.ledger.record(draft([1], session="s2")) == Dismissed(dismissed)
    assert bench.ledger.record(draft([2])).is_new
    assert bench.ledger.record(draft([1], owner="8")).is_new
    assert bench.ledger.record(draft([1], agent="shop")).is_new
    clock.move(599_999)
    assert isinstance(bench.ledger.record(draft([1])), Dismissed)
    clock.move(1)
    assert bench.ledger.record(draft([1])).is_new


def test_a_person_may_propose_again_what_was_dismissed(bench):
    first = bench.propose([1])
    bench.dismiss(first)
    again = bench.ledger.record(draft([1], made_from=first.id, relation="again"))
    assert (again.is_new, again.proposal.made_from, again.proposal.relation) == (True, first.id, "again")


def test_recording_is_no_audit_row(bench):
    bench.propose()
    assert bench.audited() == []


@pytest.mark.parametrize(("same", "expected"), [(True, 1), (False, 5)])
def test_many_at_once_get_one_card_or_as_many_as_there_are_places(database, same, expected):
    bench = LedgerBench(database)
    ready = threading.Barrier(12)
    answers = []

    def record(number):
        ready.wait(30)
        answers.append(bench.ledger.record(draft([1 if same else number])))

    threads = [threading.Thread(target=record, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sum(isinstance(one, Recorded) for one in answers) == expected
    assert sum(isinstance(one, Twin if same else Flooded) for one in answers) == 12 - expected
    assert rows(bench) == expected


def test_a_key_that_stays_taken_is_said_and_not_tried_for_ever(bench, monkeypatch):
    one = bench.propose()
    monkeypatch.setattr("flask_litro_agent.core.recording.secrets.token_hex", lambda size: one.id)
    with pytest.raises(LedgerAway, match="could not find a place"):
        bench.ledger.record(draft(["another"]))
    assert rows(bench) == 1


# standing: one function of state and age


AGES = ((-1000, False), (-999, True), (0, True), (TTL - 1, True), (TTL, False), (TTL + 1, False))


def test_the_card_the_click_and_the_keys_agree_about_an_age(bench, clock):
    """D4."""
    for number, (age, is_open) in enumerate(AGES):
        one = bench.propose([number], session=f"s{number}")
        clock.move(age)
        shown = bench.now(one).state
        twin = isinstance(bench.ledger.record(draft([number], session=f"s{number}")), Twin)
        taken = bench.claim(one) is not None
        assert (shown is State.PROPOSED, twin, taken) == (is_open,) * 3, age
        assert is_open or shown is State.EXPIRED


def test_every_decision_keeps_to_the_same_ages(bench, clock):
    decisions = (
        bench.claim,
        bench.dismiss,
        lambda one: bench.ledger.void(one.id, reason="x", by="site") or None,
    )
    for number, (age, is_open) in enumerate(AGES):
        ones = [bench.propose(session=f"s{number}") for _ in decisions]
        clock.move(age)
        done = [decide(one) is not None for decide, one in zip(decisions, ones, strict=True)]
        assert done == [is_open] * 3, age
    assert len(bench.audited()) == 9


def test_a_clock_set_back_does_not_open_what_gave_its_place_away(bench, clock):
    first = bench.propose([1])
    clock.move(TTL)
    second = bench.propose([1])
    clock.move(-500)
    assert (bench.now(first).state, bench.now(second).state) == (State.EXPIRED, State.PROPOSED)
    assert bench.claim(first) is None


def test_a_claimed_one_is_unknown_once_its_time_is_over(bench, clock):
    claim = bench.claimed()
    bench.ledger.beat()
    for _ in range((LIMIT + standing.GRACE_MS) // 5_000):
        clock.move(5_000)
        bench.ledger.beat()
    assert bench.now(claim.proposal).state is State.CLAIMED
    clock.move(1)
    assert bench.now(claim.proposal).state is State.UNKNOWN


def test_a_claimed_one_is_unknown_once_its_claimant_is_silent(bench, clock):
    claim = bench.claimed()
    clock.move(standing.DEAD_MS)
    assert bench.now(claim.proposal).state is State.CLAIMED
    clock.move(1)
    assert bench.now(claim.proposal).state is State.UNKNOWN
    bench.ledger.beat()
    assert bench.now(claim.proposal).state is State.CLAIMED


# dismissing and voiding


def test_a_dismissal_keeps_its_note_and_who_and_is_audited(bench, clock):
    one = bench.propose()
    clock.move(5)
    dismissed = bench.dismiss(one, "not this month")
    assert dismissed == bench.now(one)
    assert (dismissed.state, dismissed.note, dismissed.decided_by) == (
        State.DISMISSED,
        "not this month",
        OPERATOR,
    )
    assert dismissed.settled_at == clock.ms
    assert bench.audited() == [("dismissed", OPERATOR, one.id)]


def test_a_dismissal_needs_the_digest_that_was_shown(bench):
    one = bench.propose()
    assert bench.ledger.dismiss(one.id, "0" * 64, operator_id=OPERATOR, note=None) is None
    assert bench.now(one).state is State.PROPOSED
    assert bench.audited() == []


def test_what_is_decided_is_not_decided_again(bench):
    """D2."""
    one, other, third = bench.propose(), bench.propose(), bench.propose()
    assert bench.dismiss(one)
    assert bench.ledger.void(other.id, reason="tool_gone", by="site")
    assert bench.claim(third)
    for decided in (one, other, third):
        before = bench.now(decided)
        assert bench.dismiss(decided) is None
        assert bench.claim(decided) is None
        assert not bench.ledger.void(decided.id, reason="x", by="site")
        assert bench.now(decided) == before
    assert len(bench.audited()) == 3


def test_nobody_decides_about_what_is_not_there(bench):
    assert bench.ledger.dismiss("0" * 32, "0" * 64, operator_id=OPERATOR, note=None) is None
    assert not bench.ledger.void("0" * 32, reason="x", by="site")
    assert bench.ledger.answer("0" * 32, happened=True, operator_id=OPERATOR, note=None) is None
    assert not bench.ledger.told(SESSION_KEY, "0" * 32, State.VOID)


def test_a_void_says_why(bench):
    one = bench.propose()
    assert bench.ledger.void(one.id, reason="contract_changed", by=OPERATOR)
    assert (bench.now(one).state, bench.now(one).reason) == (State.VOID, "contract_changed")
    (row,) = bench.audit.rows()
    assert (row.kind, row.actor, row.data) == ("void", OPERATOR, facts(one, reason="contract_changed"))


def test_a_session_that_goes_voids_what_is_open_in_it(bench, clock):
    expired = bench.propose()
    clock.move(TTL)
    kept = [bench.propose(session="s2"), bench.propose(owner="8")]
    claim = bench.claimed()
    gone = [bench.propose(), bench.propose()]
    assert len(bench.ledger.void_session(SESSION_KEY, reason="session_deleted", by="7")) == 2
    assert {bench.now(one).state for one in gone} == {State.VOID}
    assert {bench.now(one).state for one in kept} == {State.PROPOSED}
    assert (bench.now(expired).state, bench.now(claim.proposal).state) == (State.EXPIRED, State.CLAIMED)


# answering


@pytest.mark.parametrize(("happened", "outcome"), [(True, "ok"), (False, "failed")])
def test_an_operator_answers_what_is_unknown_once(bench, clock, happened, outcome):
    claim = bench.claimed()
    clock.move(standing.DEAD_MS + 1)
    answered = bench.answer(claim.proposal, happened=happened)
    assert answered == bench.now(claim.proposal)
    assert (answered.state, answered.outcome, answered.truth) == (State.EXECUTED, outcome, "operator")
    assert (answered.decided_by, answered.note, answered.settled_at) == (OPERATOR, "I looked", clock.ms)
    assert bench.answer(claim.proposal, happened=not happened) is None
    assert bench.now(claim.proposal) == answered
    assert [row[:2] for row in bench.audited()] == [("approved", OPERATOR), ("answered", "operator-2")]


def test_reconciling_is_an_answer_too(bench):
    claim = bench.claimed()
    bench.ledger.lose(claim)
    answered = bench.ledger.answer(
        claim.proposal.id, happened=True, operator_id=OPERATOR, note=None, truth="reconcile"
    )
    assert answered.truth == "reconcile"


def test_only_what_is_unknown_is_answered(bench, clock):
    proposed, dismissed, claim, settled = bench.propose(), bench.propose(), bench.claimed(), bench.claimed()
    bench.dismiss(dismissed)
    bench.ledger.settle(settled, outcome="ok")
    before = bench.audited()
    for one in (proposed, dismissed, claim.proposal, settled.proposal):
        assert bench.answer(one, happened=True) is None
    clock.move(TTL)
    assert bench.answer(proposed, happened=True) is None
    assert bench.audited() == before


# owed and told


def test_a_session_is_owed_what_was_decided_or_is_over(bench, clock):
    expired = bench.propose()
    clock.move(TTL)
    dismissed, void, settled, unknown = bench.propose(), bench.propose(), bench.claimed(), bench.claimed()
    bench.dismiss(dismissed)
    bench.ledger.void(void.id, reason="ceiling", by="site")
    bench.ledger.settle(settled, outcome="ok")
    bench.ledger.lose(unknown)
    bench.claimed()
    bench.propose()
    bench.dismiss(bench.propose(session="s2"))
    owed = {one.id: one.state for one in bench.ledger.owed(SESSION_KEY)}
    assert owed == {
        expired.id: State.EXPIRED,
        dismissed.id: State.DISMISSED,
        void.id: State.VOID,
        settled.proposal.id: State.EXECUTED,
        unknown.proposal.id: State.UNKNOWN,
    }
    for proposal_id, state in owed.items():
        assert bench.ledger.told(SESSION_KEY, proposal_id, state)
        assert not bench.ledger.told(SESSION_KEY, proposal_id, state)
    assert bench.ledger.owed(SESSION_KEY) == []


def test_what_a_session_is_owed_comes_oldest_first(bench, clock):
    ones = []
    for _ in range(4):
        ones.append(bench.propose().id)
        clock.move(1)
    bench.ledger.void_session(SESSION_KEY, reason="x", by="site")
    assert [one.id for one in bench.ledger.owed(SESSION_KEY)] == ones


def test_an_unknown_one_is_told_again_when_its_truth_is_known_and_never_back(bench):
    claim = bench.claimed()
    bench.ledger.lose(claim)
    assert bench.ledger.told(SESSION_KEY, claim.proposal.id, State.UNKNOWN)
    bench.answer(claim.proposal, happened=True)
    (owed,) = bench.ledger.owed(SESSION_KEY)
    assert owed.state is State.EXECUTED
    assert bench.ledger.told(SESSION_KEY, claim.proposal.id, State.EXECUTED)
    assert not bench.ledger.told(SESSION_KEY, claim.proposal.id, State.UNKNOWN)
    assert bench.ledger.owed(SESSION_KEY) == []


def test_a_late_truth_is_owed_again_when_the_session_was_told_another(bench):
    claim = bench.claimed()
    bench.ledger.lose(claim)
    answered = bench.answer(claim.proposal, happened=False)
    assert bench.ledger.told(SESSION_KEY, answered.id, answered.state, answered.outcome)
    bench.ledger.settle(claim, outcome="ok")
    (owed,) = bench.ledger.owed(SESSION_KEY)
    assert not bench.ledger.told(SESSION_KEY, answered.id, answered.state, answered.outcome), (
        "that was the answer, not the truth"
    )
    assert bench.ledger.told(SESSION_KEY, owed.id, owed.state, owed.outcome)
    assert bench.ledger.owed(SESSION_KEY) == []


def test_a_late_truth_that_was_told_already_is_not_owed_again(bench):
    claim = bench.claimed()
    bench.ledger.lose(claim)
    answered = bench.answer(claim.proposal, happened=True)
    assert bench.ledger.told(SESSION_KEY, answered.id, answered.state, answered.outcome)
    bench.ledger.settle(claim, outcome="ok")
    assert bench.ledger.owed(SESSION_KEY) == []


# finding


def test_pages_are_newest_first_and_join_without_a_gap(bench, clock):
    made = []
    for number in range(7):
        made.append(bench.propose(session=f"s{number}").id)
        clock.move(number % 2)  # some of the same millisecond
    found, after = [], None
    while True:
        page, after = bench.ledger.find(after=after, limit=2)
        found += [one.id for one in page]
        assert len(page) <= 2
        if after is None:
            break
    assert sorted(found) == sorted(made)
    ages = [bench.ledger.get(one).created_at for one in found]
    assert ages == sorted(ages, reverse=True)


def test_a_last_page_that_is_full_says_that_it_is_the_last(bench):
    bench.propose()
    bench.propose()
    page, after = bench.ledger.find(limit=2)
    assert (len(page), after) == (2, None)


def test_states_are_found_as_they_stand(bench, clock):
    expired = bench.propose()
    clock.move(TTL)
    unknown, open_one = bench.claimed(), bench.propose()
    bench.ledger.lose(unknown)
    found = {
        state: [one.id for one in bench.ledger.find(states=[state])[0]]
        for state in (State.EXPIRED, State.UNKNOWN, State.PROPOSED, State.CLAIMED)
    }
    assert found == {
        State.EXPIRED: [expired.id],
        State.UNKNOWN: [unknown.proposal.id],
        State.PROPOSED: [open_one.id],
        State.CLAIMED: [],
    }
    assert len(bench.ledger.find(states=[State.EXPIRED, State.UNKNOWN])[0]) == 2
    assert bench.ledger.find(states=[])[0] == []


def test_agent_owner_and_text_narrow_what_is_found(bench):
    one = bench.propose(agent="shop", owner="8", summary="Refund 100% of Order_5")
    bench.propose(summary="refund 100 of order 5")

    def found(**wanted):
        return [row.id for row in bench.ledger.find(**wanted)[0]]

    assert found(agent="shop") == found(owner="8") == [one.id]
    assert found(text="100%") == found(text="order_") == [one.id]
    assert len(found(text="REFUND")) == 2
    assert found(text="refund", agent="none") == []


def test_a_mark_that_is_none_is_a_bad_request(bench):
    for mark in ("", "x", "1", "-", "-5-a", "1-", "²-a", "9" * 40 + "-a"):
        with pytest.raises(BadRequest, match="there is no such page"):
            bench.ledger.find(after=mark)


# pruning


def test_pruning_takes_what_is_long_over_and_leaves_the_rest(bench, clock):
    old = [bench.propose() for _ in range(3)]
    bench.dismiss(old[0])
    bench.ledger.void(old[1].id, reason="x", by="site")
    settled, unknown = bench.claimed(), bench.claimed()
    bench.ledger.settle(settled, outcome="ok")
    bench.ledger.lose(unknown)
    clock.move(10 * DAY + TTL)
    tell_all(bench)
    assert bench.ledger.prune(days=10) == 3, "the last second of an expiry belongs to the tenth day"
    clock.move(1)
    fresh = bench.propose()
    assert bench.ledger.prune(days=10) == 1
    assert {row.id for row in bench.ledger.find()[0]} == {unknown.proposal.id, fresh.id}
    assert bench.now(unknown.proposal).state is State.UNKNOWN
    assert [row.data["rows"] for row in bench.audit.rows() if row.kind == "pruned"] == [3, 1]
    assert bench.audited()


def test_pruning_with_no_days_leaves_what_is_open_claimed_or_unknown(bench, clock):
    bench.propose()
    bench.claimed()
    bench.ledger.lose(bench.claimed())
    bench.dismiss(bench.propose())
    clock.move(1)
    tell_all(bench)
    assert bench.ledger.prune(days=0) == 1


def test_pruning_leaves_what_the_session_was_not_told(bench, clock):
    expired = bench.propose()
    clock.move(TTL)
    claim, dismissed, outside = bench.claimed(), bench.propose(), bench.propose(session=None)
    bench.ledger.lose(claim)
    tell(bench, claim.proposal.id)
    bench.ledger.settle(claim, outcome="ok")
    bench.dismiss(dismissed)
    bench.dismiss(outside)
    clock.move(1)
    assert bench.ledger.unheard(days=0) == {SessionKey("desk", "7", "s1")}
    assert bench.ledger.prune(days=0) == 1, "nobody is to hear of what came from no session"
    assert {row.id for row in bench.ledger.find()[0]} == {expired.id, claim.proposal.id, dismissed.id}
    tell_all(bench)
    assert bench.ledger.unheard(days=0) == set()
    assert bench.ledger.prune(days=0) == 3


def test_a_session_that_is_gone_is_owed_nothing(bench, clock):
    bench.dismiss(bench.propose())
    clock.move(1)
    bench.ledger.forget_session(SESSION_KEY)
    assert bench.ledger.owed(SESSION_KEY) == []
    assert bench.ledger.unheard(days=0) == set()
    assert bench.ledger.prune(days=0) == 1


def test_who_is_behind_is_asked_about_what_would_be_pruned_alone(bench, clock):
    bench.dismiss(bench.propose())
    clock.move(DAY)
    bench.dismiss(bench.propose(session="s2", owner="8", proposer="8"))
    clock.move(1)
    assert bench.ledger.unheard(days=1) == {SessionKey("desk", "7", "s1")}
    assert bench.ledger.unheard(days=0, actor="8") == {SessionKey("desk", "8", "s2")}


def tell(bench, *ids, key=SESSION_KEY):
    """Note that the session was told what it is owed of these."""
    for owed in bench.ledger.owed(key):
        if owed.id in ids:
            assert bench.ledger.told(key, owed.id, owed.state, owed.outcome)


def tell_all(bench):
    for row in bench.ledger.find(limit=100)[0]:
        tell(bench, row.id, key=row.session_key)


def test_pruning_of_one_person_takes_what_they_own_or_proposed(bench, clock):
    for changes in ({"owner": "8", "proposer": "8"}, {"proposer": "8"}, {"owner": "8"}, {}):
        bench.dismiss(bench.propose(**changes))
    clock.move(1)
    tell_all(bench)
    assert bench.ledger.prune(days=0, actor="8") == 3
    (left,) = bench.ledger.find()[0]
    assert (left.owner, left.proposer) == ("7", "7")


def test_days_cannot_be_negative(bench):
    with pytest.raises(ValueError, match="negative"):
        bench.ledger.prune(days=-1)


def test_a_database_that_is_away_is_one_error(tmp_path):
    bench = LedgerBench(open_database(f"sqlite:///{tmp_path / 'none' / 'ledger.db'}"))
    with pytest.raises(LedgerAway):
        bench.ledger.get("x")
    with pytest.raises(LedgerAway):
        bench.ledger.record(draft())
