"""Processes that decide about proposals at the same time, or are killed while they do.

``python -m tests.ledger_child <what> <uri> <folder> <variant> …`` forks its workers, so that they start together and
cost no import. An effect is one line in ``<folder>/effects``, written by one ``write``.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, insert, literal_column, update

from flask_litro_agent.core import database as databases
from flask_litro_agent.core.claims import Claim
from flask_litro_agent.core.database import Database, open_engine
from flask_litro_agent.core.proposals import Proposal, State
from flask_litro_agent.core.tables import epoch, proposal
from tests.ledger_bench import LedgerBench

#: The time as a row of a table, for tests that move it under several processes.
CLOCK_ROW = 9
SHARED_CLOCK = literal_column(f"(SELECT value FROM litro_epoch WHERE id = {CLOCK_ROW})", BigInteger)


def ledger_child(what: str, uri: str, folder: Path, variant: str, *numbers: int) -> subprocess.Popen[bytes]:
    """Start this module as a process, in a group of its own."""
    words = [what, uri, str(folder), variant, *map(str, numbers)]
    command = [sys.executable, "-m", "tests.ledger_child", *words]
    return subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)


def run_ledger_child(*words: Any, seconds: float) -> None:
    """Run it to its end, and leave none of its workers behind when it does not come."""
    with ledger_child(*words) as child:
        try:
            said = child.communicate(timeout=seconds)[1]
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            raise
    assert child.returncode == 0, said.decode()[-3000:]


def work_off(bench: LedgerBench, folder: Path, variant: str, ones: list[Proposal]) -> None:
    """Look at each and approve it, as the gate does; the controls run first, or trust what they read."""
    for one in ones:
        if bench.now(one).state is not State.PROPOSED:
            continue
        if variant == "real":
            approve(bench, folder, one)
        else:
            note(folder, "effects", one)
            if variant == "run first":
                bench.claim(one)
            else:
                set_state(bench.database, one)


def approve(bench: LedgerBench, folder: Path, one: Proposal) -> None:
    claim = bench.claim(one)
    if claim is not None and bench.ledger.start(claim):
        note(folder, "effects", one)
        bench.ledger.settle(claim, outcome="ok")


def set_state(database: Database, one: Proposal) -> None:
    statement = update(proposal).where(proposal.c.id == one.id).values(state=State.DISMISSED.value)
    database.write(lambda connection: connection.execute(statement).close())


def dismiss(bench: LedgerBench, folder: Path, variant: str, one: Proposal) -> None:
    """Dismiss it, as the gate does; the control trusts what it reads."""
    if variant == "real":
        if bench.dismiss(one) is not None:
            note(folder, "dismissals", one)
    elif bench.now(one).state is State.PROPOSED:
        set_state(bench.database, one)
        note(folder, "dismissals", one)


def share_clock(database: Database) -> Database:
    """Return the same database with a time that stands still, for every process alike."""
    row = {"id": CLOCK_ROW, "value": database.time()}
    database.write(lambda connection: connection.execute(insert(epoch), [row]).close())
    return Database(lambda: database.engine, clock=SHARED_CLOCK)


def set_clock(database: Database, ms: int) -> None:
    statement = update(epoch).where(epoch.c.id == CLOCK_ROW).values(value=ms)
    database.write(lambda connection: connection.execute(statement).close())


def note(folder: Path, kind: str, one: Proposal) -> None:
    file = os.open(folder / kind, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{one.id}\n".encode())
    os.close(file)


def race(uri: str, folder: Path, variant: str, processes: int) -> int:
    """Let so many processes work off every proposal; the one half in one order, the other in others."""

    def worker(number: int) -> None:
        bench, ones = opened(uri, clock=SHARED_CLOCK)
        if number % 2:
            random.Random(number).shuffle(ones)
        work_off(bench, folder, variant, ones)

    return together(worker, processes)


def decide(uri: str, folder: Path, variant: str) -> int:
    """Let each open proposal be approved, dismissed and over, all three at one moment, and then the next."""
    moment = multiprocessing.get_context("fork").Barrier(3)

    def worker(number: int) -> None:
        bench, ones = opened(uri, clock=SHARED_CLOCK)
        ones = [one for one in ones if one.state is State.PROPOSED]
        parts: list[Callable[[Proposal], None]] = [
            lambda one: work_off(bench, folder, variant, [one]),
            lambda one: dismiss(bench, folder, variant, one),
            lambda one: set_clock(bench.database, one.expires_at),
        ]
        chance = random.Random()
        for one in sorted(ones, key=lambda one: one.expires_at):
            moment.wait(300)
            time.sleep(chance.uniform(0, 0.01))
            parts[number](one)

    return together(worker, 3)


def together(worker: Callable[[int], None], processes: int) -> int:
    """Fork the workers, let them go at one moment, and return how many of them failed."""
    waiting, go = os.pipe()
    children = [fork(worker, number, waiting, go) for number in range(processes)]
    os.close(waiting)
    os.close(go)
    return sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0 for child in children)


def fork(worker: Callable[[int], None], number: int, waiting: int = -1, go: int = -1) -> int:
    child = os.fork()
    if child:
        return child
    try:
        if go >= 0:
            os.close(go)
            os.read(waiting, 1)  # the end of the pipe: everybody has let go of it
        worker(number)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def chaos(uri: str, folder: Path, variant: str, rounds: int, seed: int) -> int:
    """Kill a worker in each round at a random point of its work, and let the last one come to its end."""

    def worker(number: int) -> None:
        bench = LedgerBench(Database(open_engine(uri)))
        while ones := bench.ledger.find(states=[State.PROPOSED], limit=10)[0]:
            work_off(bench, folder, variant, ones)

    chance = random.Random(seed)
    for number in range(rounds):
        wanted = chance.randrange(3)
        before = effects_in(folder)
        child = fork(worker, number)
        while effects_in(folder) < before + wanted and not has_ended(child):
            time.sleep(0.001)
        time.sleep(chance.uniform(0.0, 0.02 if wanted else 0.4))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return together(worker, 1)


def effects_in(folder: Path) -> int:
    file = folder / "effects"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def has_ended(child: int) -> bool:
    """Whether it has ended by itself; it is not reaped, so that its number stays its own."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def stop(uri: str, folder: Path, variant: str) -> int:
    """Stop between claim and start, and try to run when somebody lets it go on."""
    bench, (one,) = opened(uri, clock=SHARED_CLOCK)
    claim = bench.claim(one)
    assert isinstance(claim, Claim)
    os.kill(os.getpid(), signal.SIGSTOP)
    if bench.ledger.start(claim) or variant == "control":
        note(folder, "effects", one)
    return 0


def opened(uri: str, *, clock: ColumnElement[int] | None = None) -> tuple[LedgerBench, list[Proposal]]:
    bench = LedgerBench(Database(open_engine(uri), clock=clock))
    return bench, bench.ledger.find(limit=10_000)[0]


if __name__ == "__main__":
    databases._PATIENCE = 600.0  # of 64 processes on two cores one may wait for long
    what, uri, folder, variant, *numbers = sys.argv[1:]
    open_engine(uri).dispose()  # imports the driver, once for all workers
    job = {"race": race, "decide": decide, "chaos": chaos, "stop": stop}[what]
    sys.exit(job(uri, Path(folder), variant, *map(int, numbers)))
