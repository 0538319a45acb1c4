"""Fixtures that every room's tests share, and what a run says at its end about parts that were missing."""

from __future__ import annotations

import os
from collections.abc import Generator

import hypothesis
import pytest
from xdist.remote import Producer
from xdist.scheduler import WorkStealingScheduling

from tests import memory
from tests.databases import (  # noqa: F401
    database,
    database_uri,
    empty_uri,
    mariadb_server,
    postgresql_server,
)
from tests.receivers import receiver  # noqa: F401

memory.use()
hypothesis.settings.register_profile("shared", deadline=None, derandomize=bool(os.environ.get("CI")))
hypothesis.settings.load_profile("shared")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> WorkStealingScheduling:
    """Let neighbours run in one process, which has started what they need, and whoever is idle take from the rest."""
    return WorkStealingScheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Escape half characters in what a test logged: no report that has one leaves a worker of pytest-xdist."""
    report = yield
    report.sections = [
        (title, text.encode(errors="backslashreplace").decode()) for title, text in report.sections
    ]
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which parts this machine lacks, once each; the reason of a skip is its install line."""
    reasons = {_reason(report) for report in terminalreporter.stats.get("skipped", [])}
    for reason in sorted(reasons):
        terminalreporter.write_line(f"NOT TESTED HERE: {reason}", yellow=True, bold=True)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Where CI runs, a part that is missing is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("LITRO_NO_SKIPS") and reporter and reporter.stats.get("skipped") and exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _reason(report: pytest.TestReport) -> str:
    return (
        report.longrepr[2].removeprefix("Skipped: ")
        if isinstance(report.longrepr, tuple)
        else str(report.longrepr)
    )
