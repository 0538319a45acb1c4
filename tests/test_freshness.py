"""core/freshness.py: how old a proof may be."""

from __future__ import annotations

import math
import time

import pytest

from flask_litro_agent.core.freshness import Freshness
from flask_litro_agent.errors import SignInNeeded


def test_without_the_setting_any_proof_counts_and_none_as_well():
    for told in (None, 0.0, time.time()):
        Freshness(None).check(told)


@pytest.mark.parametrize("age", [0, 299, -59])
def test_a_young_proof_counts_also_one_of_a_clock_that_is_a_little_ahead(age):
    assert Freshness(300).holds(time.time() - age)


@pytest.mark.parametrize("told", [None, 0.0, math.nan, math.inf, -math.inf])
def test_no_proof_is_never_fresh(told):
    assert not Freshness(300).holds(told)


@pytest.mark.parametrize("age", [302, -62])
def test_an_old_one_and_one_of_the_future_are_not(age):
    with pytest.raises(SignInNeeded, match="prove once more who you are"):
        Freshness(300).check(time.time() - age)
