"""A shop as new for each test; ``pytest_plugins = ["tests.shop_fixtures"]`` gives a module these fixtures.

One app serves all tests of a process, because making it takes longer than most of them; what it keeps is put back.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from example_app import create_app, database, orders
from tests.shop_desk import Person
from tests.shop_rows import Shop

_KEPT = ("shop.db", "litro/ledger.db")


@pytest.fixture(scope="session")
def opened_shop(tmp_path_factory) -> tuple[Flask, Path]:
    """The shop, and a folder with what it keeps on its first day."""
    folder, first_day = tmp_path_factory.mktemp("shop"), tmp_path_factory.mktemp("first_day")
    app = _open(folder)
    for name in _KEPT:
        _copy(folder / name, first_day / Path(name).name)
    return app, first_day


@pytest.fixture
def app(opened_shop, monkeypatch) -> Flask:
    shop, first_day = opened_shop
    monkeypatch.setenv("DEMO_SPEED", "0")
    folder = Path(shop.instance_path)
    for name in _KEPT:
        _copy(first_day / Path(name).name, folder / name)
    return shop


@pytest.fixture
def held(app) -> Iterator[sqlite3.Connection]:
    connection = database.open_database(app.config["SHOP_DATABASE"])  # no app context: requests share its g
    yield connection
    connection.close()


@pytest.fixture
def new_order(held) -> int:
    """The number of Anna's newest order, which has not left yet."""
    newest = orders.of_customer(held, 1)[0]
    assert newest.status in ("paid", "packed")
    return newest.number


@pytest.fixture
def olga(app) -> Person:
    return Person(app, "operator")


@pytest.fixture
def otto(app) -> Person:
    return Person(app, "second")


@pytest.fixture(scope="session")
def shop(tmp_path_factory) -> Iterator[Shop]:
    """The rows of a shop as it is at first; nobody writes to it."""
    opened = Shop(_open(tmp_path_factory.mktemp("untouched")))
    yield opened
    opened.held.close()


@pytest.fixture
def own_shop(app) -> Iterator[Shop]:
    """The rows of a shop that a test may write to."""
    opened = Shop(app)
    yield opened
    opened.held.close()


def _open(folder: Path) -> Flask:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("LLM_URL", "LLM_MODEL", "ANTHROPIC_API_KEY"):
            patch.delenv(name, raising=False)
        return create_app({"SHOP_DATA": folder, "TESTING": True})


def _copy(source: Path, target: Path) -> None:
    """Write a database over another one, also while that one is open."""
    with (
        contextlib.closing(sqlite3.connect(source)) as first,
        contextlib.closing(sqlite3.connect(target)) as second,
    ):
        first.backup(second)
