"""Processes that carry messages at once: ``python -m tests.delivery_child <uri> <folder> <variant> <workers>``.

A message that is carried is one line in ``<folder>/sent``. The control reads what is due and writes afterwards.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from sqlalchemy import select

from flask_litro_agent.core.deliveries import Deliveries
from flask_litro_agent.core.tables import delivery
from tests.databases import open_database
from tests.ledger_child import together


def carry(uri: str, folder: Path, variant: str) -> None:
    database = open_database(uri)
    deliveries = Deliveries(database)
    if variant == "control":
        due = select(delivery.c.id).where(delivery.c.due_at.is_not(None))
        for found in database.read(lambda connection: connection.execute(due).scalars().all()):
            note(folder, found)
        return
    while taken := deliveries.take(for_ms=60_000):
        note(folder, taken.id)
        deliveries.close(taken)


def note(folder: Path, message_id: str) -> None:
    file = os.open(folder / "sent", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{message_id}\n".encode())
    os.close(file)
    time.sleep(0.001)


if __name__ == "__main__":
    uri, folder, variant, workers = sys.argv[1:]
    sys.exit(together(lambda number: carry(uri, Path(folder), variant), int(workers)))
