"""The ledger's database: SQLite, PostgreSQL, or MySQL/MariaDB through SQLAlchemy Core, and its one clock.

A transaction is a function that may be run again: SQLite's lock is waited for without holding a thread in C, and a
deadlock or a serialisation failure starts it anew. Nothing is run again once its COMMIT may have arrived. Time is the
database's, in whole milliseconds since the Unix epoch, so that two hosts never disagree about an age.
"""

from __future__ import annotations

import os
import random
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

from sqlalchemy import (
    URL,
    BigInteger,
    ColumnElement,
    Connection,
    Engine,
    StaticPool,
    create_engine,
    event,
    make_url,
    select,
)
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from flask_litro_agent.errors import ConfigurationError, LedgerAway

__all__ = ["Database", "check_engine", "now_ms", "open_engine"]

T = TypeVar("T")
Work = Callable[[Connection], T]

#: How long a transaction is tried again, and the longest pause after the first try and after many, in seconds: many
#: processes that ask a locked file at short intervals leave no time to the one that holds it.
_PATIENCE: Final = 10.0
_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.08
#: SQLSTATE and MySQL codes after which the same transaction may succeed: serialisation, deadlock, lock wait, and
#: MariaDB's "record has changed since last read".
_AGAIN: Final = frozenset({"40001", "40P01", "55P03", 1020, 1205, 1213})
#: SQLite, while we write: no waiting inside C, and a COMMIT that survives a power cut.
_WRITING: Final = (("busy_timeout", 0), ("synchronous", 2))
#: The driver and its extra, for a URI that names none.
_DRIVERS: Final = {
    "postgresql": ("postgresql+psycopg", "postgres"),
    "mysql": ("mysql+pymysql", "mysql"),
    "mariadb": ("mariadb+pymysql", "mysql"),
}
_BACKENDS: Final = ("sqlite", *_DRIVERS)


class now_ms(FunctionElement[int]):  # noqa: N801  # it reads as the SQL function that it is
    """The database's clock, in whole milliseconds since the Unix epoch."""

    type = BigInteger()
    inherit_cache = True


@compiles(now_ms, "sqlite")
def _sqlite_now(element: now_ms, compiler: Any, **options: Any) -> str:
    return "CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)"


@compiles(now_ms, "postgresql")
def _postgresql_now(element: now_ms, compiler: Any, **options: Any) -> str:
    return "CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT)"


@compiles(now_ms, "mysql")
@compiles(now_ms, "mariadb")
def _mysql_now(element: now_ms, compiler: Any, **options: Any) -> str:
    return "CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED)"


class Database:
    """Runs transactions on an engine; ``clock`` is the SQL expression of the time, for tests to replace."""

    def __init__(
        self, engine: Engine | Callable[[], Engine], *, clock: ColumnElement[int] | None = None
    ) -> None:
        self._given = engine
        self.now: ColumnElement[int] = now_ms() if clock is None else clock

    @classmethod
    def opened(cls, uri: str | URL) -> Database:
        """Return a database with an engine of its own, whose connections are closed when nobody has it any more."""
        engine = open_engine(uri)
        database = cls(engine)
        weakref.finalize(
            database, engine.dispose
        ).atexit = False  # at its end a process closes them by itself
        return database

    @property
    def engine(self) -> Engine:
        """The engine; a callable is asked each time, because a site may build its own late."""
        return self._given if isinstance(self._given, Engine) else self._given()

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    def write(self, work: Work[T]) -> T:
        """Run the work in one transaction and commit it; LedgerAway when that did not, or may not have, happened.

        The work may be run more than once and must touch nothing but its connection.
        """
        return _patiently(lambda attempt: self._write(work, attempt))

    def read(self, work: Work[T]) -> T:
        """Run the work without changing anything; LedgerAway when the database cannot answer."""
        return _patiently(lambda attempt: self._read(work, attempt))

    def time(self) -> int:
        """Return the database's time."""
        return self.read(lambda connection: int(connection.execute(select(self.now)).scalar_one()))

    def _write(self, work: Work[T], attempt: _Attempt) -> T:
        with self.engine.connect() as connection, _transaction(connection):
            value = work(connection)
            attempt.may_have_committed = True
            connection.commit()
            return value

    def _read(self, work: Work[T], attempt: _Attempt) -> T:
        with self.engine.connect() as connection:
            if connection.dialect.name == "sqlite" and not _began_one(connection):
                connection.exec_driver_sql("BEGIN")
            return work(connection)


def open_engine(uri: str | URL) -> Engine:
    """Return an engine of our own; ConfigurationError, which never has the URI, when that cannot be."""
    try:
        url = make_url(uri)
        _refuse_memory(url)
        driver, extra = _DRIVERS.get(url.drivername, (url.drivername, ""))
        engine = create_engine(url.set(drivername=driver), **_options(url))
    except ModuleNotFoundError as error:
        hint = f": pip install 'flask-litro-agent[{extra}]'" if extra else ""
        raise ConfigurationError(f"the ledger's database needs the driver {error.name!r}{hint}") from None
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise ConfigurationError(
            "LITRO_DATABASE_URI is no URI of a database, such as 'postgresql://user:password@host/name'"
        ) from None
    check_engine(engine)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _keep_a_journal)
    _forget_in_children(engine)
    return engine


def check_engine(engine: Engine) -> None:
    """Raise ConfigurationError for an engine that cannot carry a ledger."""
    if engine.dialect.name not in _BACKENDS:
        raise ConfigurationError(
            f"the ledger cannot use {engine.dialect.name}; it can use SQLite, PostgreSQL, MySQL and MariaDB"
        )
    if isinstance(engine.pool, StaticPool):
        raise ConfigurationError(
            "the ledger cannot use a StaticPool: one connection for all threads mixes their transactions"
        )
    _refuse_memory(engine.url)


class _Attempt:
    """How far one try came."""

    may_have_committed = False


def _patiently(run: Callable[[_Attempt], T]) -> T:
    """Run it again as long as that is safe and sensible; LedgerAway ends it."""
    deadline = time.monotonic() + _PATIENCE
    was_cut, pause = False, _PAUSE
    while True:
        attempt = _Attempt()
        try:
            return run(attempt)
        except DBAPIError as error:
            # a connection that was dead in its pool is replaced once; after COMMIT was sent nobody may try again
            is_cut = error.connection_invalidated and not attempt.may_have_committed and not was_cut
            if not (is_cut or _may_try_again(error)) or time.monotonic() > deadline:
                raise LedgerAway(f"the ledger's database is away: {type(error.orig).__name__}") from error
            was_cut = was_cut or is_cut
            time.sleep(random.uniform(0.1, 1) * pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
        except SQLAlchemyError as error:
            raise LedgerAway(f"the ledger's database is away: {type(error).__name__}") from error


@contextmanager
def _transaction(connection: Connection) -> Iterator[None]:
    """Begin a transaction that holds on any engine, whatever a site's own has as its default."""
    if connection.dialect.name != "sqlite":
        _isolate(connection)
        yield
        return
    with _sqlite_set(connection):
        if _began_one(connection):
            connection.exec_driver_sql("ROLLBACK")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield


def _isolate(connection: Connection) -> None:
    """Let the next transaction be one, and read what others have committed, also where a site's engine differs."""
    driver_error = connection.dialect.loaded_dbapi.Error
    try:
        connection.execution_options(isolation_level="READ COMMITTED")
    except driver_error as error:  # it is the one question that SQLAlchemy passes on bare
        connection.invalidate()
        raise DBAPIError("SET TRANSACTION", None, error, connection_invalidated=True) from error


@contextmanager
def _sqlite_set(connection: Connection) -> Iterator[None]:
    """Change what a connection of SQLite's does, and give it back to its pool as it was."""
    cursor = _driver(connection).cursor()
    before = [(name, cursor.execute(f"PRAGMA {name}").fetchone()[0]) for name, _ in _WRITING]
    try:
        for name, value in _WRITING:
            cursor.execute(f"PRAGMA {name}={value}")
        yield
    finally:
        connection.rollback()
        with suppress(
            connection.dialect.loaded_dbapi.Error
        ):  # the transaction has ended, one way or the other
            for name, value in before:
                cursor.execute(f"PRAGMA {name}={value}")
            cursor.close()


def _began_one(connection: Connection) -> bool:
    """Whether a site's engine begins a transaction of its own kind, which takes no lock yet."""
    connection.begin()
    return bool(_driver(connection).in_transaction)


def _driver(connection: Connection) -> Any:
    return connection.connection.dbapi_connection


def _options(url: URL) -> dict[str, Any]:
    match url.get_backend_name():
        case "sqlite":
            return {"connect_args": {"timeout": 0, "isolation_level": None}, "pool_timeout": _PATIENCE}
        case "postgresql" | "mysql" | "mariadb":
            return {
                "connect_args": {"connect_timeout": 5},
                "pool_timeout": _PATIENCE,
                "pool_pre_ping": True,
            }
    return {}


def _keep_a_journal(connection: Any, record: object) -> None:
    """Let readers and one writer of a SQLite file of ours work beside each other."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


def _forget_in_children(engine: Engine) -> None:
    """Let a forked child open connections of its own: two processes on one would answer each other's questions."""
    known = weakref.ref(engine)

    def forget() -> None:
        if (kept := known()) is not None:
            kept.dispose(close=False)

    os.register_at_fork(after_in_child=forget)


def _refuse_memory(url: URL) -> None:
    in_memory = url.database in (None, "", ":memory:") or "mode=memory" in str(url)
    if in_memory and url.get_backend_name() == "sqlite":
        raise ConfigurationError(
            "the ledger cannot use a database in memory: every thread and process needs the same proposals; "
            "give it a file or a server"
        )


def _may_try_again(error: DBAPIError) -> bool:
    original = error.orig
    text = str(original)
    if "database is locked" in text or "database table is locked" in text:
        return True
    code = getattr(original, "sqlstate", None) or (getattr(original, "args", None) or (None,))[0]
    return code in _AGAIN
