"""``kill -9`` in the middle of appends: nothing that was shown is missing afterwards, and no line is broken."""

import os
import random
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.sessions.folder import Folder
from flask_litro_agent.testing.stores import make_entry

pytestmark = pytest.mark.chaos

KEY = SessionKey("demo", "7", "s1")
ROUNDS = int(os.environ.get("LITRO_CHAOS", "15"))
ROUNDS_A_LOG = 5

CHILD = """
import os, sys
from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.testing.stores import make_entry

root, variant = sys.argv[1:]
key = SessionKey("demo", "7", "s1")
store = FileStore(root)
lease = store.acquire(key, 15, f"turn-{os.getpid()}")
seq = store.last_seq(key)

def show(entries):
    os.write(1, b"".join(b"%d\\n" % entry.seq for entry in entries))

while True:
    kinds = ("message", "text-delta", "text-delta") if seq % 7 == 0 else ("text-delta",)
    group = [make_entry(seq + n, "x" * ((seq * 37) % 5000), kind=kind) for n, kind in enumerate(kinds, 1)]
    if variant == "control":
        show(group)
    store.append(key, group, lease)
    if variant == "real":
        show(group)
    seq += len(group)
"""


def run_and_kill(root, variant, seconds):
    """Start a writer, kill it so long after it has shown its first entry, and return what it has shown."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(root), variant], stdout=subprocess.PIPE, bufsize=0
    )
    try:
        shown = child.stdout.readline()
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            shown += _drain(child.stdout.fileno(), left)
    finally:
        child.kill()
        shown += child.stdout.read()
        child.wait(30)
        child.stdout.close()
    return [int(line) for line in shown.split(b"\n")[:-1]]


def _drain(fd, seconds):
    """Take what the child shows, so that its pipe never fills, for at most that long."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return os.read(fd, 65536) if poll.poll(seconds * 1000) else b""


def missing(root, shown):
    """Return which of the shown entries a reader in a new process does not get; assert that no line is broken."""
    store = FileStore(root)
    found = [entry.seq for entry in store.read(KEY)]
    assert found == list(range(1, len(found) + 1))
    return sorted(set(shown) - set(found))


def whole_lines(root):
    return Path(Folder(root).log(KEY)).read_bytes().rpartition(b"\n")[0].count(b"\n")


def test_nothing_that_was_shown_is_missing_after_kill_9(tmp_path, caplog):
    random_ = random.Random(7)
    for number in range(ROUNDS):
        root = tmp_path / str(number // ROUNDS_A_LOG)
        last = FileStore(root).last_seq(KEY)
        shown = run_and_kill(root, "real", random_.uniform(0, 0.03))
        assert shown[0] == last + 1
        assert missing(root, shown) == []
        assert not FileStore(root).is_leased(KEY), "the kernel has freed the lease"
        assert whole_lines(root) == FileStore(root).last_seq(KEY)
    assert caplog.records == [], "no line was dropped"


def test_showing_before_storing_would_show_what_the_log_lacks(tmp_path):
    """The control: the naive order, killed until it has shown an entry too many."""
    random_ = random.Random(7)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if missing(tmp_path / "s", run_and_kill(tmp_path / "s", "control", random_.uniform(0, 0.01))):
            return
    pytest.fail("the control never showed the violation: this test could not see it")


def test_a_killed_writers_turn_can_be_closed_by_the_next_holder(tmp_path):
    root = tmp_path / "s"
    run_and_kill(root, "real", 0.01)
    store = FileStore(root)
    lease = store.acquire(KEY, 15)
    assert lease.epoch == 2
    end = make_entry(store.last_seq(KEY) + 1, kind="turn-end")
    store.append(KEY, [end], lease)
    assert list(FileStore(root).read(KEY, end.seq - 1)) == [end]
