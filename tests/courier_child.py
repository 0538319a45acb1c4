"""A process of a site with a webhook: ``python -m tests.courier_child <what> <folder> <url>``.

It proposes through the gate, as a site's own code does, and prints what it proposed. ``record`` and ``hold`` are
killed from outside: the first has no thread that sends, the second waits for its receiver. ``end`` ends by itself.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from flask import Flask

from flask_litro_agent.core.outcome import CallSite
from tests.bench import until
from tests.proposal_site import EVE, proposal_site
from tests.receivers import SECRET


def site(folder: Path, url: str, **config: object) -> Flask:
    return proposal_site(
        folder,
        LITRO_WEBHOOK_URL=url,
        LITRO_WEBHOOK_SECRET=SECRET,
        LITRO_EXTERNAL_URL="https://shop.example",
        LITRO_MAX_OPEN=100,
        **config,
    )


def propose(app: Flask, order: int) -> str:
    """Propose a refund in a session of its own; return the proposal's id."""
    gate = app.extensions["litro_agent"].gate
    site_of_call = CallSite(session_id="code", turn_id="t1", call_id=f"c{order}")
    outcome = gate.call("desk", "refund", {"order": order}, actor=EVE, origin="code", site=site_of_call)
    return str(outcome.proposal.id)


def main(what: str, folder: Path, url: str) -> None:
    app = site(folder, url)
    match what:
        case "record":
            app.testing = True  # no thread: this process dies before it could send
            print(propose(app, 1), flush=True)
            threading.Event().wait()
        case "hold":
            print(propose(app, 1), flush=True)
            threading.Event().wait()
        case "end":
            print(propose(app, 1), flush=True)
        case "forks":
            in_fork(app)
        case "two":
            app.test_client().get("/")  # its thread carries what others leave behind
            print("ready", flush=True)
            sys.stdin.readline()
            for order in range(2, 22):
                propose(app, int(f"{os.getpid()}{order:02}"))
            sys.stdin.readline()


def in_fork(app: Flask) -> None:
    """Propose in a child of a process that has its thread already."""
    propose(app, 1)
    wait_until_sent(app)
    child = os.fork()
    if child == 0:
        propose(app, 2)
        wait_until_sent(app)
        os._exit(0)
    os.waitpid(child, 0)


def wait_until_sent(app: Flask) -> None:
    """Wait until nothing waits, and the thread sleeps: who forks in the middle of SQLite takes its locks along."""
    until(lambda: app.extensions["litro_agent"].books.deliveries.due_in() is None)
    time.sleep(0.2)


if __name__ == "__main__":
    what, folder, url = sys.argv[1:]
    main(what, Path(folder), url)
