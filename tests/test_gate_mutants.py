"""Every check of the gate and every predicate of the claim, taken out one at a time: some test must notice each.

A mutant is a piece of source that stands there exactly once, what stands there instead, and the tests that must fail.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.chaos
CHILD = Path(__file__).with_name("mutant_child.py")
ROOT = CHILD.parent.parent

A, W, C, L = "test_approval", "test_gate_write", "test_claims", "test_ledger"
Mutant = tuple[str, str, str, str]

APPROVAL = [
    (
        "proposal.state is not State.PROPOSED",
        "False",
        A,
        "test_about_what_is_over_nobody_is_asked",
    ),
    ("if tool is None:", "if False:", A, "test_a_tool_that_is_gone_makes_it_void"),
    (
        "tool_contract(tool) != proposal.contract_digest",
        "False",
        A,
        "test_a_tool_that_was_changed_makes_it_void",
    ),
    (
        "if reason := self._wiring.refusal_reason(proposal.agent, tool, levels):",
        "if reason := None:",
        A,
        "test_a_lowered_ceiling_makes_it_void",
    ),
    ("if proposer is None:", "if False:", A, "test_a_proposer_whom_nobody_knows_any_more_makes_it_void"),
    (
        "not self._allowed(proposal.agent, proposer, tool, None)",
        "False",
        A,
        "test_a_proposer_who_lost_the_permission_makes_it_void",
    ),
    (
        "self._four_eyes(proposal, tool, operator)\n            arg",
        "arg",
        A,
        "test_where_four_eyes_are_asked_for_the_proposer_may_not_approve",
    ),
    (
        "if is_protected(proposal.permission, self._wiring.protected):",
        "if False:",
        A,
        "test_a_protected_permission_asks_for_a_fresh_sign_in_and_the_proposal_stays_open",
    ),
    (
        "self._wiring.freshness.check(authenticated_at)",
        "pass",
        A,
        "test_a_protected_permission_asks_for_a_fresh_sign_in_and_the_proposal_stays_open",
    ),
    (
        "proposal.four_eyes or asks_four_eyes",
        "asks_four_eyes",
        A,
        "test_four_eyes_that_a_proposal_was_made_with_stay",
    ),
    (
        "proposal.four_eyes or asks_four_eyes(wiring, tool)",
        "proposal.four_eyes",
        A,
        "test_four_eyes_that_are_asked_for_since_hold_as_well",
    ),
    (
        "in (proposal.proposer, proposal.owner, proposal.heir)",
        "in (proposal.proposer, proposal.heir)",
        A,
        "test_four_eyes_hold_for_the_owner_of_the_conversation_too",
    ),
    (
        "in (proposal.proposer, proposal.owner, proposal.heir)",
        "in (proposal.proposer, proposal.owner)",
        A,
        "test_four_eyes_hold_for_who_got_the_conversation_since",
    ),
    (
        "in (proposal.proposer, proposal.owner, proposal.heir)",
        "in (proposal.owner, proposal.heir)",
        A,
        "test_four_eyes_hold_for_whoever_proposed_in_anothers_conversation",
    ),
    (
        "digest_of(proposal.id, proposal) != proposal.digest",
        "False",
        A,
        "test_bytes_that_were_changed_in_the_database_make_it_void",
    ),
    (
        "canonical.data != proposal.arguments",
        "False",
        A,
        "test_bytes_that_are_not_canonical_make_it_void_also_with_their_own_digest",
    ),
    (
        "if digest != proposal.digest:",
        "if False:",
        A,
        "test_a_form_that_showed_something_else_changes_nothing",
    ),
    ("if now != proposal.as_of:", "if False:", A, "test_a_version_that_moved_makes_it_void"),
    (
        "copy.deepcopy(arguments), context",
        "arguments, context",
        A,
        "test_asking_for_the_version_cannot_change_what_runs",
    ),
    (
        "not self._allowed(agent, proposer, tool, arguments)",
        "False",
        A,
        "test_a_policy_that_denies_the_proposer_these_arguments_makes_it_void",
    ),
    (
        "for known in (None, arguments)",
        "for known in (None,)",
        A,
        "test_a_policy_that_denies_the_operator_leaves_it_open",
    ),
    (
        "for known in (None, arguments)",
        "for known in (arguments,)",
        A,
        "test_a_policy_that_denies_the_operator_leaves_it_open",
    ),
    (
        'return decision == "allow"',
        'return decision != "deny"',
        A,
        "test_a_policy_that_denies_the_proposer_these_arguments_makes_it_void",
    ),
    (
        "if not self._ledger.void(proposal.id, reason=reason, by=operator.id):",
        "if False:",
        A,
        "test_a_tool_that_is_gone_makes_it_void",
    ),
    (
        "epoch=checked.epoch",
        "epoch=self._wiring.levels().epoch",
        A,
        "test_a_ceiling_that_falls_during_the_checks_is_seen_by_the_claim",
    ),
    (
        "for _ in range(_TRIES):",
        "while True:",
        A,
        "test_a_ceiling_that_never_rests_ends_the_attempt_and_leaves_it_open",
    ),
    ("if claim is None:", "if False:", A, "test_it_may_expire_while_it_is_checked"),
    (
        "if not self._ledger.start(claim):",
        "if False:",
        A,
        "test_a_claim_that_was_held_up_does_not_start_late",
    ),
    (
        "except BaseException as error:",
        "except Exception as error:",
        A,
        "test_whatever_a_tool_raises_its_outcome_is_unknown_and_it_is_spent",
    ),
    (
        'ending = _Ending("unknown")\n',
        "pass\n",
        A,
        "test_whatever_a_tool_raises_its_outcome_is_unknown_and_it_is_spent",
    ),
    (
        "isinstance(error, NothingDone) and not before.returned",
        "isinstance(error, NothingDone)",
        A,
        "test_what_is_raised_around_a_tool_that_had_returned_makes_it_unknown",
    ),
    (
        "isinstance(error, NothingDone) and not before.returned",
        "False",
        A,
        "test_nothing_done_is_a_failure_for_sure",
    ),
    (
        'if before.outcome == "failed":',
        "if False:",
        A,
        "test_a_tool_that_was_never_entered_has_failed_for_sure",
    ),
    (
        "return self._ledger.lose(claim, error_id=error_id)",
        'return self._ledger.settle(claim, outcome="failed", error_id=error_id)',
        A,
        "test_whatever_a_tool_raises_its_outcome_is_unknown_and_it_is_spent",
    ),
    (
        '_Ending("failed", result=_NO_THREAD, error=error)',
        '_Ending("unknown", error=error)',
        A,
        "test_a_tool_whose_thread_cannot_start_has_failed_for_sure_and_at_once",
    ),
    (
        "        except Overloaded:\n            raise\n",
        "",
        A,
        "test_a_version_that_no_thread_is_left_to_ask_for_voids_nothing",
    ),
    (
        "with self._wiring.checking():",
        "with self._wiring.deciding():",
        A,
        "test_whatever_a_schema_raises_leaves_it_open",
    ),
    (
        "data = value.data if isinstance(value, UIResult) else value",
        "data = value",
        A,
        "test_a_components_data_is_the_result",
    ),
]
OPERATORS = [
    ("if type(operator) is not Actor:", "if False:", A, "test_who_may_not_decide_changes_nothing"),
    ("if type(actor) is not Actor:", "if False:", A, "test_nobody_reads_a_proposal"),
    ("now is None or not", "not", A, "test_who_may_not_decide_changes_nothing"),
    (
        "self._may_approve(operator) and self._may_approve(now)",
        "self._may_approve(now)",
        A,
        "test_who_may_not_decide_changes_nothing",
    ),
    (
        "self._may_approve(operator) and self._may_approve(now)",
        "self._may_approve(operator)",
        A,
        "test_a_role_that_was_taken_away_since_the_request_began_is_gone",
    ),
    (
        "return operator, now",
        "return operator, operator",
        A,
        "test_a_role_that_was_taken_away_since_the_request_began_is_gone",
    ),
    ("return operator, now", "return now, now", A, "test_who_may_not_decide_changes_nothing"),
    (
        "if actor.id in (proposal.owner, proposal.heir, proposal.proposer):",
        "if True:",
        A,
        "test_a_strangers_proposal_is_not_found",
    ),
    ("if proposal is None:", "if False:", A, "test_an_unknown_proposal_is_not_found"),
]
UNCHECKED = {
    "admit": "found = [actor]",
    "read": "return Operators(self._wiring, self._ledger()).proposal_of(proposal_id, actor)",
    "look": "hindrances = Hindrances(",
    "dismiss": "Operators(self._wiring, ledger).proposal_for(proposal_id, operator)\n"
    "        with self._wiring.deciding():\n            dismissed",
    "answer": "Operators(self._wiring, ledger).proposal_for(proposal_id, operator)\n"
    "        with self._wiring.deciding():\n            answered",
    "reconcile": "return reconciled(",
    "again": "again = repetition(",
}
GATE = [
    (
        "if not self._allowed(call, tool, None):",
        "if False:",
        W,
        "test_a_forbidden_call_hears_nothing_about_its_arguments_and_is_noted",
    ),
    (
        "if not self._allowed(call, tool, canonical.arguments):",
        "if False:",
        W,
        "test_a_policy_may_deny_by_the_arguments_as_they_would_run",
    ),
    (
        "if tool.mode is Mode.READ\n            else",
        "if True\n            else",
        W,
        "test_a_write_tools_call_is_recorded_and_runs_nothing",
    ),
    (
        "if self._wiring.refusal_reason(agent, tool, levels) is not None",
        "if False",
        W,
        "test_above_the_ceiling_a_tool_is_unknown_by_every_spelling_and_noted",
    ),
    (
        'return decision == "allow"',
        'return decision != "deny"',
        W,
        "test_a_broken_policy_denies_is_noted_and_not_quoted",
    ),
    (
        'self._note(call, "unknown_tool")',
        "pass",
        W,
        "test_above_the_ceiling_a_tool_is_unknown_by_every_spelling_and_noted",
    ),
    ("MappingProxyType(dict(there))", "there", W, "test_a_mapping_that_was_handed_in_is_read_once"),
    ("if writes(tools) and ledger is None:", "if False:", W, "test_a_write_tool_needs_a_ledger"),
    (
        "    if tool.mode is Mode.READ:\n        return schemas.Canonical",
        "    if True:\n        return schemas.Canonical",
        W,
        "test_the_row_is_made_from_the_canonical_bytes",
    ),
    (
        "Operators(self._wiring, ledger).proposal_for(proposal_id, operator)\n"
        "        with self._wiring.deciding():\n            dismissed",
        "pass\n        with self._wiring.deciding():\n            dismissed",
        A,
        "test_who_may_not_decide_changes_nothing",
    ),
    (
        "Operators(self._wiring, ledger).proposal_for(proposal_id, operator)\n"
        "        with self._wiring.deciding():\n            answered",
        "pass\n        with self._wiring.deciding():\n            answered",
        A,
        "test_who_may_not_decide_changes_nothing",
    ),
    *(
        (
            f"with self._wiring.checking():\n            {check}",
            f"with self._wiring.deciding():\n            {check}",
            A,
            f"test_whatever_a_loader_raises_about_the_operator_decides_nothing[{decision}-SystemExit('canary')]",
        )
        for decision, check in UNCHECKED.items()
    ),
]
VERDICTS = [
    ("if not issubclass(type(actor), Actor):", "if False:", W, "test_nobody_is_no_actor"),
    (
        '"allow" in effects and "deny" not in effects',
        '"allow" in effects',
        W,
        "test_the_order_of_the_policies_changes_nothing",
    ),
    (
        '"allow" in effects and "deny" not in effects',
        '"deny" not in effects',
        W,
        "test_without_any_allow_nothing_is_recorded",
    ),
    ('if "broken" in effects:', "if False:", W, "test_a_broken_policy_denies_is_noted_and_not_quoted"),
    ("type(verdict) is not Verdict or", "False or", W, "test_a_broken_policy_denies_is_noted_and_not_quoted"),
    (
        'or verdict.effect not in ("allow", "deny", "abstain")',
        "",
        W,
        "test_a_broken_policy_denies_is_noted_and_not_quoted",
    ),
    ("copy.deepcopy(arguments)", "arguments", "test_gate", "test_a_policy_cannot_change_what_runs"),
    (
        "self.execute(ask, self.seconds, Stop()",
        "self.execute(ask, 60.0, Stop()",
        W,
        "test_a_policy_that_does_not_answer_in_time_denies_and_is_noted",
    ),
    (
        'return ["broken"]',
        "return effects",
        W,
        "test_a_policy_that_does_not_answer_in_time_denies_and_is_noted",
    ),
    (
        "case NotStarted(error):",
        "case None as error:",
        A,
        "test_policies_that_no_thread_is_left_for_void_nothing",
    ),
]
WIRING = [
    (
        "case execution.NotStarted(error):",
        "case None as error:",
        A,
        "test_a_version_that_no_thread_is_left_to_ask_for_voids_nothing",
    ),
    (
        "except BaseException as error:",
        "except Exception as error:",
        A,
        "test_whatever_a_loader_raises_about_the_proposer_leaves_it_open",
    ),
    (
        "if tool.mode > levels.of(agent, tool.name):",
        "if False:",
        W,
        "test_the_ceiling_is_in_force_at_the_next_call",
    ),
    ("levels.of(agent, tool.name)", "levels.site", W, "test_a_narrower_level_counts_too"),
    (
        "if is_protected_execute(tool, self.protected) else None",
        "if False else None",
        A,
        "test_an_execute_tool_whose_permission_is_protected_by_now_makes_it_void",
    ),
]
RULES = [
    ("type(tool) is not Tool", "False", W, "test_a_tool_of_another_class_is_refused"),
    ("type(tool.mode) is not Mode", "False", W, "test_a_mode_that_is_none_is_refused"),
    (
        "not isinstance(tool.permission, str)",
        "False",
        W,
        "test_public_stands_on_no_write_tool_however_it_came_there",
    ),
    (
        "elif is_protected_execute(tool, protected):",
        "elif False:",
        W,
        "test_an_execute_tool_on_a_protected_permission_keeps_the_app_from_starting",
    ),
    (
        "for fault in write_schema_faults(tool.params)",
        "for fault in ()",
        W,
        "test_a_schema_that_could_hide_something_keeps_the_app_from_starting",
    ),
    (
        "if protected is None and any",
        "if False and any",
        W,
        "test_an_execute_tool_needs_the_site_to_say_what_is_protected",
    ),
    ("if not has_loader and writes(tools):", "if False:", W, "test_a_write_tool_needs_an_actor_loader"),
    (
        "tool.mode is Mode.EXECUTE and is_protected",
        "is_protected",
        W,
        "test_an_execute_tool_on_a_protected_permission_keeps_the_app_from_starting",
    ),
]
PROPOSING = [
    ("tool.four_eyes or any(", "any(", A, "test_where_four_eyes_are_asked_for_the_proposer_may_not_approve"),
    ("min(tool.ttl, wiring.max_ttl)", "tool.ttl", W, "test_a_ttl_is_capped_by_the_site"),
    (
        "arguments=canonical.data,",
        "arguments=canonical.data + b' ',",
        A,
        "test_what_is_approved_runs_with_the_canonical_arguments",
    ),
]
SECOND = [
    (
        "if not proposal.is_repeatable:",
        "if False:",
        A,
        "test_what_is_open_or_done_is_not_proposed_again",
    ),
    ("if not proposal.was_done:", "if False:", A, "test_only_what_was_done_is_reversed"),
    ("_write_tool(wiring, proposal.agent, name)\n", "\n", A, "test_what_cannot_be_reversed_says_so"),
    (
        "or tool.mode is Mode.READ:\n        raise",
        ":\n        raise",
        A,
        "test_what_cannot_be_reversed_says_so",
    ),
    (
        "session = None if home is None else home.session",
        "session = proposal.session",
        A,
        "test_what_is_made_anew_of_a_deleted_sessions_proposal_is_in_no_session",
    ),
    (
        "if proposal.state is not State.UNKNOWN:",
        "if False:",
        A,
        "test_only_an_unknown_one_can_be_answered_or_reconciled",
    ),
    ("if not isinstance(happened, bool):", "if False:", A, "test_an_answer_of_another_kind_settles_nothing"),
]
PROPOSALS = [
    ('and self.outcome == "ok"', "", A, "test_what_failed_is_not_reversed"),
    (
        "State.EXPIRED, State.DISMISSED",
        "State.DISMISSED",
        A,
        "test_an_expired_one_is_proposed_again_as_a_new_row_that_waits",
    ),
    (
        "State.DISMISSED, State.UNKNOWN",
        "State.UNKNOWN",
        A,
        "test_a_dismissed_one_can_be_proposed_again_at_once_by_a_person",
    ),
    (
        ", State.UNKNOWN)",
        ")",
        A,
        "test_an_unknown_one_can_be_proposed_again_and_stays_unknown",
    ),
]
CLAIMS = [
    ("self._claimants.hold(claim_id, _CLAIMING_MS)", "pass", A, "test_who_cannot_beat_claims_nothing"),
    (
        "_check_epoch(connection, epoch)\n",
        "\n",
        C,
        "test_a_claim_under_another_epoch_does_not_go_through[sqlite]",
    ),
    ("proposal.c.digest == digest,", "", C, "test_a_claim_needs_the_digest_that_was_shown[sqlite]"),
    ("proposal.c.started_at.is_(None),", "", C, "test_a_claim_starts_once[sqlite]"),
    ("proposal.c.claimed_at > now - START_MS,", "", A, "test_a_claim_that_was_held_up_does_not_start_late"),
    (
        "            proposal.c.claim_id == claim.claim_id,\n            proposal.c.state",
        "            proposal.c.state",
        C,
        "test_somebody_elses_claim_id_does_not_start[sqlite]",
    ),
]
STANDING = [
    ("proposal.c.created_at + proposal.c.ttl_ms > now,", "", A,
     "test_it_is_open_until_its_ttl_and_not_a_millisecond_longer"),
    ("proposal.c.created_at < now + EARLY_MS,", "", L, "test_every_decision_keeps_to_the_same_ages[sqlite]"),
    ("proposal.c.id == proposal_id, is_open(now), *conditions", "proposal.c.id == proposal_id, *conditions", A,
     "test_it_may_expire_while_it_is_checked"),
    ("update(proposal).where(proposal.c.id == proposal_id, is_open(now)", "update(proposal).where(is_open(now)", A,
     "test_void_reasons_come_in_their_order"),
    ("func.coalesce(claimant.c.beat_at, 0) < now - DEAD_MS,", "", L,
     "test_a_claimed_one_is_unknown_once_its_claimant_is_silent[sqlite]"),
    ("proposal.c.claimed_at + proposal.c.limit_ms + GRACE_MS < now,", "", A,
     "test_a_tool_over_its_time_is_left_behind_and_its_late_truth_is_written"),
]  # fmt: skip
CEILING = [
    ("return min(self.site, *(", "return max(self.site, *(", "test_ceiling",
     "test_nothing_narrower_lifts_the_site[sqlite-agent:desk]"),
    ("usual if stored is None else stored, self.declared.get(scope, Level.EXECUTE)",
     "usual if stored is None else stored, Level.EXECUTE", "test_ceiling",
     "test_what_an_agent_declares_for_itself_cannot_be_lifted[sqlite-agent:desk]"),
    (".values(value=value + 1)", ".values(value=value)", "test_ceiling",
     "test_every_change_moves_the_epoch_also_to_the_same_level[sqlite]"),
    ("if not is_known and scope not in self._scopes:", "if False:", "test_ceiling",
     "test_an_unknown_scope_is_answered_with_those_there_are[Site]"),
]  # fmt: skip
PROTECTED = [
    ("(*ALWAYS, *patterns)", "patterns", "test_protected", "test_the_published_ones_are_always_protected"),
    ("(*ALWAYS, *patterns)", "ALWAYS", "test_protected",
     "test_a_sites_patterns_cover_what_begins_like_them[payments:*-True]"),
    ("permission.casefold(), pattern.casefold()", "permission, pattern", "test_protected",
     "test_case_counts_for_nothing"),
]  # fmt: skip
EXECUTION = [
    ("if room.enter():", "if True:", "test_execution",
     "test_a_thread_that_began_although_starting_it_failed_is_waited_for"),
    ("if not room.enter():", "if False:", "test_execution",
     "test_a_thread_that_begins_after_it_was_given_up_runs_nothing"),
]  # fmt: skip
RECORDING = [
    ("keys.session in (None, twin.session_key)", "keys.session is None", "test_debts",
     "test_the_session_that_it_came_from_is_no_listener[sqlite]"),
    ("if held is None or not debts.listen(connection, twin.id, key):", "if False:", "test_debts",
     "test_a_session_that_meets_an_open_twin_hears_how_it_ends[sqlite]"),
]  # fmt: skip
DEBTS = [
    ("table.c.session_key == session_key, _is_next(table, state)", "table.c.session_key == session_key",
     "test_debts", "test_each_of_them_is_told_once_and_by_itself[sqlite]"),
    ("column == proposal_id, table.c.session_key == session_key,", "column == proposal_id,", "test_debts",
     "test_each_of_them_is_told_once_and_by_itself[sqlite]"),
    ("if outcome not in (None, connection.execute(held).scalar_one_or_none()):", "if False:", "test_debts",
     "test_a_late_truth_corrects_what_a_listener_was_told[sqlite]"),
    ("return and_(is_own_told, ~waits)", "return is_own_told", "test_debts",
     "test_pruning_leaves_what_a_listener_was_not_told[sqlite]"),
    ("return and_(is_own_told, ~waits)", "return ~waits", L,
     "test_pruning_leaves_what_the_session_was_not_told[sqlite]"),
    ("if told[one.id] != one.state.value]", "]", "test_debts",
     "test_an_unknown_outcome_is_told_and_then_the_truth[sqlite]"),
    (".values(session_key=None)", ".values(session_key=session_key)", L,
     "test_a_session_that_is_gone_is_owed_nothing[sqlite]"),
]  # fmt: skip
AUDIT = [
    ("if seq != last + 1:", "if False:", "test_audit", "test_a_deleted_row_is_missed[sqlite-1]"),
    ('if row["previous"] != previous:', "if False:", "test_audit",
     "test_a_changed_row_with_a_hash_of_its_own_breaks_the_next[sqlite]"),
    ("if not _has_its_hash(row):", "if False:", "test_audit", "test_two_swapped_rows_are_seen[sqlite]"),
    ("if last < before:", "if False:", "test_audit", "test_a_cut_end_is_seen_by_the_count[sqlite]"),
    ("if last > after:", "if False:", "test_audit",
     "test_a_row_behind_the_end_that_nobody_counted_is_seen[sqlite]"),
    ("if not kept and head is not None:", "if False:", "test_audit",
     "test_a_chain_written_anew_is_seen_by_a_kept_head_alone[sqlite]"),
]  # fmt: skip

MODULES = {
    "approval": APPROVAL,
    "operators": OPERATORS,
    "gate": GATE,
    "verdicts": VERDICTS,
    "wiring": WIRING,
    "write_rules": RULES,
    "proposing": PROPOSING,
    "second_thoughts": SECOND,
    "proposals": PROPOSALS,
    "claims": CLAIMS,
    "standing": STANDING,
    "ceiling": CEILING,
    "protected": PROTECTED,
    "audit": AUDIT,
    "execution": EXECUTION,
    "recording": RECORDING,
    "debts": DEBTS,
}


#: What one process tries; each process imports the package once.
ROOMS = {
    "checks": ("approval", "operators"),
    "gate": ("gate", "verdicts", "wiring", "write_rules", "proposing", "second_thoughts", "proposals"),
    "ledger": ("claims", "standing", "ceiling", "protected", "audit", "execution", "recording", "debts"),
}


def asked(module: str, old: str, new: str, file: str, test: str) -> dict[str, Any]:
    return {
        "module": f"flask_litro_agent.core.{module}",
        "old": old,
        "new": new,
        "tests": [f"tests/{file}.py::{test}"],
    }


def fates_of(mutants: list[dict[str, Any]]) -> list[str]:
    """Return what became of each mutant."""
    done = subprocess.run(
        [sys.executable, CHILD],
        input=json.dumps(mutants),
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("room", ROOMS)
def test_every_mutant_dies(room):
    mutants = [asked(module, *mutant) for module in ROOMS[room] for mutant in MODULES[module]]
    survivors = [
        (mutant["old"], mutant["new"], fate)
        for mutant, fate in zip(mutants, fates_of(mutants), strict=True)
        if fate != "died"
    ]
    assert survivors == []


def test_no_room_is_left_out():
    assert sorted(module for modules in ROOMS.values() for module in modules) == sorted(MODULES)


def test_the_unchanged_source_passes_what_the_mutants_die_of():
    """The control: without it every mutant would die of anything."""
    mutants = [mutant for mutants in MODULES.values() for mutant in mutants]
    killers = sorted({(file, test) for *_, file, test in mutants})
    fates = fates_of([asked("gate", "", "", *killer) for killer in killers])
    assert [(killer, fate) for killer, fate in zip(killers, fates, strict=True) if fate != "lived"] == []
