"""The ledger's database: SQLite, PostgreSQL, or MySQL/MariaDB through SQLAlchemy Core, and its one clock.

A transaction is a function that may be run again: SQLite's lock is waited for without holding a thread in C, and a
deadlock or a serialisation failure starts it anew. Time is the database's, in whole milliseconds since the Unix
epoch, so that two hosts never disagree about an age.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import BigInteger, ColumnElement, Connection, Engine, event, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from flask_litro_agent.errors import LedgerAway

__all__ = ["Database", "now_ms"]

T = TypeVar("T")
Work = Callable[[Connection], T]

_TRIES = 400
_PAUSE = 0.005
#: SQLSTATE and MySQL codes after which the same transaction may succeed: serialisation, deadlock, lock wait.
_AGAIN = frozenset({"40001", "40P01", "55P03", 1205, 1213})


class now_ms(FunctionElement[int]):  # noqa: N801  # it reads as the SQL function that it is
    """The database's clock, in whole milliseconds since the Unix epoch."""

    type = BigInteger()
    inherit_cache = True


@compiles(now_ms, "sqlite")
def _sqlite_now(element: now_ms, compiler: Any, **options: Any) -> str:
    return "CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)"


@compiles(now_ms, "postgresql")
def _postgresql_now(element: now_ms, compiler: Any, **options: Any) -> str:
    return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"


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
        for attempt in range(_TRIES):
            try:
                with self.engine.connect() as connection:
                    self._begin(connection)
                    value = work(connection)
                    connection.commit()
                    return value
            except DBAPIError as error:
                if not _may_try_again(error) or attempt + 1 == _TRIES:
                    raise LedgerAway(f"the ledger's database could not do it: {_reason(error)}") from error
                time.sleep(_PAUSE)
            except SQLAlchemyError as error:
                raise LedgerAway(f"the ledger's database could not do it: {type(error).__name__}") from error
        raise LedgerAway("the ledger's database stayed locked")

    def read(self, work: Work[T]) -> T:
        """Run the work without changing anything; LedgerAway when the database cannot answer."""
        for attempt in range(_TRIES):
            try:
                with self.engine.connect() as connection:
                    return work(connection)
            except DBAPIError as error:
                if not _may_try_again(error) or attempt + 1 == _TRIES:
                    raise LedgerAway(f"the ledger's database could not answer: {_reason(error)}") from error
                time.sleep(_PAUSE)
            except SQLAlchemyError as error:
                raise LedgerAway(f"the ledger's database could not answer: {type(error).__name__}") from error
        raise LedgerAway("the ledger's database stayed locked")

    def time(self) -> int:
        """Return the database's time."""
        return self.read(lambda connection: int(connection.execute(select(self.now)).scalar_one()))

    def _begin(self, connection: Connection) -> None:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")


def sqlite_engine_options() -> dict[str, Any]:
    """Return what ``create_engine`` needs for a SQLite ledger: no waiting inside C, no transaction of the driver's."""
    return {"connect_args": {"timeout": 0, "isolation_level": None}}


def prepare_sqlite(engine: Engine) -> None:
    """Set WAL, full durability and foreign keys on every connection of a SQLite engine that is ours."""

    @event.listens_for(engine, "connect")
    def _set(connection: Any, record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.close()


def _may_try_again(error: DBAPIError) -> bool:
    original = error.orig
    text = str(original)
    if "database is locked" in text or "database table is locked" in text:
        return True
    code = getattr(original, "sqlstate", None) or (getattr(original, "args", None) or (None,))[0]
    return code in _AGAIN


def _reason(error: DBAPIError) -> str:
    return type(error.orig).__name__
