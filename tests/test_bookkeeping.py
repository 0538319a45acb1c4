"""bookkeeping.py: which database an app's ledger gets, what does not start, and what the report says of it."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import StaticPool, create_engine, inspect

from flask_litro_agent import Actor, ConfigurationError, LitroAgent, bookkeeping
from flask_litro_agent.core import migration
from flask_litro_agent.core.ceiling import Level
from flask_litro_agent.core.database import Database, open_engine
from flask_litro_agent.errors import BadRequest
from flask_litro_agent.installation import EXTENSION, Installation
from tests.databases import open_database
from tests.small_site import new_app, write_agent, write_tool


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site with one tool that changes something."""
    write_tool(write_agent(tmp_path), "refund", permission="'orders:edit'", mode="PROPOSE")
    return tmp_path


@pytest.fixture
def start(site: Path) -> Callable[..., Installation]:
    """Return ``start(loader=True, engine=None, app=None, **config)`` for the site."""
    started: list[Installation] = []

    def run(
        *, loader: bool = True, engine: Any = None, app: Flask | None = None, **config: Any
    ) -> Installation:
        app = app or new_app(site, **config)
        app.config.update(config)
        identity = SimpleNamespace(
            request_loader=lambda: None, actor_loader=lambda actor_id: Actor(actor_id, "Ada")
        )
        LitroAgent(app, identity=identity if loader else None, engine=engine)
        started.append(app.extensions[EXTENSION])
        return started[-1]

    yield run
    for installed in started:
        if installed.books:
            installed.books.database.engine.dispose()


def fault(start: Callable[..., Installation], **options: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        start(**options)
    (only,) = caught.value.faults
    return only


def section(installed: Installation, title: str) -> list[str]:
    return list(dict(installed.report.sections)[title])


def tables(database: Database) -> set[str]:
    return {name for name in inspect(database.engine).get_table_names() if name.startswith("litro_")}


def test_a_site_whose_tools_only_read_opens_no_database(tmp_path: Path) -> None:
    write_tool(write_agent(tmp_path), "look")
    app = new_app(tmp_path, LITRO_DATABASE_URI="postgresql://nobody@nowhere.invalid/x")

    def never() -> Any:
        raise AssertionError("the engine was asked for")

    LitroAgent(app, engine=never)
    installed = app.extensions[EXTENSION]
    assert installed.books is None
    assert not (tmp_path / "instance" / "litro" / "ledger.db").exists()
    assert section(installed, "ledger") == ["none: no tool changes anything"]


def test_a_site_without_books_still_has_its_ceiling(tmp_path: Path) -> None:
    write_tool(write_agent(tmp_path), "look")
    app = new_app(tmp_path, LITRO_CEILING="off")
    LitroAgent(app)
    assert app.extensions[EXTENSION].gate.tools("demo") == {}


def test_by_default_the_ledger_is_a_file_in_the_instance_folder(
    start: Callable[..., Installation], site: Path
) -> None:
    installed = start()
    path = site / "instance" / "litro" / "ledger.db"
    assert installed.books is not None
    assert migration.revision(installed.books.database) == migration.head()
    assert section(installed, "ledger") == [f"sqlite {path}"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert installed.report.warnings == ()


def test_the_parts_are_the_gates_and_the_ceiling_is_the_settings(start: Callable[..., Installation]) -> None:
    installed = start(LITRO_CEILING="read")
    assert installed.books is not None
    assert installed.books.ceiling.levels().of("demo") is Level.READ
    assert "refund" not in installed.gate.tools("demo")
    installed.books.ceiling.set("site", Level.PROPOSE, by="ada")
    assert "refund" in installed.gate.tools("demo")


def test_an_agents_own_ceiling_narrows_it(start: Callable[..., Installation], site: Path) -> None:
    file = site / "agents" / "demo" / "agent.py"
    file.write_text(file.read_text().replace("model=scripted", "ceiling='read', model=scripted"))
    assert "refund" not in start().gate.tools("demo")


def test_the_report_lists_each_write_tool_with_mode_and_permission(
    start: Callable[..., Installation],
) -> None:
    assert section(start(), "tools") == ["demo.refund: propose, orders:edit"]


@pytest.mark.parametrize("mode", ["PROPOSE", "EXECUTE"])
def test_a_write_tool_without_an_actor_loader_does_not_start(
    start: Callable[..., Installation], site: Path, mode: str
) -> None:
    write_tool(site / "agents" / "demo", "refund", permission="'orders:edit'", mode=mode)
    said = fault(start, loader=False, LITRO_PROTECTED_PERMISSIONS=[])
    assert "register an actor_loader" in said
    assert not (site / "instance" / "litro" / "ledger.db").exists()


def test_an_execute_tool_needs_the_protected_permissions_to_be_said(
    start: Callable[..., Installation], site: Path
) -> None:
    write_tool(site / "agents" / "demo", "publish", permission="'pages:edit'", mode="EXECUTE")
    assert "LITRO_PROTECTED_PERMISSIONS must be set" in fault(start)
    assert start(LITRO_PROTECTED_PERMISSIONS=[]).books is not None


def test_an_execute_tool_on_a_protected_permission_does_not_start(
    start: Callable[..., Installation], site: Path
) -> None:
    write_tool(site / "agents" / "demo", "publish", permission="'pages:edit'", mode="EXECUTE")
    assert "protected" in fault(start, LITRO_PROTECTED_PERMISSIONS=["pages:*"], LITRO_CEILING="off")


def test_a_database_behind_does_not_start_and_names_the_command(
    start: Callable[..., Installation], database_uri: str
) -> None:
    said = fault(start, LITRO_DATABASE_URI=database_uri)
    assert said == (
        "the ledger's database stands at revision none and this release needs 0003: run 'flask litro db upgrade'"
    )


def test_an_upgraded_database_starts_and_is_named_without_its_secret(
    start: Callable[..., Installation], empty_uri: str
) -> None:
    database = open_database(empty_uri)
    migration.upgrade(database)
    installed = start(LITRO_DATABASE_URI=empty_uri)
    assert installed.books is not None
    assert installed.books.ceiling.levels().epoch == 0
    assert section(installed, "ledger")[0].startswith(database.engine.url.get_backend_name())
    database.engine.dispose()


def test_start_up_leaves_no_connection_for_a_forked_child(
    start: Callable[..., Installation], empty_uri: str
) -> None:
    database = open_database(empty_uri)
    migration.upgrade(database)
    database.engine.dispose()
    installed = start(LITRO_DATABASE_URI=empty_uri)
    assert installed.books is not None
    assert installed.books.database.engine.pool.checkedin() == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "uri", ["postgresql://u:hunter2@127.0.0.1:1/x", "mysql://u:hunter2@127.0.0.1:1/x"], ids=["pg", "my"]
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_a_server_that_is_away_at_the_start_is_a_warning(
    start: Callable[..., Installation], uri: str
) -> None:
    """A site whose database restarts goes on without its agents' changes."""
    installed = start(LITRO_DATABASE_URI=uri)
    (warning,) = installed.report.warnings
    assert warning.startswith("the ledger's database does not answer")
    assert "hunter2" not in str(installed.report)
    assert "hunter2" not in repr(installed)


def test_a_command_may_load_an_app_whose_database_is_behind(
    start: Callable[..., Installation], tmp_path: Path
) -> None:
    with click.Context(click.Group("flask"), info_name="flask"):
        installed = start(LITRO_DATABASE_URI=f"sqlite:///{tmp_path / 'x.db'}")
    (warning,) = installed.report.warnings
    assert "flask litro db upgrade" in warning


def test_flask_run_serves_nobody_from_a_database_that_is_behind(
    start: Callable[..., Installation], tmp_path: Path
) -> None:
    with click.Context(click.Command("run"), info_name="run"):
        assert "db upgrade" in fault(start, LITRO_DATABASE_URI=f"sqlite:///{tmp_path / 'x.db'}")


def test_a_relative_sqlite_file_stands_in_the_instance_folder(
    start: Callable[..., Installation], site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with click.Context(click.Group("flask"), info_name="flask"):
        installed = start(LITRO_DATABASE_URI="sqlite:///books/x.db")
    assert installed.books is not None
    assert installed.books.database.engine.url.database == str(site / "instance" / "books" / "x.db")


def test_a_uri_that_is_none_is_one_sentence(start: Callable[..., Installation]) -> None:
    assert fault(start, LITRO_DATABASE_URI="hunter2").startswith("LITRO_DATABASE_URI is no URI")


def test_an_engine_wins_over_the_uri(start: Callable[..., Installation], tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'mine.db'}")
    migration.upgrade(Database(engine))
    installed = start(engine=engine, LITRO_DATABASE_URI="postgresql://nobody@nowhere.invalid/x")
    assert installed.books is not None
    assert installed.books.database.engine is engine


def test_a_flask_sqlalchemy_site_passes_its_engine(start: Callable[..., Installation], site: Path) -> None:
    """Also from a thread without an app context, as a claimant's beat is."""
    app = new_app(site, SQLALCHEMY_DATABASE_URI="sqlite:///site.db")
    db = SQLAlchemy(app)
    with app.app_context():
        migration.upgrade(Database(db.engine))
    installed = start(app=app, engine=lambda: db.engine)
    assert installed.books is not None
    assert installed.books.ceiling.levels().site is Level.PROPOSE
    with app.app_context():
        assert installed.books.database.engine is db.engine
        assert "litro_proposal" in tables(Database(db.engine))


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        (
            lambda: 1 / 0,
            "engine= raised ZeroDivisionError: division by zero; set the site's database up before",
        ),
        (lambda: "sqlite://", "engine= takes an SQLAlchemy Engine or a function that returns one, not str"),
        ("sqlite://", "engine= takes an SQLAlchemy Engine or a function that returns one, not str"),
        (create_engine("sqlite://"), "cannot use a database in memory"),
        (create_engine("sqlite:///x.db", poolclass=StaticPool), "cannot use a StaticPool"),
    ],
)
def test_an_engine_that_cannot_be_is_one_sentence(
    start: Callable[..., Installation], engine: Any, said: str
) -> None:
    assert said in fault(start, engine=engine)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"LITRO_DATABASE_URI": "sqlite:////srv/x.db"},
        {"engine": create_engine("sqlite:////srv/x.db")},
    ],
    ids=["default", "uri", "engine"],
)
def test_sqlite_on_a_network_file_system_is_refused(
    start: Callable[..., Installation], monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.setattr(bookkeeping, "network_filesystem", lambda path: "nfs4")
    assert "is on a network file system (nfs4)" in fault(start, **options)


def test_a_place_that_is_a_folder_is_one_sentence(start: Callable[..., Installation], site: Path) -> None:
    (site / "instance" / "litro" / "ledger.db").mkdir(parents=True)
    assert "the ledger cannot stand at" in fault(start)


def test_what_is_no_database_is_one_sentence(start: Callable[..., Installation], site: Path) -> None:
    path = site / "instance" / "litro" / "ledger.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not a database, but long enough to be looked at" * 100)
    assert "the ledger's tables could not be made: file is not a database" in fault(start)


def test_the_scopes_of_the_ceiling_are_the_agents_and_tools(start: Callable[..., Installation]) -> None:
    books = start().books
    assert books is not None
    for scope in ("site", "agent:demo", "tool:demo.refund"):
        books.ceiling.set(scope, Level.READ, by="ada")
    with pytest.raises(BadRequest, match="no scope named"):
        books.ceiling.set("tool:demo.other", Level.READ, by="ada")
