"""PolicyContract: what the gate counts on when it asks a policy. Needs Hypothesis.

    class TestOfficeHours(PolicyContract):
        @pytest.fixture
        def policy(self):
            return OfficeHours(clock=lambda: NOON)

Override ``actors``, ``tools`` or ``arguments`` to add what your policy looks at, such as a key of ``actor.data``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from flask_litro_agent.contracts import Actor, Policy, ToolFacts, Verdict

__all__ = ["PolicyContract"]

_THREADS = 8
_Arguments = Mapping[str, Any] | None
_Check = Callable[[Actor, ToolFacts, _Arguments], None]

_names = st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True)
_permissions = st.one_of(
    st.from_regex(r"[a-z]{1,8}:[a-z]{1,8}", fullmatch=True),
    st.sampled_from(["orders:read", "orders:*", "*", "", ":", "**", "orders:read\n", "ORDERS:READ"]),
    st.text(max_size=20),
)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_data = st.dictionaries(st.text(max_size=8), _json, max_size=3)


class PolicyContract:
    """Every policy answers any call with a Verdict, and does nothing else."""

    @pytest.fixture
    def policy(self) -> Policy:
        """Return the policy to test."""
        raise NotImplementedError("override the fixture 'policy'")

    def actors(self) -> st.SearchStrategy[Actor]:
        """Return how to make actors: by default with common and with odd ids, permissions and data."""
        return st.builds(
            Actor, st.text(max_size=20), st.text(max_size=20), st.frozensets(_permissions), _data
        )

    def tools(self) -> st.SearchStrategy[ToolFacts]:
        """Return how to make tools: by default of each mode, public or not."""
        modes = st.sampled_from(["read", "propose", "execute"])
        return st.builds(ToolFacts, _names, st.text(max_size=40), st.none() | _permissions, modes)

    def arguments(self) -> st.SearchStrategy[_Arguments]:
        """Return how to make arguments: None (may the actor use the tool at all?) or what a schema loaded."""
        return st.none() | _data

    def test_the_answer_is_always_a_verdict(self, policy: Policy) -> None:
        def check(actor: Actor, tool: ToolFacts, arguments: _Arguments) -> None:
            verdict = policy.decide(actor, tool, arguments)
            assert isinstance(verdict, Verdict), f"a {type(verdict).__name__} is a deny: return a Verdict"
            assert verdict.effect in ("allow", "deny", "abstain")
            assert isinstance(verdict.reason, str)

        self._for_any_call(check)

    def test_the_question_is_left_as_it_was(self, policy: Policy) -> None:
        def check(actor: Actor, tool: ToolFacts, arguments: _Arguments) -> None:
            before = copy.deepcopy((actor, tool, arguments))
            policy.decide(actor, tool, arguments)
            assert (actor, tool, arguments) == before

        self._for_any_call(check)

    def test_equal_questions_have_equal_answers(self, policy: Policy) -> None:
        def check(actor: Actor, tool: ToolFacts, arguments: _Arguments) -> None:
            again = copy.deepcopy((actor, tool, arguments))
            assert policy.decide(actor, tool, arguments) == policy.decide(*again)

        self._for_any_call(check)

    def test_other_questions_in_between_change_no_answer(self, policy: Policy) -> None:
        asked: list[tuple[tuple[Actor, ToolFacts, _Arguments], Verdict]] = []

        def remember(actor: Actor, tool: ToolFacts, arguments: _Arguments) -> None:
            question = copy.deepcopy((actor, tool, arguments))
            asked.append((question, policy.decide(*question)))

        self._for_any_call(remember)
        for question, verdict in reversed(asked):
            assert policy.decide(*question) == verdict

    def test_many_threads_get_the_same_answers(self, policy: Policy) -> None:
        asked: list[tuple[Actor, ToolFacts, _Arguments]] = []
        self._for_any_call(lambda *question: asked.append(question))
        alone = [policy.decide(*question) for question in asked]
        with ThreadPoolExecutor(_THREADS) as threads:
            together = list(threads.map(lambda question: policy.decide(*question), asked))
        assert together == alone

    def _for_any_call(self, check: _Check) -> None:
        @settings(max_examples=50, deadline=None, database=None, phases=(Phase.generate, Phase.shrink))
        @given(self.actors(), self.tools(), self.arguments())
        def run(actor: Actor, tool: ToolFacts, arguments: _Arguments) -> None:
            check(actor, tool, arguments)

        run()
