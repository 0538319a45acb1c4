"""The ledger's schema and its revisions: where a database stands, and how it comes up to date.

A server's database is upgraded by ``flask litro db upgrade`` alone; the embedded file by whoever opens it first.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, func, select
from sqlalchemy.exc import DBAPIError

from flask_litro_agent.core.database import Database
from flask_litro_agent.core.tables import VERSION_TABLE
from flask_litro_agent.errors import ConfigurationError, LedgerAway

__all__ = ["fault", "head", "open_embedded", "revision", "upgrade"]

_REVISIONS: Final = Path(__file__).parent / "migrations"
_NAME: Final = "litro_upgrade"
_NUMBER: Final = 0x6C6974726F  # the name of the lock where locks have numbers
_SECONDS: Final = 60


def head() -> str:
    """Return the revision that this release needs."""
    return str(ScriptDirectory.from_config(_config()).get_current_head())


def revision(database: Database) -> str | None:
    """Return the revision at which the database stands, None when it has no tables of ours; LedgerAway."""
    return database.read(_revision)


def fault(database: Database) -> str | None:
    """Return what is wrong with the database's schema as a sentence, None when it is this release's; LedgerAway."""
    stands, needed = revision(database), head()
    if stands == needed:
        return None
    if stands is not None and not _is_known(stands):
        return _ahead(stands, needed)
    return (
        f"the ledger's database stands at revision {stands or 'none'} and this release needs {needed}: "
        "run 'flask litro db upgrade'"
    )


def upgrade(database: Database) -> str:
    """Bring the database to this release's revision, however many try at once; ConfigurationError when it will not."""
    try:
        database.write(_upgrade)
    except LedgerAway as error:
        raise ConfigurationError(f"the ledger's tables could not be made: {_cause(error)}") from error
    return head()


def open_embedded(path: Path) -> Database:
    """Return the database in a file of this machine, made and upgraded; ConfigurationError when it cannot be."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(path.with_suffix(".lock")):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            database = Database.opened(f"sqlite:///{path}")
            upgrade(database)
    except OSError as error:
        raise ConfigurationError(f"the ledger cannot stand at {path}: {error.strerror or error}") from error
    # a process that forks after its start must not hand a connection on
    database.engine.dispose()
    return database


def _upgrade(connection: Connection) -> None:
    with _alone(connection):
        stands = _revision(connection)
        if stands is not None and not _is_known(stands):
            raise ConfigurationError(_ahead(stands, head()))
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _revision(connection: Connection) -> str | None:
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return context.get_current_revision()


def _is_known(name: str) -> bool:
    try:
        return ScriptDirectory.from_config(_config()).get_revision(name) is not None
    except CommandError:
        return False


def _ahead(stands: str, needed: str) -> str:
    return (
        f"the ledger's database stands at revision {stands}, which this release does not know (it needs {needed}): "
        "install the release that upgraded it"
    )


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_REVISIONS).replace("%", "%%"))
    return config


@contextmanager
def _alone(connection: Connection) -> Iterator[None]:
    """Hold the server's own lock, so that two upgrades follow each other; SQLite's transaction is one already."""
    match connection.dialect.name:
        case "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(_NUMBER)))
            yield
        case "mysql" | "mariadb":
            if connection.execute(select(func.get_lock(_NAME, _SECONDS))).scalar_one() != 1:
                raise ConfigurationError("another upgrade of the ledger's database is under way")
            try:
                yield
            finally:
                connection.execute(select(func.release_lock(_NAME)))
        case _:
            yield


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _cause(error: LedgerAway) -> str:
    cause = error.__cause__
    return str(cause.orig if isinstance(cause, DBAPIError) else cause)
