"""Times on the operator's pages: exact for machines, readable without a script."""

from __future__ import annotations

import pytest

from flask_litro_agent.web.admin.moments import day_text, duration, moment


def test_a_moment_is_said_for_machines_and_for_people() -> None:
    assert moment(1_796_021_904_525) == ("2026-11-30T06:58:24.525Z", "2026-11-30 06:58:24 UTC")


def test_the_epoch_is_a_moment() -> None:
    assert moment(0).iso == "1970-01-01T00:00:00.000Z"


def test_a_day_is_its_date():
    assert (day_text(0), day_text(20_000)) == ("1970-01-01", "2024-10-04")


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (-5, "0 s"),
        (59_999, "59 s"),
        (60_000, "1 min 0 s"),
        (3_600_000, "1 h 0 min"),
        (100_000_000, "27 h 46 min"),
        (200_000_000, "2 d 7 h"),
    ],
)
def test_a_duration_is_said_in_the_two_units_that_matter(ms, text):
    assert duration(ms) == text
