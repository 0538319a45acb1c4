"""The file store on a disk that fails. Every fault has a control: the naive way, which shows the violation."""

import contextlib
import errno
import itertools
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.errors import LeaseLost, StoreError
from flask_litro_agent.sessions.disk import Disk
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.sessions.folder import Folder
from flask_litro_agent.testing.stores import make_entries, make_entry

KEY = SessionKey("demo", "7", "s1")


def log_path(root):
    return Path(Folder(root).log(KEY))


def write(store, entries):
    lease = store.acquire(KEY, 15)
    try:
        store.append(KEY, entries, lease)
    finally:
        store.release(lease)


ENTRIES = [
    make_entry(1, kind="turn-start"),
    make_entry(2, "héllo\n", kind="message", private=b'{"by":"7"}'),
    make_entry(3, "日本"),
    make_entry(4, '"\\'),
    make_entry(5, kind="turn-end"),
]


@pytest.fixture
def whole(tmp_path):
    """Return the bytes of a log with five entries, and the folder that it stands in."""
    root = tmp_path / "sessions"
    write(FileStore(root), ENTRIES)
    return root, log_path(root).read_bytes()


def violations(root, data, append):
    """Cut the log at every byte; return the offsets at which reading, appending, reading went wrong."""
    wrong = []
    for cut in range(len(data) + 1):
        log_path(root).write_bytes(data[:cut])
        kept = ENTRIES[: max(data[:cut].count(b"\n") - 1, 0)]
        if not goes_on(root, kept, append):
            wrong.append(cut)
    return wrong


def goes_on(root, kept, append):
    """Whether the kept entries are read, one more can be appended, and all are read."""
    store, fresh = FileStore(root), make_entry(len(kept) + 1, "fresh")
    try:
        before = list(store.read(KEY)), store.last_seq(KEY)
        append(store, fresh)
        after = list(FileStore(root).read(KEY)), list(store.read(KEY)), store.last_seq(KEY)
    except StoreError:
        return False
    return before == (kept, len(kept)) and after == ([*kept, fresh], [*kept, fresh], len(kept) + 1)


def test_a_log_cut_at_any_byte_is_read_and_goes_on(whole):
    root, data = whole
    assert violations(root, data, lambda store, entry: write(store, [entry])) == []


def test_appending_without_cutting_would_lose_entries(whole):
    root, data = whole

    def naive(store, entry):
        with log_path(root).open("ab") as file:
            file.write(entry.line)

    assert len(violations(root, data, naive)) > len(data) // 2


def test_a_torn_end_is_cut_from_the_file_before_the_next_append(whole):
    root, data = whole
    log_path(root).write_bytes(data[:-5])
    write(FileStore(root), [ENTRIES[-1]])
    assert log_path(root).read_bytes() == data


class FaultyDisk(Disk):
    """A disk whose n-th call of one kind fails; ``takes`` bytes arrive all the same."""

    def __init__(self, *, fails=(), error=errno.ENOSPC, takes=0, cut_fails=0, flush_fails=()):
        self.fails, self.error, self.takes = frozenset(fails), error, takes
        self.cut_fails, self.flush_fails = cut_fails, frozenset(flush_fails)
        self.writes = self.cuts = self.flushes = 0

    def write(self, fd, data):
        self.writes += 1
        if self.writes not in self.fails:
            return super().write(fd, data)
        taken = super().write(fd, data[: self.takes]) if self.takes else 0
        if self.error:
            raise OSError(self.error, os.strerror(self.error))
        return taken

    def truncate(self, fd, size):
        self.cuts += 1
        if self.cuts <= self.cut_fails:
            raise OSError(errno.EIO, "the cut failed")
        super().truncate(fd, size)

    def flush(self, fd):
        self.flushes += 1
        if self.flushes in self.flush_fails:
            raise OSError(errno.EIO, "the flush failed")
        super().flush(fd)


class BlindDisk(FaultyDisk):
    """The control: a disk whose caller believes that every write was whole."""

    def write(self, fd, data):
        super().write(fd, data)
        return len(data)


GROUPS = 8


def write_groups(store, lease):
    """Append groups of three as a turn would, reading ``last_seq`` anew after a failure.

    Returns the entries whose append returned, and how many appends failed.
    """
    stored, failures = [], 0
    for _ in range(GROUPS):
        group = make_entries(3, first=store.last_seq(KEY) + 1)
        try:
            store.append(KEY, group, lease)
        except StoreError:
            failures += 1
        else:
            stored += group
    return stored, failures


def check(root, stored):
    """Assert that a new reader gets a log without a gap, with everything that was acknowledged."""
    fresh = FileStore(root)
    found = list(fresh.read(KEY))
    assert found == make_entries(len(found))
    assert set(stored) <= set(found)
    assert fresh.last_seq(KEY) == len(found)
    return found


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO], ids=["ENOSPC", "EIO"])
@pytest.mark.parametrize("takes", [0, 1, 150])
@pytest.mark.parametrize("number", range(1, GROUPS + 1))
def test_a_write_that_fails_costs_its_group_alone(tmp_path, number, takes, error):
    store = FileStore(tmp_path / "s", disk=FaultyDisk(fails=[number], error=error, takes=takes))
    lease = store.acquire(KEY, 15)
    stored, failures = write_groups(store, lease)
    assert failures == 1
    assert len(stored) == 3 * (GROUPS - 1)
    found = check(tmp_path / "s", stored)
    assert log_path(tmp_path / "s").read_bytes().count(b"\n") == len(found) + 1, "nothing torn stayed"


@pytest.mark.parametrize("cut_fails", [0, 1, 2])
def test_a_write_cut_short_at_any_byte_leaves_whole_lines(tmp_path, cut_fails):
    length = len(b"".join(entry.line for entry in make_entries(3, first=4)))
    for takes in range(length):
        root = tmp_path / str(takes)
        store = FileStore(root, disk=FaultyDisk(fails=[2], error=0, takes=takes, cut_fails=cut_fails))
        lease = store.acquire(KEY, 15)
        stored, failures = write_groups(store, lease)
        assert failures >= 1
        found = check(root, stored)
        assert log_path(root).read_bytes().count(b"\n") == len(found) + 1, "nothing torn stayed"


def test_a_store_that_believes_a_short_write_would_lose_entries(tmp_path):
    store = FileStore(tmp_path / "s", disk=BlindDisk(fails=[GROUPS], error=0, takes=10))
    stored, failures = write_groups(store, store.acquire(KEY, 15))
    assert failures == 0
    with pytest.raises(AssertionError):
        check(tmp_path / "s", stored)


def test_whole_lines_of_a_short_write_stand(tmp_path):
    takes = len(b"".join(entry.line for entry in make_entries(2, first=4))) + 7
    store = FileStore(tmp_path / "s", disk=FaultyDisk(fails=[2], error=0, takes=takes))
    lease = store.acquire(KEY, 15)
    store.append(KEY, make_entries(3), lease)
    with pytest.raises(StoreError, match="the disk took"):
        store.append(KEY, make_entries(3, first=4), lease)
    assert list(store.read(KEY)) == make_entries(5)
    with pytest.raises(StoreError, match="the next entry is 6"):
        store.append(KEY, make_entries(3, first=4), lease)


def test_while_a_torn_end_cannot_be_cut_nothing_is_written(tmp_path):
    disk = FaultyDisk(fails=[2], error=0, takes=20, cut_fails=3)
    store = FileStore(tmp_path / "s", disk=disk)
    lease = store.acquire(KEY, 15)
    store.append(KEY, make_entries(1), lease)
    for _ in range(3):
        with pytest.raises(StoreError):
            store.append(KEY, [make_entry(2)], lease)
    assert disk.writes == 2, "the write that was cut short was the last"
    store.append(KEY, [make_entry(2)], lease)
    assert check(tmp_path / "s", make_entries(2)) == make_entries(2)


def test_a_header_cut_short_at_any_byte_is_written_again(tmp_path):
    write(FileStore(tmp_path / "whole"), make_entries(1))
    header = log_path(tmp_path / "whole").read_bytes().index(b"\n") + 1
    for takes in range(header + 1):
        root = tmp_path / str(takes)
        store = FileStore(root, disk=FaultyDisk(fails=[1], error=0, takes=takes))
        lease = store.acquire(KEY, 15)
        with pytest.raises(StoreError):
            store.append(KEY, make_entries(1), lease)
        assert FileStore(root).list("7") == ([], None)
        store.append(KEY, make_entries(1), lease)
        assert check(root, make_entries(1)) == make_entries(1)


@pytest.mark.parametrize(
    "fault", [{"fails": [2]}, {"fails": [2], "error": 0, "takes": 9}, {"flush_fails": [3]}]
)
def test_a_deletion_that_fails_leaves_the_log(tmp_path, fault):
    store = FileStore(tmp_path / "s", fsync="never", disk=FaultyDisk(**fault))
    lease = store.acquire(KEY, 15)
    store.append(KEY, make_entries(3), lease)
    if "flush_fails" in fault:
        store._disk.flushes = 2
    with pytest.raises(StoreError):
        store.delete(KEY, lease)
    assert list(FileStore(tmp_path / "s").read(KEY)) == make_entries(3)
    store.delete(KEY, lease)


MESSAGE = {"kind": "message"}


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_failed_flush_ends_the_writer_and_is_not_tried_again(tmp_path, number):
    disk = FaultyDisk(flush_fails=[number])
    store = FileStore(tmp_path / "s", disk=disk)
    lease = store.acquire(KEY, 15)
    with pytest.raises(StoreError):
        store.append(KEY, [make_entry(1, **MESSAGE)], lease)
    assert not store.renew(lease)
    writes = disk.writes, disk.flushes
    with pytest.raises(LeaseLost, match="an earlier flush failed"):
        store.append(KEY, [make_entry(store.last_seq(KEY) + 1)], lease)
    assert (disk.writes, disk.flushes) == writes
    store.release(lease)
    write(store, [make_entry(store.last_seq(KEY) + 1, **MESSAGE)])


@pytest.mark.parametrize(
    ("fsync", "flushes"), [("turn", [3, 3, 4, 4, 5]), ("always", [3, 4, 5, 6, 7]), ("never", [0, 0, 0, 0, 0])]
)
def test_the_disk_is_waited_for_when_the_setting_says_so(tmp_path, fsync, flushes):
    disk, counts = FaultyDisk(), []
    store = FileStore(tmp_path / "s", fsync=fsync, disk=disk)
    lease = store.acquire(KEY, 15)
    for number, kind in enumerate(["message", "text-delta", "tool-call", "reasoning-delta", "turn-end"], 1):
        store.append(KEY, [make_entry(number, kind=kind)], lease)
        counts.append(disk.flushes)
    assert counts == flushes, "the first flush is of the log and of the two folders that name it"


GEVENT = """
import sys, time
from gevent import monkey
monkey.patch_all()
import gevent
from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.sessions.disk import Disk
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.testing.stores import make_entry

sleep = monkey.get_original("time", "sleep")

class SlowDisk(Disk):
    waits = [0.8, 0, 0]

    def flush(self, fd):
        sleep(self.waits.pop(0))
        if sys.argv[2] == "failing":
            raise OSError(5, "Input/output error")

class BlockingDisk(SlowDisk):
    def sync(self, fd):
        self.flush(fd)

gaps, running = [0.0], True

def tick():
    last = time.monotonic()
    while running:
        time.sleep(0.005)
        now = time.monotonic()
        gaps.append(now - last)
        last = now

ticker = gevent.spawn(tick)
store = FileStore(sys.argv[1], disk=BlockingDisk() if sys.argv[2] == "control" else SlowDisk())
key = SessionKey("demo", "7", "s1")
lease = store.acquire(key, 15)
time.sleep(0.05)
began, outcome = time.monotonic(), "stored"
try:
    store.append(key, [make_entry(1, kind="message")], lease)
except Exception as error:
    outcome = type(error).__name__
took, running = time.monotonic() - began, False
ticker.join()
print(outcome, took, max(gaps))
"""


def run_gevent(root, variant):
    arguments = [sys.executable, "-W", "ignore", "-c", GEVENT, str(root), variant]
    output = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=True).stdout.split()
    return output[0], float(output[1]), float(output[2])


def test_a_slow_flush_holds_up_its_own_greenlet_alone(tmp_path):
    pytest.importorskip("gevent", reason="gevent is not installed: pip install 'flask-litro-agent[gevent]'")
    outcome, took, gap = run_gevent(tmp_path / "s", "real")
    assert outcome == "stored"
    assert took >= 0.8
    assert gap < 0.6


def test_a_flush_on_the_event_hub_would_hold_up_everybody(tmp_path):
    pytest.importorskip("gevent", reason="gevent is not installed: pip install 'flask-litro-agent[gevent]'")
    assert run_gevent(tmp_path / "s", "control")[2] >= 0.8


def test_a_failed_flush_comes_back_from_the_native_thread(tmp_path):
    pytest.importorskip("gevent", reason="gevent is not installed: pip install 'flask-litro-agent[gevent]'")
    assert run_gevent(tmp_path / "s", "failing")[0] == "StoreError"


WRITER = """
import sys
from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.errors import StoreError
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.testing.stores import make_entries
if sys.argv[3] != "0":
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
store = FileStore(sys.argv[1])
key = SessionKey("demo", "7", "s1")
lease = store.acquire(key, 15)
for _ in range(int(sys.argv[2])):
    group = make_entries(3, first=store.last_seq(key) + 1)
    try:
        store.append(key, group, lease)
    except StoreError as error:
        print("failed", type(error).__name__)
    else:
        print("stored", *[entry.seq for entry in group])
"""


def run_writer(root, groups, *, limit=0, before=()):
    """Run a writer in a process of its own; return the numbers that it was told are stored, and its failures."""
    arguments = [*before, sys.executable, "-c", WRITER, str(root), str(groups), str(limit)]
    lines = subprocess.run(
        arguments, capture_output=True, text=True, timeout=120, check=True
    ).stdout.splitlines()
    stored = [int(number) for line in lines if line.startswith("stored") for number in line.split()[1:]]
    return stored, [line.split()[1] for line in lines if line.startswith("failed")]


def check_numbers(root, stored):
    found = check(root, [])
    assert set(stored) <= {entry.seq for entry in found}
    return found


@pytest.mark.parametrize("limit", [4000, 4001, 4040, 4096])
def test_a_limit_on_the_files_size_tears_nothing(tmp_path, limit):
    stored, failures = run_writer(tmp_path / "s", 40, limit=limit)
    assert failures, "the fault did not happen"
    found = check_numbers(tmp_path / "s", stored)
    assert log_path(tmp_path / "s").read_bytes().endswith(b"\n")
    write(FileStore(tmp_path / "s"), [make_entry(len(found) + 1)])
    check_numbers(tmp_path / "s", [*stored, len(found) + 1])


def test_a_file_size_limit_does_tear_a_naive_writers_line(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with (tmp_path / "log").open("ab", buffering=0) as file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4001, limits[1]))
        try:
            with contextlib.suppress(OSError):
                for entry in make_entries(100):
                    file.write(entry.line)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not (tmp_path / "log").read_bytes().endswith(b"\n")


@pytest.fixture
def small_disk(tmp_path):
    """Mount a file system of 64 KiB, which only root may do."""
    if os.geteuid() != 0 or sys.platform != "linux":
        pytest.skip("a full disk needs root on Linux to mount one: sudo pytest tests/test_store_faults.py")
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a full disk needs the right to mount one: run in a container with CAP_SYS_ADMIN")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_loses_nothing_that_was_stored_and_goes_on_when_there_is_room(small_disk):
    root = small_disk / "s"
    store = FileStore(root)
    lease = store.acquire(KEY, 15)
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 30_000)
    stored = []
    with contextlib.suppress(StoreError):
        for _ in range(1000):
            stored += append_group(store, lease)
    assert len(stored) < 7000, "the disk was never full"
    check(root, stored)
    filler.unlink()
    for _ in range(10):
        stored += append_group(store, lease)
    check(root, stored)
    store.release(lease)


def append_group(store, lease):
    group = make_entries(7, first=store.last_seq(KEY) + 1)
    store.append(KEY, group, lease)
    return group


@pytest.fixture
def strace():
    path = shutil.which("strace")
    if path is None:
        pytest.skip("faults in system calls need strace: apt-get install strace")
    if subprocess.run([path, "-o", os.devnull, "true"], capture_output=True, check=False).returncode:
        pytest.skip("faults in system calls need the right to trace a process")
    return path


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_a_write_that_the_kernel_refuses_costs_its_group_alone(tmp_path, strace, error):
    root = tmp_path / "s"
    for number in (1, 3):
        inject = f"inject=write:error={error}:when={number}"
        before = [
            strace,
            "-f",
            "-o",
            os.devnull,
            "-P",
            str(log_path(root)),
            "-e",
            "trace=write",
            "-e",
            inject,
        ]
        stored, failures = run_writer(root, 4, before=before)
        assert failures == ["StoreError"]
        assert len(stored) == 9
        check_numbers(root, stored)


def test_a_flush_that_the_kernel_refuses_ends_the_writer(tmp_path, strace):
    root = tmp_path / "s"
    write(FileStore(root), make_entries(9))
    inject = "inject=fdatasync:error=EIO:when=1"
    before = [
        strace,
        "-f",
        "-o",
        os.devnull,
        "-P",
        str(log_path(root)),
        "-e",
        "trace=fdatasync",
        "-e",
        inject,
    ]
    stored, failures = run_writer(root, 4, before=before)
    assert failures == ["StoreError", "LeaseLost", "LeaseLost", "LeaseLost"]
    assert stored == []
    check_numbers(root, stored)


WORKER = """
import os, sys, time
from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.testing.stores import make_entry
if sys.argv[2] == "control":
    import fcntl
    fcntl.flock = lambda *arguments: None
store = FileStore(sys.argv[1])
keys = [SessionKey("demo", "7", name) for name in ("a", "b")]
print("ready", flush=True)
sys.stdin.readline()
turns = 0
while turns < 40:
    key = keys[turns % 2]
    lease = store.acquire(key, 15, f"turn-{os.getpid()}-{turns}")
    if lease is None:
        time.sleep(0.001)
        continue
    began = time.monotonic_ns()
    first = store.last_seq(key) + 1
    time.sleep(0.002)
    for seq in (first, first + 1):
        try:
            store.append(key, [make_entry(seq, lease.turn_id)], lease)
        except Exception as error:
            print("failed", type(error).__name__)
    print("turn", key.session, began, time.monotonic_ns(), lease.epoch)
    store.release(lease)
    turns += 1
"""


def run_workers(root, variant):
    """Run two workers; return the turns that they ran as (session, began, ended, epoch), and their failures."""
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(root), variant],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    try:
        for worker in workers:
            assert worker.stdout.readline() == "ready\n"
        for worker in workers:
            worker.stdin.write("go\n")
            worker.stdin.flush()
        output = [worker.communicate(timeout=120)[0] for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    lines = [line.split() for text in output for line in text.splitlines()]
    turns = sorted(
        (name, int(began), int(ended), int(epoch)) for kind, name, began, ended, epoch in turns_of(lines)
    )
    return turns, [line for line in lines if line[0] == "failed"]


def turns_of(lines):
    return [line for line in lines if line[0] == "turn"]


def overlaps(turns):
    return sum(one[0] == two[0] and two[1] < one[2] for one, two in itertools.pairwise(turns))


def test_two_workers_on_one_folder_run_one_turn_each_session(tmp_path):
    turns, failures = run_workers(tmp_path / "s", "real")
    assert failures == []
    assert overlaps(turns) == 0
    store = FileStore(tmp_path / "s")
    for name in ("a", "b"):
        epochs = [turn[3] for turn in turns if turn[0] == name]
        assert epochs == list(range(1, len(epochs) + 1))
        assert store.last_seq(SessionKey("demo", "7", name)) == 2 * len(epochs)


def test_two_workers_without_a_lock_would_run_turns_at_once(tmp_path):
    turns, _ = run_workers(tmp_path / "s", "control")
    assert overlaps(turns) > 0
