"""core/protected.py: the permissions for which an agent can do no more than propose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_litro_agent.core.protected import ALWAYS, is_protected, matches

PUBLISHED = ("processFinancials", "dangerZone", "refunds:edit", "refunds:delete", "collabs:edit")
names = st.text(st.characters(exclude_characters="*"), min_size=1, max_size=12)


def test_the_published_ones_are_always_protected():
    assert ALWAYS == PUBLISHED
    assert all(is_protected(permission) for permission in PUBLISHED)


@pytest.mark.parametrize("permission", PUBLISHED)
@pytest.mark.parametrize("spelt", [str.upper, str.lower, str.title, str.swapcase])
def test_case_counts_for_nothing(permission, spelt):
    assert is_protected(spelt(permission))


@pytest.mark.parametrize(
    "permission",
    [
        "refunds:read",
        "refunds",
        "refunds:edits",
        "refunds:edi",
        "my:refunds:edit",
        "dangerzones",
        "orders:edit",
    ],
)
def test_what_only_looks_like_one_is_not_protected_by_us(permission):
    assert not is_protected(permission)


@pytest.mark.parametrize(
    ("pattern", "covered"),
    [
        ("payments:edit", True),
        ("PAYMENTS:EDIT", True),
        ("payments:*", True),
        ("Payments:*", True),
        ("pay*", True),
        ("*", True),
        ("payouts:*", False),
        ("payments:edit:*", False),
        ("*:edit", False),
        ("pay*edit", False),
        ("payments", False),
        ("", False),
    ],
)
def test_a_sites_patterns_cover_what_begins_like_them(pattern, covered):
    assert is_protected("payments:edit", (pattern,)) is covered


@pytest.mark.parametrize("patterns", [(), ("payments:*",), ("",)])
def test_a_site_adds_to_the_list_and_takes_nothing_away(patterns):
    assert all(is_protected(permission, patterns) for permission in PUBLISHED)


@given(names, names)
def test_a_pattern_covers_exactly_what_begins_with_it(begin, rest):
    assert matches(begin + rest, f"{begin}*")
    assert matches(begin, begin)
    assert matches(rest, begin) is (rest.casefold() == begin.casefold())


@given(names, names)
def test_case_of_neither_side_changes_the_answer(permission, pattern):
    for asked in (pattern, f"{pattern}*"):
        assert matches(permission.casefold(), asked) is matches(permission, asked.casefold())
