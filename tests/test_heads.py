"""notices/heads.py: the audit chain's end in the site's log, once a day from each process, and no request waits."""

from __future__ import annotations

import logging
import os
import threading

import pytest

from flask_litro_agent.core.audit import Audit
from flask_litro_agent.errors import LedgerAway
from flask_litro_agent.notices import heads as module
from flask_litro_agent.notices.heads import Heads
from tests.bench import SOON, until
from tests.ledger_bench import LedgerBench
from tests.proposal_site import Browser, proposal_site

HERE = pytest.mark.parametrize("database_uri", ["sqlite"], indirect=True)


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.INFO, logger=module.__name__)
    return lambda: [record.getMessage() for record in caplog.records if record.name == module.__name__]


@HERE
def test_the_head_is_logged_as_audit_head_prints_it(database, log):
    bench = LedgerBench(database)
    bench.dismiss(bench.propose())
    Heads(Audit(database), first=0).attend()
    assert until(log) == [f"litro audit: head {Audit(database).head()}"]


@HERE
def test_once_in_a_while_and_not_at_every_request(database, log):
    heads = Heads(Audit(database), first=0, every=0.5)
    for _ in range(50):
        heads.attend()
    until(log)
    assert len(log()) == 1
    until(lambda: heads.attend() or len(log()) == 2)


def test_a_process_that_lives_for_a_moment_logs_none(log):
    audit = Stuck()
    Heads(audit).attend()
    audit.go.set()
    assert (audit.asked, log()) == (0, [])


@HERE
def test_a_forked_process_has_a_day_of_its_own(database):
    heads = Heads(Audit(database), first=3600)
    heads.attend()
    heads._due = {os.getpid() + 1: 0.0}
    heads.attend()
    assert len(heads._due) == 2


class Stuck:
    """A chain whose head is long in coming, or does not come."""

    def __init__(self, error=None):
        self.go = threading.Event()
        self.error = error
        self.asked = 0

    def head(self):
        self.asked += 1
        self.go.wait(SOON)
        if self.error:
            raise self.error
        return "7:abc"


def test_nobody_waits_for_a_slow_database(log):
    audit = Stuck()
    Heads(audit, first=0).attend()
    assert log() == []
    audit.go.set()
    assert until(log) == ["litro audit: head 7:abc"]


@pytest.mark.parametrize("error", [LedgerAway("the database is away"), RuntimeError("the site's engine")])
def test_a_head_that_cannot_be_read_is_a_logged_line(log, error):
    audit = Stuck(error)
    audit.go.set()
    Heads(audit, first=0).attend()
    assert until(log) == [f"litro audit: the head could not be read: {error}"]


def test_a_process_without_another_thread_tries_at_the_next_request(log, monkeypatch):
    audit = Stuck()
    audit.go.set()
    heads = Heads(audit, first=0)
    with monkeypatch.context() as patched:
        patched.setattr(module.threading.Thread, "start", _no_thread)
        heads.attend()
    assert log() == []
    heads.attend()
    assert until(log)


def _no_thread(self):
    raise RuntimeError("can't start new thread")


def test_every_request_of_a_site_with_books_attends(tmp_path, log, monkeypatch):
    monkeypatch.setattr(Heads.__init__, "__kwdefaults__", {"first": 0.0, "every": 86_400.0})
    app = proposal_site(tmp_path)
    Browser(app, "eve").client.get("/no/such/page")
    assert until(log)[0].startswith("litro audit: head 0:")
