"""How long a page of the ledger takes with 10,000 rows: ``python -m benchmarks.ledger_page [--rows N] [--uri URI]``.

It prints medians in ms: a bare ``SELECT … LIMIT 50``, the core's own questions, and whole pages as a browser gets
them; then what SQLite says about how it answers.
"""

from __future__ import annotations

import argparse
import json
import random
import secrets
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select

from flask_litro_agent import Actor
from flask_litro_agent.core import search
from flask_litro_agent.core.database import Database
from flask_litro_agent.core.migration import upgrade
from flask_litro_agent.core.proposals import sha256_of
from flask_litro_agent.core.search import Wanted
from flask_litro_agent.core.tables import proposal
from flask_litro_agent.installation import EXTENSION
from tests.databases import open_database
from tests.proposal_site import proposal_site

TIMES = 30
BATCH = 500
CHIEF = Actor("chief", "Chief", frozenset({"litro:admin", "litro:approve", "refunds:edit"}))
#: How many of a hundred rows end in which way.
STATES = (("executed", "ok", 62), ("executed", "failed", 4), ("dismissed", None, 14), ("void", None, 4))
PAGES = {
    "newest": "",
    "an older page": "?after={mark}",
    "one state": "?state=dismissed",
    "expired": "?state=expired",
    "a text": "?q=order+77",
    "a day and a tool": "?from=2026-11-01&to=2026-11-02&tool=refund",
    "a text that is nowhere": "?q=nowhere-to-be-found",
}


def fill(database: Database, count: int) -> None:
    """Write rows as a year of work would have left them."""
    chance, now = random.Random(1), database.time()
    rows = [row(chance, now, number, count) for number in range(count)]
    for start in range(0, count, BATCH):
        part = rows[start : start + BATCH]
        database.write(lambda connection, part=part: connection.execute(insert(proposal), part).close())


def row(chance: random.Random, now: int, number: int, count: int) -> dict[str, Any]:
    states = [(state, outcome) for state, outcome, share in STATES for _ in range(share)]
    state, outcome = (states + [("proposed", None)] * (100 - len(states)))[chance.randrange(100)]
    created_at = now - (count - number) * 3_000_000 - 3_600_000
    is_over = state != "proposed"
    arguments = json.dumps({"order": number, "text": "x" * chance.randrange(400)}).encode()
    preview = json.dumps([{"label": "note", "before": "y" * chance.randrange(2000), "after": ""}]).encode()
    return {
        "id": secrets.token_hex(16),
        "agent": "desk",
        "owner": f"user{number % 40}",
        "tool": chance.choice(("refund", "charge")),
        "mode": "propose",
        "permission": "refunds:edit",
        "proposer": f"user{number % 40}",
        "arguments": arguments,
        "summary": f"refund(order: {number})",
        "preview": preview,
        "contract_digest": "c" * 64,
        "args_digest": sha256_of(number),
        "digest": sha256_of([number]),
        "four_eyes": False,
        "ttl_ms": 300_000,
        "limit_ms": 60_000,
        "created_at": created_at,
        "state": state,
        "claimed_at": created_at + 60_000 if state == "executed" else None,
        "settled_at": created_at + 61_000 if is_over else None,
        "decided_by": "chief" if state in ("executed", "dismissed") else None,
        "note": "not this week" if state == "dismissed" else None,
        "outcome": outcome,
        "reason": "as_of_changed" if state == "void" else None,
        "result": b'{"paid":1}' if outcome == "ok" else None,
    }


def median(work: Callable[[], object]) -> float:
    """Return how many ms the work takes, warm."""
    work()
    times = []
    for _ in range(TIMES):
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def measure(folder: Path, uri: str | None, count: int) -> Iterator[tuple[str, float]]:
    settings = {} if uri is None else {"LITRO_DATABASE_URI": uri}
    if uri is not None:
        upgrade(open_database(uri))
    app = proposal_site(folder, **settings)
    app.extensions["people"]["chief"] = CHIEF
    books = app.extensions[EXTENSION].books
    fill(books.database, count)
    newest = select(proposal).order_by(proposal.c.created_at.desc(), proposal.c.id.desc()).limit(50)
    yield (
        "bare SELECT … LIMIT 50",
        median(lambda: books.database.read(lambda connection: connection.execute(newest).all())),
    )
    yield "ledger.search", median(lambda: books.ledger.search(Wanted()))
    yield "ledger.counts", median(lambda: books.ledger.counts(Wanted()))
    mark, client = books.ledger.search(Wanted(), limit=count // 2)[1], app.test_client()
    for name, query in PAGES.items():
        way = f"/litro/ledger{query.format(mark=mark)}"
        assert client.get(way, headers={"X-Actor": "chief"}).status_code == 200
        yield f"page: {name}", median(lambda way=way: client.get(way, headers={"X-Actor": "chief"}))
    yield (
        "page: usage, 90 days",
        median(lambda: client.get("/litro/usage?days=90", headers={"X-Actor": "chief"})),
    )
    began = time.perf_counter()
    size = len(client.get("/litro/ledger.csv", headers={"X-Actor": "chief"}).data)
    yield f"CSV of all, {size // 1024} KiB", (time.perf_counter() - began) * 1000


def plans(database: Database) -> Iterator[str]:
    """Yield how SQLite goes about the page's questions."""
    newest = select(proposal).order_by(proposal.c.created_at.desc(), proposal.c.id.desc()).limit(50)
    for name, statement in (("newest", newest), ("settled counts", search._count_settled([]))):
        text = statement.compile(database.engine, compile_kwargs={"literal_binds": True})
        rows = database.read(lambda held, text=text: held.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}").all())
        yield f"{name}: {'; '.join(row[3] for row in rows)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--uri", help="a database server's; an embedded file without it")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = list(measure(Path(folder), given.uri, given.rows))
        told = [] if given.uri else list(plans(open_database(f"sqlite:///{folder}/instance/litro/ledger.db")))
    bare = found[0][1]
    print(f"{given.rows} rows; medians of {TIMES}, in ms; how many times the bare SELECT")
    for name, ms in found:
        print(f"{name:32} {ms:9.2f} {ms / bare:8.1f}x")
    print(*told, sep="\n")


if __name__ == "__main__":
    main()
