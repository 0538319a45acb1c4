"""core/database.py: transactions that may be run again, and those that must not; the clock."""

from __future__ import annotations

import contextlib
import gc
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    MetaData,
    StaticPool,
    Table,
    create_engine,
    event,
    insert,
    select,
    text,
    update,
)

from flask_litro_agent.core import database as databases
from flask_litro_agent.core.database import Database, check_engine, open_engine
from flask_litro_agent.errors import ConfigurationError, LedgerAway
from tests.databases import frozen, open_database

ROOT = Path(__file__).parent.parent
SERVERS = pytest.mark.parametrize("database_uri", ["postgresql", "mariadb"], indirect=True)
number = Table("number", MetaData(), Column("id", BigInteger, primary_key=True), Column("value", BigInteger))
VALUE = select(number.c.value).where(number.c.id == 1)
PLUS_ONE = update(number).where(number.c.id == 1).values(value=number.c.value + 1)


@pytest.fixture
def counted(database: Database) -> Database:
    """A database of each kind with one number in it, 0."""
    number.create(database.engine)
    database.write(lambda connection: connection.execute(insert(number).values(id=1, value=0)).close())
    return database


def add(connection: Connection) -> None:
    connection.execute(PLUS_ONE)


def value(database: Database) -> int:
    return database.read(lambda connection: int(connection.execute(VALUE).scalar_one()))


class Line:
    """The wire of an engine, which can be cut around a COMMIT: the server has it then, or has it not."""

    def __init__(self, engine: Engine) -> None:
        self.cut: str | None = None
        self.commits = 0
        plain, lost = engine.dialect.do_commit, engine.dialect.loaded_dbapi.OperationalError

        def commit(wire: Any) -> None:
            self.commits += 1
            if self.cut == "before":
                wire.rollback()  # what the server does when its client is gone
            else:
                plain(wire)
            if self.cut:
                raise lost("the line is cut")

        engine.dialect.do_commit = commit  # type: ignore[method-assign]


def test_the_clock_counts_milliseconds_since_the_epoch(database: Database) -> None:
    before = time.time() * 1000
    assert before - 50 <= database.time() <= time.time() * 1000 + 50


def test_the_clock_never_goes_back_and_is_finer_than_a_second(database: Database) -> None:
    def readings(connection: Connection) -> list[int]:
        found = []
        until = time.monotonic() + 0.05
        while time.monotonic() < until:
            found.append(connection.execute(select(database.now)).scalar_one())
        return found

    seen = database.read(readings)
    assert seen == sorted(seen)
    assert len(set(seen)) > 5


def test_the_clock_goes_on_within_a_transaction(database: Database) -> None:
    def work(connection: Connection) -> int:
        began = connection.execute(select(database.now)).scalar_one()
        time.sleep(0.02)
        return int(connection.execute(select(database.now)).scalar_one()) - began

    assert database.write(work) >= 15


def test_the_clock_does_not_depend_on_the_connections_time_zone(database: Database) -> None:
    zones = {"postgresql": "SET TIME ZONE 'Asia/Tokyo'", "mysql": "SET time_zone = '+09:00'"}

    def work(connection: Connection) -> int:
        connection.execute(text(zones.get(connection.dialect.name, "SELECT 1")))
        return int(connection.execute(select(database.now)).scalar_one())

    assert abs(database.read(work) - time.time() * 1000) < 1000


def test_a_frozen_clock_moves_when_it_is_moved(database: Database) -> None:
    clock = frozen(database, 1234)
    assert (clock.time(), clock.time()) == (1234, 1234)
    clock.move(5)
    assert clock.write(lambda connection: connection.execute(select(clock.now)).scalar_one()) == 1239


def test_what_was_written_is_there(counted: Database) -> None:
    assert counted.write(lambda connection: add(connection) or 7) == 7
    assert value(counted) == 1


def test_a_work_that_raises_leaves_nothing(counted: Database) -> None:
    def work(connection: Connection) -> None:
        add(connection)
        raise LookupError

    with pytest.raises(LookupError):
        counted.write(work)
    assert value(counted) == 0


def test_a_read_changes_nothing(counted: Database) -> None:
    counted.read(add)
    assert value(counted) == 0


def test_threads_that_write_at_once_lose_nothing(counted: Database) -> None:
    threads = [
        threading.Thread(target=lambda: [counted.write(add) for _ in range(10)], daemon=True)
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert value(counted) == 80


def test_a_deadlock_is_tried_again(counted: Database) -> None:
    """Two transactions take two rows in opposite orders; the one that the server gives up runs once more."""
    counted.write(lambda connection: connection.execute(insert(number).values(id=2, value=0)).close())
    both = threading.Barrier(2, timeout=10)
    runs: list[int] = []

    def cross(first: int, second: int) -> None:
        def work(connection: Connection) -> None:
            runs.append(first)
            for place in (first, second):
                connection.execute(
                    update(number).where(number.c.id == place).values(value=number.c.value + 1)
                )
                if place == first and not counted.is_sqlite and len(runs) <= 2:
                    both.wait()

        counted.write(work)

    threads = [threading.Thread(target=cross, args=pair, daemon=True) for pair in ((1, 2), (2, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert value(counted) == 2
    assert len(runs) == (2 if counted.is_sqlite else 3)


@pytest.mark.parametrize(("cut", "written"), [("before", 0), ("after", 1)])
def test_after_a_commit_whose_answer_is_lost_nothing_is_run_again(
    counted: Database, cut: str, written: int
) -> None:
    line = Line(counted.engine)
    line.cut = cut
    with pytest.raises(LedgerAway):
        counted.write(add)
    line.cut = None
    assert (line.commits, value(counted)) == (1, written)


def test_control_whoever_runs_again_after_a_lost_answer_does_it_twice(counted: Database) -> None:
    line = Line(counted.engine)
    line.cut = "after"
    with contextlib.suppress(LedgerAway):
        counted.write(add)
    line.cut = None
    counted.write(add)
    assert value(counted) == 2


def _kill_connections(database: Database, uri: str) -> None:
    """Cut every connection of the pool at the server."""
    other = open_database(uri)
    with other.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(
                text(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE pid <> pg_backend_pid() AND datname = current_database()"
                )
            )
        else:
            ids = connection.execute(
                text(
                    "SELECT id FROM information_schema.processlist "
                    "WHERE db = DATABASE() AND id <> CONNECTION_ID()"
                )
            )
            for (found,) in ids.all():
                connection.execute(text(f"KILL {found}"))
    other.engine.dispose()


@SERVERS
def test_a_connection_that_died_in_the_pool_is_replaced(counted: Database, database_uri: str) -> None:
    """Also with a site's engine, which does not ask its connections whether they live."""
    plain = create_engine(counted.engine.url)
    mine = Database(plain)
    mine.write(add)
    _kill_connections(mine, database_uri)
    mine.write(add)
    assert value(mine) == 2
    plain.dispose()


@SERVERS
def test_a_connection_that_dies_before_the_commit_leaves_one_effect(
    counted: Database, database_uri: str
) -> None:
    runs: list[int] = []

    def work(connection: Connection) -> None:
        add(connection)
        runs.append(1)
        if len(runs) == 1:
            _kill_connections(counted, database_uri)
            connection.execute(VALUE)

    counted.write(work)
    assert (len(runs), value(counted)) == (2, 1)


@SERVERS
def test_a_connection_that_always_dies_is_away(counted: Database, database_uri: str) -> None:
    runs: list[int] = []

    def work(connection: Connection) -> None:
        runs.append(1)
        _kill_connections(counted, database_uri)
        connection.execute(VALUE)

    with pytest.raises(LedgerAway):
        counted.write(work)
    assert len(runs) == 2


def test_a_wrong_statement_is_away_and_says_no_more_than_its_kind(database: Database) -> None:
    with pytest.raises(LedgerAway) as caught:
        database.write(lambda connection: connection.execute(text("SELECT secret FROM nowhere")))
    assert "secret" not in str(caught.value)
    with pytest.raises(LedgerAway):
        database.read(lambda connection: connection.execute(text("SELECT secret FROM nowhere")))


@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://u:hunter2@127.0.0.1:1/x",
        "mysql://u:hunter2@127.0.0.1:1/x",
        "sqlite:////nowhere/at/all.db",
    ],
)
# a driver leaves the socket of a failed connection to the collector
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_a_database_that_is_not_there_is_away(uri: str) -> None:
    nowhere = open_database(uri)
    with pytest.raises(LedgerAway) as caught:
        nowhere.time()
    assert "hunter2" not in str(caught.value)


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "_PATIENCE", 0.2)


@contextlib.contextmanager
def held(path: Path) -> Iterator[sqlite3.Connection]:
    """Hold SQLite's write lock from outside."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


def site_engines(path: Path) -> list[Engine]:
    """Engines as sites make them for SQLite: the driver's own transactions, autocommit, SQLAlchemy's recipe."""
    plain = create_engine(f"sqlite:///{path}")
    autocommit = create_engine(f"sqlite:///{path}", isolation_level="AUTOCOMMIT")
    recipe = create_engine(f"sqlite:///{path}", connect_args={"isolation_level": None})
    event.listen(recipe, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return [plain, autocommit, recipe]


SITES = pytest.mark.parametrize("which", [0, 1, 2], ids=["plain", "autocommit", "recipe"])


@pytest.fixture
def site(tmp_path: Path, which: int) -> Iterator[Engine]:
    engines = site_engines(tmp_path / "site.db")
    number.create(engines[0])
    with engines[0].begin() as connection:
        connection.execute(insert(number).values(id=1, value=0))
    yield engines[which]
    for engine in engines:
        engine.dispose()


@SITES
def test_a_sites_own_engine_carries_whole_transactions(site: Engine) -> None:
    database = Database(site)

    def work(connection: Connection) -> None:
        add(connection)
        raise LookupError

    with pytest.raises(LookupError):
        database.write(work)
    assert value(database) == 0
    database.write(add)
    assert value(database) == 1


@SITES
def test_a_sites_own_engine_gets_its_connection_back_as_it_was(site: Engine) -> None:
    def pragmas() -> list[int]:
        with site.connect() as connection:
            names = ("busy_timeout", "synchronous")
            return [connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in names]

    before = pragmas()
    seen: list[int] = []

    def work(connection: Connection) -> None:
        seen.append(connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one())

    Database(site).write(work)
    assert (seen, pragmas()) == ([0], before)
    assert before[0] == 5000


@SITES
def test_the_lock_is_held_from_the_start_of_a_transaction(site: Engine) -> None:
    def work(connection: Connection) -> None:
        connection.execute(VALUE)
        other = sqlite3.connect(str(site.url.database), timeout=0)
        with contextlib.closing(other), pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")

    Database(site).write(work)


@SITES
def test_another_thread_goes_on_while_sqlite_is_waited_for(site: Engine, tmp_path: Path) -> None:
    """Waiting inside C would stop every greenlet: our wait is many short ones."""
    database = Database(site)
    with held(tmp_path / "site.db") as other:
        waiting = threading.Thread(target=database.write, args=(add,), daemon=True)
        waiting.start()
        time.sleep(0.1)
        assert value(database) == 0
        other.execute("ROLLBACK")
        waiting.join(10)
    assert value(database) == 1


def test_a_database_that_stays_locked_is_away(tmp_path: Path, patience: None) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'x.db'}")
    database.time()
    with held(tmp_path / "x.db"), pytest.raises(LedgerAway):
        database.write(lambda connection: None)
    database.engine.dispose()


def test_our_sqlite_file_has_a_journal_and_a_safe_commit(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'x.db'}")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2
    engine.dispose()


def test_an_engine_that_commits_by_itself_still_gives_a_transaction(counted: Database) -> None:
    loose = create_engine(counted.engine.url, isolation_level="AUTOCOMMIT")

    def work(connection: Connection) -> None:
        add(connection)
        raise LookupError

    with pytest.raises(LookupError):
        Database(loose).write(work)
    assert value(counted) == 0
    loose.dispose()


def test_a_flask_sqlalchemy_sites_engine_is_asked_for_each_time(tmp_path: Path) -> None:
    app = Flask("site", instance_path=str(tmp_path))
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite:///site.db"
    db = SQLAlchemy(app)
    with app.app_context():
        number.create(db.engine)
        database = Database(lambda: db.engine)
        database.write(lambda connection: connection.execute(insert(number).values(id=1, value=0)).close())
        database.write(add)
        assert value(database) == 1
        db.engine.dispose()


@pytest.mark.parametrize(
    ("uri", "driver"),
    [
        ("postgresql://u@h/d", "postgresql+psycopg"),
        ("mysql://u@h/d", "mysql+pymysql"),
        ("mariadb://u@h/d", "mariadb+pymysql"),
        ("postgresql+psycopg://u@h/d", "postgresql+psycopg"),
    ],
)
def test_a_uri_without_a_driver_gets_ours(uri: str, driver: str) -> None:
    assert open_engine(uri).url.drivername == driver


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("hunter2", "LITRO_DATABASE_URI is no URI of a database"),
        ("nothing://hunter2@h/d", "LITRO_DATABASE_URI is no URI of a database"),
        ("postgresql://u:hunter2@h:port/d", "LITRO_DATABASE_URI is no URI of a database"),
        ("postgresql+psycopg2://u:hunter2@h/d", "needs the driver 'psycopg2'"),
        ("mysql+mysqldb://u:hunter2@h/d", "needs the driver 'MySQLdb'"),
        ("sqlite://", "cannot use a database in memory"),
        ("sqlite:///:memory:", "cannot use a database in memory"),
        ("sqlite:///file:x?mode=memory&uri=true", "cannot use a database in memory"),
    ],
)
def test_a_uri_that_cannot_be_is_one_sentence_without_its_secret(uri: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_engine(uri)
    assert said in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_missing_driver_of_ours_is_named_with_its_extra() -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from flask_litro_agent.core.database import open_engine\n"
        "open_engine('postgresql://u@h/d')"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "pip install 'flask-litro-agent[postgres]'" in ran.stderr


def test_one_connection_for_all_threads_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="one connection for all"):
        check_engine(create_engine(f"sqlite:///{tmp_path / 'x.db'}", poolclass=StaticPool))


FORK = """
import os, sys
from tests.databases import open_database
database = open_database(sys.argv[1])
with database.engine.connect() as connection:
    inherited = connection.connection.dbapi_connection
child = os.fork()
if child == 0:
    with database.engine.connect() as connection:
        os._exit(0 if connection.connection.dbapi_connection is not inherited else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
database.time()
"""


def test_a_forked_child_opens_a_connection_of_its_own(database_uri: str) -> None:
    ran = subprocess.run([sys.executable, "-c", FORK, database_uri], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


GREENLETS = """
import gevent.monkey; gevent.monkey.patch_all()
import sys, gevent
from sqlalchemy import text
from tests.databases import open_database
database = open_database(sys.argv[1])
lock, unlock, waiting = {
    "postgresql": (
        "SELECT pg_advisory_lock(7) IS NOT NULL",
        "SELECT pg_advisory_unlock(7)",
        "SELECT count(*) FROM pg_locks WHERE NOT granted",
    ),
    "mysql": (
        "SELECT GET_LOCK('seven', 60)",
        "SELECT RELEASE_LOCK('seven')",
        "SELECT count(*) FROM information_schema.processlist WHERE state = 'User lock'",
    ),
}[database.engine.dialect.name]
def wait(connection):
    return [connection.execute(text(statement)).scalar() for statement in (lock, unlock)]
with database.engine.connect() as holder:
    holder.execute(text(lock)).close()
    jobs = [gevent.spawn(database.read, wait) for _ in range(3)]
    while holder.execute(text(waiting)).scalar() < 3:
        gevent.sleep(0.01)
    holder.execute(text(unlock))
    gevent.joinall(jobs, raise_error=True)
assert [job.value for job in jobs] == [[1, 1]] * 3
"""


@SERVERS
def test_greenlets_go_on_while_a_server_is_asked(database_uri: str) -> None:
    """Three wait for a lock that a fourth lets go of: if one stopped the others, none would ever end."""
    ran = subprocess.run(
        [sys.executable, "-c", GREENLETS, database_uri], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr


def test_a_database_that_nobody_has_any_more_has_closed_its_connections(tmp_path):
    """Python 3.13 warns of each connection that is left to the garbage collector."""
    database = Database.opened(f"sqlite:///{tmp_path / 'own.db'}")
    engine = database.engine
    assert database.time() > 0
    assert engine.pool.checkedin() == 1
    del database
    gc.collect()
    assert engine.pool.checkedin() == 0
