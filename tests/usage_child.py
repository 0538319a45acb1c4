"""Processes that add to one row of usage at the same time: ``python -m tests.usage_child <uri> <variant> <each>``.

The control reads the row and writes what it has computed.
"""

from __future__ import annotations

import os
import sys

from sqlalchemy import Connection, insert, select, update

from flask_litro_agent.core.database import Database
from flask_litro_agent.core.tables import usage
from flask_litro_agent.core.usage import Usage, Used
from tests.databases import open_database

WORKERS = 3
ROW = {"agent": "desk", "actor": "ann", "model": "m"}
ONE = Used(turns=1, input_tokens=10, output_tokens=1)


def add(database: Database, variant: str) -> None:
    if variant == "real":
        Usage(database).add(ONE, **ROW)
        return
    turns = database.read(lambda connection: connection.execute(select(usage.c.turns)).scalar())
    database.write(lambda connection: put(connection, turns))


def put(connection: Connection, turns: int | None) -> None:
    if turns is None:
        unused = {
            "day": 1,
            "turns": 1,
            "failed": 0,
            "input_tokens": 0,
            "output_tokens": 0,
            "cached_tokens": 0,
        }
        connection.execute(insert(usage).values({**ROW, **unused}))
    else:
        connection.execute(update(usage).values(turns=turns + 1))


def work(uri: str, variant: str, each: int) -> int:
    database = open_database(uri)
    for _ in range(each):
        add(database, variant)
    return 0


def main(uri: str, variant: str, each: int) -> int:
    if variant == "control":
        add(open_database(uri), variant)  # the row is there before anybody reads it
    children = []
    for _ in range(WORKERS):
        child = os.fork()
        if child == 0:
            os._exit(work(uri, variant, each))
        children.append(child)
    return sum(os.waitpid(child, 0)[1] for child in children)


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
