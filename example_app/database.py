"""The shop's SQLite database: one connection an app context, and the file itself with its first contents.

A tool of an agent runs in an app context of its own, a view in its request's: both say ``connection()``.
"""

from __future__ import annotations

import sqlite3
import zlib
from datetime import date
from pathlib import Path

from flask import Flask, current_app, g

from example_app import data_folder, seed

__all__ = ["connection", "create", "init_app", "open_database"]

_SCHEMA = Path(__file__).with_name("schema.sql")


def init_app(app: Flask) -> None:
    """Make the database when the data folder has none; raise RuntimeError for one of another version."""
    path = data_folder.make_once(Path(app.instance_path) / "shop.db", create)
    app.config["SHOP_DATABASE"] = path
    _check_version(path)
    app.teardown_appcontext(_close)


def connection() -> sqlite3.Connection:
    """Return this app context's connection; it is closed when the context ends."""
    if "shop_connection" not in g:
        g.shop_connection = open_database(current_app.config["SHOP_DATABASE"])
    held: sqlite3.Connection = g.shop_connection
    return held


def create(path: Path, today: date | None = None) -> None:
    """Write a whole new database with the shop's goods and a year of orders up to ``today``."""
    database = open_database(path)
    try:
        database.executescript(_SCHEMA.read_text("utf-8"))
        with database:
            seed.fill(database, today or date.today())
        database.execute(f"PRAGMA user_version = {_version()}")
    finally:
        database.close()


def open_database(path: Path) -> sqlite3.Connection:
    """Open the file: rows answer by column name, and foreign keys hold."""
    database = sqlite3.connect(path)
    database.row_factory = sqlite3.Row
    database.execute("PRAGMA foreign_keys = ON")
    return database


def _check_version(path: Path) -> None:
    database = open_database(path)
    try:
        found = database.execute("PRAGMA user_version").fetchone()[0]
    finally:
        database.close()
    if found != _version():
        raise RuntimeError(
            f"{path} was made by another version of the shop: move it away, and a new one is made"
        )


def _version() -> int:
    """Return a number that is another one as soon as a table is: nobody has to remember to count it up."""
    return zlib.crc32(_SCHEMA.read_bytes()) >> 1


def _close(error: BaseException | None) -> None:
    held = g.pop("shop_connection", None)
    if held is not None:
        held.close()
