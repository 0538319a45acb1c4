"""``flask litro doctor``: each finding, and a store that is asked for real."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections import namedtuple
from types import SimpleNamespace

import click
import pytest

from flask_litro_agent import LitroAgent
from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.core.ceiling import Level
from flask_litro_agent.doctor import examine
from flask_litro_agent.errors import StoreError
from flask_litro_agent.installation import EXTENSION
from flask_litro_agent.sessions.file import FileStore
from tests.databases import Clock
from tests.small_site import new_app, write_agent, write_tool

GOOD = "0123456789abcdef"


@pytest.fixture
def findings(tmp_path):
    """Return ``run(**config) -> {message: level}`` for a small site."""
    write_agent(tmp_path)

    def run(*, session_store=None, debug=False, **config):
        app = new_app(tmp_path, **{"SECRET_KEY": GOOD, **config})
        app.debug = debug
        LitroAgent(app, session_store=session_store)
        return {found.message: found.level for found in examine(app, app.extensions[EXTENSION])}

    return run


def level(findings, start):
    (found,) = (level for message, level in findings.items() if message.startswith(start))
    return found


def test_a_sound_site_has_only_good_findings(findings):
    assert set(findings().values()) == {"ok"}


@pytest.mark.parametrize(
    ("config", "start", "expected"),
    [
        ({"SECRET_KEY": None}, "SECRET_KEY is not set", "fail"),
        ({"SECRET_KEY": GOOD[:-1]}, "SECRET_KEY is shorter than 16 characters", "fail"),
        ({"SECRET_KEY": b"0123456789abcdef"}, "SECRET_KEY is set", "ok"),
        ({"debug": True}, "debug is on", "fail"),
        ({"LITRO_HOSTS": None}, "LITRO_HOSTS is not set", "warn"),
        ({"LITRO_HOSTS": None, "TRUSTED_HOSTS": ["shop.example"]}, "the site's hosts are listed", "ok"),
        ({"LITRO_FSYNC": "never"}, "LITRO_FSYNC is never", "warn"),
        ({"LITRO_FSYNC": "always"}, "LITRO_FSYNC is always", "ok"),
        ({"LITRO_POLICIES": []}, "LITRO_POLICIES is empty", "warn"),
    ],
)
def test_each_setting_has_its_finding(findings, config, start, expected):
    assert level(findings(**config), start) == expected


def test_nothing_is_found_twice(findings):
    found = findings(SECRET_KEY=None, LITRO_HOSTS=None)
    assert sum("SECRET_KEY" in message for message in found) == 1
    assert sum("LITRO_HOSTS" in message for message in found) == 1


def test_what_is_not_installed_is_named_with_its_install_line(findings, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "gevent" else object())
    assert level(findings(), "gevent not installed: pip install 'flask-litro-agent[gevent]'") == "warn"


def test_a_full_disk_is_warned_about(findings, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(2**40, 2**40, 5 * 2**20))
    assert level(findings(), "only 5 MiB are free") == "warn"


def test_the_store_is_really_written_read_and_emptied(findings, tmp_path):
    calls = []

    class Watched(FileStore):
        def append(self, key, entries, lease):
            calls.append(("append", len(entries)))
            super().append(key, entries, lease)

        def delete(self, key, lease):
            calls.append(("delete", self.last_seq(key)))
            super().delete(key, lease)

    store = Watched(tmp_path / "sessions")
    assert level(findings(session_store=store), "session store Watched: writes, reads and deletes") == "ok"
    assert calls == [("append", 1), ("delete", 1)]


def test_nothing_of_the_check_can_be_read_or_listed_afterwards(findings, tmp_path):
    kept = []

    class Kept(FileStore):
        def acquire(self, key, ttl, turn_id=None):
            kept.append(key)
            return super().acquire(key, ttl, turn_id)

    store = Kept(tmp_path / "sessions")
    findings(session_store=store)
    (key,) = kept
    assert isinstance(key, SessionKey)
    assert store.list(key.owner) == ([], None)
    assert store.holder(key) is None
    written = [path.read_bytes() for path in (tmp_path / "sessions").rglob("*") if path.is_file()]
    assert not any(b'"role"' in data for data in written)


class Broken(FileStore):
    """A store whose read gives back something else."""

    def read(self, key, after=0, kinds=None):
        return iter(())


class Full(FileStore):
    def append(self, key, entries, lease):
        raise StoreError("the disk is full")


class Locked(FileStore):
    def acquire(self, key, ttl, turn_id=None):
        return None


@pytest.mark.parametrize(
    ("store", "sentence"),
    [
        (Broken, "session store Broken: it gave back something else than was stored"),
        (Full, "session store Full: the disk is full"),
        (Locked, "session store Locked: the lease of a new session cannot be had"),
    ],
)
def test_a_store_that_fails_is_unsafe(findings, tmp_path, store, sentence):
    assert findings(session_store=store(tmp_path / "sessions"))[sentence] == "fail"


@pytest.fixture
def books(tmp_path):
    """Return ``run(days=0, prepare=None, **config)``: the findings of a site with a write tool, so many days on."""
    write_tool(write_agent(tmp_path), "refund", permission="'orders:edit'", mode="PROPOSE")

    def run(*, days=0, prepare=None, **config):
        identity = SimpleNamespace(request_loader=lambda: None, actor_loader=lambda actor_id: None)
        app = new_app(tmp_path, **{"SECRET_KEY": GOOD, **config})
        with click.Context(click.Group("flask"), info_name="flask"):
            LitroAgent(app, identity=identity)
        installed = app.extensions[EXTENSION]
        now = 0 if "LITRO_DATABASE_URI" in config else installed.books.database.time() + 60_000
        if prepare:
            prepare(installed.books)
        late = Clock(installed.books.database, now + days * 86_400_000)
        late_books = dataclasses.replace(installed.books, database=late)
        return {
            found.message: found.level
            for found in examine(app, dataclasses.replace(installed, books=late_books))
        }

    return run


def decide(books):
    """Leave a row in the audit chain."""
    books.ceiling.set("site", Level.READ, by="ada")


def test_a_ledger_in_order_has_only_good_findings(books):
    found = books()
    assert set(found.values()) == {"ok"}
    assert level(found, "ledger sqlite ") == "ok"


def test_a_schema_that_is_behind_is_unsafe_and_said_once(books, tmp_path):
    found = books(LITRO_DATABASE_URI=f"sqlite:///{tmp_path / 'x.db'}")
    assert level(found, "the ledger's database stands at revision none") == "fail"
    assert level(found, "ledger: nobody can say when") == "warn"


def test_a_ledger_that_is_away_is_unsafe(books):
    def take_away(parts):
        parts.database.engine.dispose()
        path = parts.database.engine.url.database
        os.rename(path, f"{path}.gone")
        os.mkdir(path)

    assert level(books(prepare=take_away), "ledger: the ledger's database is away") == "fail"


@pytest.mark.parametrize(("days", "expected"), [(13, "ok"), (14, "warn"), (400, "warn")])
def test_a_pruning_that_has_never_run_is_a_warning_once_there_is_something_old(books, days, expected):
    found = books(days=days, prepare=decide)
    assert level(found, "ledger: 'flask litro prune'") == expected


@pytest.mark.parametrize(("days", "expected"), [(13, "ok"), (14, "warn")])
def test_a_pruning_that_ran_counts_for_fourteen_days(books, days, expected):
    found = books(days=days, prepare=lambda parts: parts.ledger.prune(days=180))
    assert level(found, "ledger: 'flask litro prune'") == expected


def test_an_old_empty_ledger_needs_no_pruning(books):
    assert level(books(days=400), "ledger: 'flask litro prune'") == "ok"
