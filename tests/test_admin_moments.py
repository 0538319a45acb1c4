"""Times on the operator's pages: exact for machines, readable without a script."""

from __future__ import annotations

from flask_litro_agent.web.admin.moments import moment


def test_a_moment_is_said_for_machines_and_for_people() -> None:
    assert moment(1_796_021_904_525) == ("2026-11-30T06:58:24.525Z", "2026-11-30 06:58:24 UTC")


def test_the_epoch_is_a_moment() -> None:
    assert moment(0).iso == "1970-01-01T00:00:00.000Z"
