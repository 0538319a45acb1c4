"""A process that runs turns on a session folder, for the tests that kill one: ``python -m tests.turn_child ORDER``,
which ``Child`` starts.

ORDER is a JSON object: ``folder``, ``session``, ``turns`` (a list of lists of rounds), ``lease_seconds``, and

* ``show_first``: the control, which prints each line before it is stored;
* ``die_at`` with ``when`` (``before`` or ``after``): it kills itself around the append with that number.

What a response would send goes to stdout as it comes; each turn's id goes to stderr when it has begun.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.turns.tail import HEARTBEAT
from tests.bench import SOON, Bench

ROOT = Path(__file__).parents[1]


class Child:
    """Another process that runs turns on the same folder."""

    def __init__(self, folder, *turns, session="s1", **order):
        order = {"folder": str(folder), "session": session, "turns": turns, **order}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.turn_child", json.dumps(order)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.turn_id = self.process.stderr.readline().decode().strip()

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.kill()
        self.process.stdout.close()
        self.process.stderr.close()

    def kill(self):
        """``kill -9``, and the whole of what it had shown."""
        self.process.kill()
        self.process.wait(SOON)

    def shown(self):
        return self.process.stdout.read()


class DyingStore(FileStore):
    """A file store in a process that may die around an append, or that shows too early."""

    def __init__(self, order):
        super().__init__(order["folder"], fsync="never")
        self.order, self.appends = order, 0

    def append(self, key, entries, lease):
        self.appends += 1
        if self.order.get("show_first"):
            os.write(1, b"".join(entry.line for entry in entries))
        self.die("before")
        super().append(key, entries, lease)
        self.die("after")

    def die(self, when):
        if self.appends == self.order.get("die_at") and when == self.order["when"]:
            os.kill(os.getpid(), signal.SIGKILL)


def main(order):
    bench = Bench(DyingStore(order), lease_seconds=order.get("lease_seconds", 15.0))
    for rounds in order["turns"]:
        live = bench.start(*rounds, session=order["session"])
        os.write(2, live.turn_id.encode() + b"\n")
        tail = bench.tail(live.key, after=live.first_seq - 1, turn_from=live.first_seq, longest=600)
        for chunk in tail.chunks():
            if chunk != HEARTBEAT and not order.get("show_first"):
                os.write(1, chunk)
        live.wait_closed(600)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
