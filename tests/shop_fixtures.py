"""A shop of its own for each test; ``pytest_plugins = ["tests.shop_fixtures"]`` gives a module these fixtures."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from example_app import create_app, database, orders
from tests.shop_desk import Person


@pytest.fixture(scope="session")
def new_shop(tmp_path_factory) -> Path:
    """The shop's first contents, made once: passwords take their time."""
    path = tmp_path_factory.mktemp("new") / "shop.db"
    database.create(path)
    return path


@pytest.fixture
def app(new_shop, tmp_path, monkeypatch) -> Flask:
    for name in ("LLM_URL", "LLM_MODEL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DEMO_SPEED", "0")
    shutil.copy(new_shop, tmp_path)
    return create_app({"SHOP_DATA": tmp_path, "TESTING": True})


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
