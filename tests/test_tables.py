"""core/tables.py: what the columns keep apart and carry, and what a site's migrations are told to leave alone."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, MetaData, Table, insert, select

from flask_litro_agent.core import tables
from flask_litro_agent.core.database import Database
from flask_litro_agent.core.tables import include_object
from flask_litro_agent.errors import LedgerAway

MEMBER: dict[str, Any] = {"level": "read", "changed_by": "ada", "changed_at": 1}


def put(database: Database, scope: str, **changes: Any) -> None:
    row = {**MEMBER, "scope": scope, **changes}
    database.write(lambda connection: connection.execute(insert(tables.ceiling).values(row)).close())


def get(database: Database, scope: str) -> Any:
    chosen = select(tables.ceiling).where(tables.ceiling.c.scope == scope)
    return database.read(lambda connection: connection.execute(chosen).mappings().one_or_none())


def test_every_table_has_our_prefix() -> None:
    assert all(name.startswith("litro_") for name in (*tables.metadata.tables, tables.VERSION_TABLE))


def test_every_time_is_a_whole_number_of_milliseconds() -> None:
    times = [
        column
        for table in tables.metadata.tables.values()
        for column in table.columns
        if column.name == "at" or column.name.endswith(("_at", "_ms"))
    ]
    assert len(times) > 8
    assert all(isinstance(column.type, BigInteger) for column in times)


@pytest.mark.parametrize(
    ("one", "other"), [("agent:a", "agent:A"), ("agent:e", "agent:é"), ("agent:ß", "agent:ss")]
)
def test_names_that_differ_by_a_byte_are_two(database: Database, one: str, other: str) -> None:
    put(database, one)
    assert get(database, other) is None
    put(database, other)
    assert get(database, one)["scope"] == one


def test_the_same_name_twice_is_refused(database: Database) -> None:
    put(database, "site")
    with pytest.raises(LedgerAway):
        put(database, "site")


@pytest.mark.parametrize(
    "text", ["Zürich", "東京", "🙂👩‍👩‍👧", "e\u0301", "a" * 255, " x ", "50 % \\ '\"; --"]
)
def test_text_comes_back_as_it_was(database: Database, text: str) -> None:
    put(database, "site", changed_by=text)
    assert get(database, "site")["changed_by"] == text


def row(**changes: Any) -> dict[str, Any]:
    """Return a whole proposal with the texts and bytes that a test changes."""
    names = {
        column.name: "x"
        for column in tables.proposal.columns
        if not column.nullable and column.type.python_type is str
    }
    numbers = {"four_eyes": True, "ttl_ms": 1, "limit_ms": 1, "created_at": 2**50}
    return {**names, **numbers, "arguments": b"{}", **changes}


@pytest.fixture(params=["as_of", "note", "summary"])
def column(request: pytest.FixtureRequest) -> str:
    return request.param


def test_a_proposals_texts_hold_any_language(database: Database, column: str) -> None:
    values = row(**{column: "Rückzahlung 東京 🙂 " * 200})
    database.write(lambda connection: connection.execute(insert(tables.proposal).values(values)).close())
    found = database.read(lambda connection: connection.execute(select(tables.proposal)).mappings().one())
    assert (found[column], found["four_eyes"], found["created_at"]) == (values[column], True, 2**50)


def test_the_bytes_of_a_proposal_are_kept_whole(database: Database) -> None:
    data = bytes(range(256)) * 1024
    values = row(arguments=data, preview=data, result=data)
    database.write(lambda connection: connection.execute(insert(tables.proposal).values(values)).close())
    found = database.read(lambda connection: connection.execute(select(tables.proposal)).mappings().one())
    assert [bytes(found[name]) for name in ("arguments", "preview", "result")] == [data] * 3


@pytest.mark.parametrize("key", ["call_key", "open_key", "slot_key", "claim_id"])
def test_a_key_may_stand_in_one_row_and_nothing_in_many(database: Database, key: str) -> None:
    def add(**values: Any) -> None:
        database.write(
            lambda connection: connection.execute(insert(tables.proposal).values(row(**values))).close()
        )

    add(id="1")
    add(id="2")
    add(id="3", **{key: "k"})
    add(id="4", **{key: "K"})
    with pytest.raises(LedgerAway):
        add(id="5", **{key: "k"})


SITE = Table(
    "thing",
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("parent", ForeignKey("thing.id"), index=True),
    Column("litro_note", Integer),
)


def things_of(table: Table) -> list[tuple[Any, str | None, str]]:
    return [
        (table, table.name, "table"),
        *((column, column.name, "column") for column in table.columns),
        *((index, index.name, "index") for index in table.indexes),
        *((unique, unique.name, "unique_constraint") for unique in table.constraints),
        *((key.constraint, None, "foreign_key_constraint") for key in table.foreign_keys),
    ]


@pytest.mark.parametrize("table", tables.metadata.tables.values(), ids=str)
def test_whatever_is_ours_is_left_out_of_a_sites_migrations(table: Table) -> None:
    assert not any(include_object(thing, name, kind, True, None) for thing, name, kind in things_of(table))


def test_whatever_is_the_sites_stays_in_its_migrations() -> None:
    assert all(include_object(thing, name, kind, True, None) for thing, name, kind in things_of(SITE))


def test_alembics_table_of_our_revisions_is_ours() -> None:
    version = Table(tables.VERSION_TABLE, MetaData(), Column("version_num", Integer))
    assert not include_object(version, version.name, "table", True, None)


def test_an_index_without_a_table_is_the_sites() -> None:
    assert include_object(Index("litro_like", Column("x", Integer)), "litro_like", "index", True, None)
