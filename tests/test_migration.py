"""core/migration.py: the schema's revisions, upgraded by many at once, and a site's own migrations beside ours."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Column, Connection, Engine, Integer, Table, inspect, select, text, update

from flask_litro_agent.core import migration, tables
from flask_litro_agent.core.database import Database
from flask_litro_agent.errors import ConfigurationError
from tests.databases import open_database

ROOT = Path(__file__).parent.parent
SERVERS = pytest.mark.parametrize("empty_uri", ["postgresql", "mariadb"], indirect=True)


@pytest.fixture
def empty(empty_uri: str) -> Database:
    database = open_database(empty_uri)
    yield database
    database.engine.dispose()


def ours(engine: Engine) -> set[str]:
    return {name for name in inspect(engine).get_table_names() if name.startswith(tables.PREFIX)}


def differences(database: Database, metadata: Any) -> list[Any]:
    """Return what Alembic would change in our tables to reach the models."""

    def is_ours(item: Any, name: str, kind: str, reflected: bool, other: Any) -> bool:
        return name != tables.VERSION_TABLE

    def work(connection: Connection) -> list[Any]:
        options = {"compare_type": True, "compare_server_default": True, "include_object": is_ours}
        return list(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))

    return database.read(work)


def definition(engine: Engine) -> dict[str, Any]:
    """Return how each of our tables is defined, in the database's own words where it has them."""
    there = inspect(engine)
    names = sorted(ours(engine) - {tables.VERSION_TABLE})
    if engine.dialect.name == "mysql":
        with engine.connect() as connection:
            shown = {name: connection.execute(text(f"SHOW CREATE TABLE {name}")).one()[1] for name in names}
        return {name: sorted(words.replace(",\n", "\n").split("\n")) for name, words in shown.items()}
    return {
        name: (
            [str(column) for column in there.get_columns(name)],
            there.get_pk_constraint(name)["constrained_columns"],
            sorted(str(index) for index in there.get_indexes(name)),
            sorted(str(unique["column_names"]) for unique in there.get_unique_constraints(name)),
        )
        for name in names
    }


def test_a_new_database_is_made_and_stands_at_the_head(empty: Database) -> None:
    assert migration.revision(empty) is None
    assert migration.upgrade(empty) == migration.head() == migration.revision(empty) == "0003"
    assert migration.fault(empty) is None
    assert ours(empty.engine) == {table.name for table in tables.metadata.tables.values()} | {
        tables.VERSION_TABLE
    }


def test_the_two_rows_that_transactions_lock_are_there(empty: Database) -> None:
    migration.upgrade(empty)
    rows = empty.read(lambda connection: connection.execute(select(tables.epoch)).all())
    assert sorted(map(tuple, rows)) == [(tables.POLICY, 0), (tables.AUDIT, 0)]


def test_a_second_upgrade_changes_nothing(empty: Database) -> None:
    migration.upgrade(empty)
    empty.write(lambda connection: connection.execute(update(tables.epoch).values(value=7)).close())
    migration.upgrade(empty)
    values = empty.read(lambda connection: connection.execute(select(tables.epoch.c.value)).scalars().all())
    assert list(values) == [7, 7]


def test_the_models_and_the_revisions_agree(empty: Database) -> None:
    migration.upgrade(empty)
    assert differences(empty, tables.metadata) == []


def test_control_a_model_that_went_on_alone_is_seen(empty: Database) -> None:
    migration.upgrade(empty)
    changed = tables.MetaData()
    for table in tables.metadata.tables.values():
        table.to_metadata(changed)
    Table("litro_claimant", changed, Column("mood", Integer), extend_existing=True)
    ((kind, *_, column),) = differences(empty, changed)
    assert (kind, column.name) == ("add_column", "mood")


def test_the_revisions_make_exactly_what_the_models_make(empty: Database) -> None:
    tables.metadata.create_all(empty.engine)
    by_models = definition(empty.engine)
    tables.metadata.drop_all(empty.engine)
    migration.upgrade(empty)
    assert definition(empty.engine) == by_models
    assert len(by_models) == len(tables.metadata.tables)


def test_a_downgrade_leaves_no_table_behind(empty: Database) -> None:
    migration.upgrade(empty)

    def work(connection: Connection) -> None:
        config = migration._config()
        config.attributes["connection"] = connection
        command.downgrade(config, "base")

    empty.write(work)
    assert ours(empty.engine) == {tables.VERSION_TABLE}


def test_a_newer_database_is_left_alone(empty: Database) -> None:
    migration.upgrade(empty)
    newer = text(f"UPDATE {tables.VERSION_TABLE} SET version_num = '9999'")
    empty.write(lambda connection: connection.execute(newer).close())
    assert "revision 9999, which this release does not know" in str(migration.fault(empty))
    with pytest.raises(ConfigurationError, match="install the release that upgraded it"):
        migration.upgrade(empty)
    assert migration.revision(empty) == "9999"


def test_an_upgrade_that_fails_leaves_sqlite_as_it_was(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'x.db'}")
    database.write(lambda connection: connection.execute(text("CREATE TABLE litro_refusal (id INT)")).close())
    with pytest.raises(ConfigurationError, match="table litro_refusal already exists"):
        migration.upgrade(database)
    assert ours(database.engine) == {"litro_refusal"}
    database.engine.dispose()


def test_an_embedded_database_is_made_with_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "100%" / "ledger.db"
    database = migration.open_embedded(path)
    assert migration.fault(database) is None
    database.engine.dispose()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_an_upgrade_of_a_server_that_is_away_says_what_the_driver_says() -> None:
    database = open_database("postgresql://litro:hunter2@127.0.0.1:1/x")
    with pytest.raises(ConfigurationError, match=r"127\.0\.0\.1") as caught:
        migration.upgrade(database)
    assert "hunter2" not in str(caught.value)


EMBEDDED = "migration.open_embedded(Path(where))"
SERVER = "migration.upgrade(open_database(where))"
NAIVE = """
engine = create_engine(f"sqlite:///{where}")
with engine.connect() as connection:
    config = migration._config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    connection.commit()
"""
AT_ONCE = """
import os, sys, traceback
from pathlib import Path
from alembic import command
from sqlalchemy import create_engine
from flask_litro_agent.core import migration
from tests.databases import open_database

where, start = sys.argv[1:]
shot, starter = os.pipe()
children = []
for _ in range(6):
    children.append(os.fork())
    if children[-1] == 0:
        os.close(starter)
        os.read(shot, 1)
        try:
            exec(start)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
os.close(starter)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
sys.exit(sum(codes))
"""


def at_once(start: str, where: str) -> int:
    """Run the start in six processes, from one shot on; return how many of them failed."""
    command_line = [sys.executable, "-c", AT_ONCE, where, start]
    ran = subprocess.run(command_line, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ran.returncode >= 0
    return ran.returncode


def test_many_may_open_a_new_embedded_database_at_once(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    assert at_once(EMBEDDED, str(path)) == 0
    database = open_database(f"sqlite:///{path}")
    assert migration.fault(database) is None
    assert len(database.read(lambda connection: connection.execute(select(tables.epoch)).all())) == 2
    database.engine.dispose()


def test_control_without_the_locks_simultaneous_starts_break(tmp_path: Path) -> None:
    broken = any(at_once(NAIVE, str(tmp_path / f"{turn}.db")) for turn in range(10))
    assert broken


@SERVERS
def test_many_may_upgrade_a_server_at_once(empty: Database, empty_uri: str) -> None:
    assert at_once(SERVER, empty_uri) == 0
    assert migration.fault(empty) is None
    assert len(empty.read(lambda connection: connection.execute(select(tables.epoch)).all())) == 2


SITE = """
import sys
from flask import Flask
from flask_migrate import Migrate, init, migrate
from flask_sqlalchemy import SQLAlchemy
from flask_litro_agent.core.database import Database
from flask_litro_agent.core.migration import upgrade
from flask_litro_agent.core.tables import include_object, metadata

folder, uri, keeps_away = sys.argv[1:]
app = Flask("site", instance_path=folder)
app.config["SQLALCHEMY_DATABASE_URI"] = uri
db = SQLAlchemy(app)

class Thing(db.Model):
    id = db.Column(db.Integer, primary_key=True)
    name = db.Column(db.String(20), index=True)

options = {"include_object": include_object} if keeps_away == "yes" else {}
Migrate(app, db, directory=folder + "/migrations", **options)
with app.app_context():
    upgrade(Database(lambda: db.engine))
    init()
    migrate(message="first")
"""


@pytest.fixture
def autogenerated(tmp_path: Path, empty: Database) -> Callable[..., str]:
    """Return ``run(include_object=...)``: the revision that a Flask-Migrate site beside us generates."""

    def run(*, include_object: bool) -> str:
        uri = empty.engine.url.render_as_string(hide_password=False)
        arguments = [str(tmp_path), uri, "yes" if include_object else "no"]
        ran = subprocess.run(
            [sys.executable, "-c", SITE, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120
        )
        assert ran.returncode == 0, ran.stderr
        (file,) = (tmp_path / "migrations" / "versions").glob("*.py")
        return file.read_text()

    return run


def test_a_sites_own_migrations_keep_away_from_our_tables(autogenerated: Callable[..., str]) -> None:
    revision = autogenerated(include_object=True)
    assert "op.create_table('thing'" in revision
    assert "litro" not in revision


@pytest.mark.parametrize("empty_uri", ["sqlite"], indirect=True)
def test_control_without_our_filter_a_site_would_drop_our_tables(autogenerated: Callable[..., str]) -> None:
    revision = autogenerated(include_object=False)
    assert re.search(r"op.drop_table\('litro_proposal'\)", revision)
