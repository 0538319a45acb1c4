"""The file session store: its contract, and what is its own."""

import contextlib
import json
import logging
import os
import pickle
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import flask
import pytest

from flask_litro_agent import events
from flask_litro_agent.contracts import Entry, SessionKey, SessionStore
from flask_litro_agent.errors import ConfigurationError, LeaseLost, SessionDeleted, StoreError
from flask_litro_agent.sessions import plugin
from flask_litro_agent.sessions.disk import Disk
from flask_litro_agent.sessions.file import FileStore
from flask_litro_agent.sessions.folder import Folder
from flask_litro_agent.sessions.line import Header
from flask_litro_agent.sessions.log_index import LogIndex, Position
from flask_litro_agent.sessions.mounts import network_filesystem
from flask_litro_agent.settings import Settings
from flask_litro_agent.testing.stores import StoreContract, make_entries, make_entry

KEY = SessionKey("demo", "7", "s1")


class CountingDisk(Disk):
    """A disk that counts what is read from it."""

    def __init__(self):
        self.bytes_read = 0
        self.largest = 0

    def read(self, fd, size, offset):
        block = super().read(fd, size, offset)
        self.bytes_read += len(block)
        self.largest = max(self.largest, len(block))
        return block


class TestFileStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path):
        return FileStore(tmp_path / "sessions")

    def reopen(self, store):
        return FileStore(store.root)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "sessions"


@pytest.fixture
def store(root):
    return FileStore(root)


def log_path(store, key=KEY):
    return Path(Folder(store.root).log(key))


def lock_path(store, key=KEY):
    return Path(Folder(store.root).lock(key))


def write(store, entries, key=KEY):
    lease = store.acquire(key, 15)
    store.append(key, entries, lease)
    store.release(lease)


def test_it_is_a_session_store(store):
    assert isinstance(store, SessionStore)


def test_the_folder_is_its_owners_alone_and_ignored_by_git(store, root):
    write(store, make_entries(1))
    assert (root / ".gitignore").read_text() == "*\n"
    for path in (root, root / "stops", log_path(store).parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for path in (log_path(store), lock_path(store)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_no_id_is_ever_a_file_name_and_names_survive_a_case_folding_disk(store, root):
    keys = [SessionKey("demo", "7", name) for name in ("Abc", "abc", "CON", "con", "aux", "../x")]
    for key in keys:
        write(store, make_entries(1), key)
    names = [path.name for path in root.rglob("*.jsonl")]
    assert len({name.lower() for name in names}) == len(keys)
    assert all(
        name == name.lower() and set(name.removesuffix(".jsonl")) <= set("0123456789abcdef") for name in names
    )


def test_a_key_that_is_not_text_is_refused_before_anything_is_made(store, root):
    before = sorted(root.rglob("*"))
    for session in ("a\ud800", "a\x00", "x" * 20_000):
        with pytest.raises(StoreError):
            store.acquire(SessionKey("demo", "7", session), 15)
    assert sorted(root.rglob("*")) == before


@contextlib.contextmanager
def ordinary_user():
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_folder_that_cannot_be_written_stops_the_start(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    for path in (closed, closed / "sessions"):
        with (
            ordinary_user(),
            pytest.raises(ConfigurationError, match=r"LITRO_FILE_PATH: .* cannot hold the session logs"),
        ):
            FileStore(path)


def test_a_file_in_the_folders_place_stops_the_start(tmp_path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "file" / "sessions"):
        with pytest.raises(ConfigurationError, match="LITRO_FILE_PATH"):
            FileStore(path)


MOUNTS = """\
/dev/vda / ext4 rw 0 0
server:/export /srv/my\\040data nfs4 rw,vers=4.2 0 0
/dev/vdb /srv/my\\040data/local xfs rw 0 0
//server/share /mnt/share cifs rw 0 0
me@host:/ /mnt/host fuse.sshfs rw 0 0
hostshare /mnt/vm 9p rw,trans=virtio 0 0
hostshare /mnt/far 9p rw,trans=tcp 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/app", None),
        ("/srv/my data/app", "nfs4"),
        ("/srv/my data", "nfs4"),
        ("/srv/my database", None),
        ("/srv/my data/local/app", None),
        ("/mnt/share/x/y", "cifs"),
        ("/mnt/host/x", "fuse.sshfs"),
        ("/mnt/vm/x", None),
        ("/mnt/far/x", "nfs"),
    ],
)
def test_a_network_file_system_is_recognised(path, kind):
    assert network_filesystem(path, MOUNTS) == kind


def test_this_machines_temporary_folder_is_local(tmp_path):
    assert network_filesystem(str(tmp_path)) is None


def test_a_network_file_system_stops_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr("flask_litro_agent.sessions.folder.network_filesystem", lambda path: "nfs4")
    with pytest.raises(ConfigurationError, match=r"network file system \(nfs4\)"):
        FileStore(tmp_path / "sessions")
    assert not (tmp_path / "sessions").exists()


def test_a_folder_that_disappears_fails_the_append_and_is_made_again(store, root):
    lease = store.acquire(KEY, 15)
    store.append(KEY, make_entries(2), lease)
    root.rename(root.with_name("elsewhere"))
    with pytest.raises(StoreError, match="its lock is gone"):
        store.append(KEY, [make_entry(3)], lease)
    assert not store.renew(lease)
    again = store.acquire(KEY, 15)
    store.append(KEY, [make_entry(1)], again)
    store.release(lease)
    assert store.last_seq(KEY) == 1
    assert (root / ".gitignore").exists()


def test_a_folder_that_was_replaced_takes_no_stale_write(store, root):
    lease = store.acquire(KEY, 15)
    store.append(KEY, make_entries(2), lease)
    root.rename(root.with_name("elsewhere"))
    other = FileStore(root)
    write(other, make_entries(1))
    with pytest.raises(LeaseLost):
        store.append(KEY, [make_entry(3)], lease)
    assert list(other.read(KEY)) == make_entries(1)


def test_a_log_that_disappears_under_its_writer_fails_the_append(store):
    lease = store.acquire(KEY, 15)
    store.append(KEY, make_entries(2), lease)
    log_path(store).unlink()
    with pytest.raises(StoreError, match="gone from its place"):
        store.append(KEY, [make_entry(3)], lease)


def plant_symlink(path):
    path.symlink_to(path.with_name("target"))
    path.with_name("target").write_bytes(b"")


PLANTS = {
    "symlink": plant_symlink,
    "dangling symlink": lambda path: path.symlink_to(path.with_name("nowhere")),
    "fifo": os.mkfifo,
    "folder": Path.mkdir,
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_what_is_no_regular_file_in_a_logs_place_is_refused(store, plant, caplog):
    path = log_path(store)
    path.parent.mkdir()
    plant(path)
    for use in (store.last_seq, lambda key: list(store.read(key)), lambda key: store.acquire(key, 15)):
        with pytest.raises(StoreError):
            use(KEY)
    assert store.list("7") == ([], None)
    assert "refused a session log" in caplog.text


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_what_is_no_regular_file_in_a_locks_place_is_refused(store, plant):
    path = lock_path(store)
    path.parent.mkdir()
    plant(path)
    for use in (store.holder, store.is_leased, lambda key: store.acquire(key, 15)):
        with pytest.raises(StoreError):
            use(KEY)


def test_an_owners_folder_that_is_a_link_is_refused(store, tmp_path):
    write(store, make_entries(1))
    folder = log_path(store).parent
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    with pytest.raises(StoreError, match="is not a folder"):
        store.last_seq(KEY)


def test_everybodys_sessions_that_cannot_be_listed_are_an_error_and_not_none(store):
    Path(os.path.dirname(log_path(store))).write_bytes(b"no folder")
    with pytest.raises(StoreError, match="cannot be listed"):
        store.list(None)


def test_sessions_that_cannot_be_listed_are_an_error_and_not_none(store):
    """A person must not be told that there is nothing where the disk only says nothing."""
    assert store.list(KEY.owner) == ([], None)
    owner = os.path.dirname(log_path(store))
    Path(owner).write_bytes(b"no folder")
    with pytest.raises(StoreError, match="cannot be listed"):
        store.list(KEY.owner)


def test_another_sessions_log_is_refused_with_an_alarm_and_left_alone(store, caplog):
    other = SessionKey("demo", "7", "s2")
    write(store, make_entries(3), other)
    log_path(store).write_bytes(log_path(store, other).read_bytes())
    for use in (store.last_seq, lambda key: list(store.read(key)), lambda key: store.acquire(key, 15)):
        with pytest.raises(StoreError, match="is not its log"):
            use(KEY)
    assert log_path(store).read_bytes() == log_path(store, other).read_bytes()
    assert {record.levelno for record in caplog.records} == {logging.ERROR}


LINE_3 = make_entry(3).line
FOREIGN = {
    "garbage": b"garbage \x1b[31m \xff\xfe\n",
    "an empty line": b"\n",
    "a pickle": pickle.dumps({"seq": 3}).replace(b"\n", b"") + b"\n",
    "a gap": make_entry(7).line,
    "a duplicate": make_entry(2, "forged").line,
    "another order of members": b'{"kind":"message","seq":3,"ts":1,"payload":{}}\n',
    "a broken payload": b'{"seq":3,"ts":1,"kind":"message","payload":{"text":}}\n',
    "a half line": LINE_3[:-8] + b"\n",
    "one member more": b'{"seq":3,"ts":1,"kind":"message","payload":{},"more":1}\n',
    "NaN": b'{"seq":3,"ts":1,"kind":"message","payload":{"text":NaN}}\n',
    "a name twice": b'{"seq":3,"ts":1,"kind":"message","payload":{"a":1,"a":2}}\n',
    "a raw control character": LINE_3.replace(b"hello", b"he\x01lo"),
    "bad UTF-8": LINE_3.replace(b"hello", b"he\xc3lo"),
    "a surrogate in UTF-8": LINE_3.replace(b"hello", b"he\xed\xa0\x80lo"),
    "a bad escape": LINE_3.replace(b"hello", b"he\\xlo"),
    "a carriage return": LINE_3.replace(b"\n", b"\r\n"),
    "a broken private part": LINE_3[:-1] + b"\t{\n",
    "an empty private part": LINE_3[:-1] + b"\t\n",
    "two private parts": LINE_3[:-1] + b"\t{}\t{}\n",
    "two events on one line": LINE_3[:-1] + make_entry(4).line,
    "a long line": b'{"seq":3,"ts":1,"kind":"message","payload":{"text":"' + b"x" * 9_000_000 + b'"}}\n',
}


@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_line_is_dropped_with_one_warning_and_the_rest_counts(store, foreign, caplog):
    entries = make_entries(5)
    write(store, entries[:2])
    with log_path(store).open("ab") as file:
        file.write(foreign + foreign)
    write(store, entries[2:4])
    fresh = FileStore(store.root)
    assert list(fresh.read(KEY)) == list(fresh.read(KEY)) == entries[:4]
    assert list(fresh.read(KEY, 2)) == list(store.read(KEY, 2)) == entries[2:4]
    assert fresh.last_seq(KEY) == 4
    write(fresh, [entries[4]])
    assert list(store.read(KEY)) == entries
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 2, "one warning of each store"
    assert all(len(text) <= 1024 and text.isprintable() for text in warnings)


def test_a_reader_that_trusts_any_json_would_have_shown_foreign_lines():
    shown = set()
    for name, line in FOREIGN.items():
        with contextlib.suppress(ValueError, TypeError, KeyError):
            json.loads(line)["seq"]
            shown.add(name)
    assert {"a gap", "a duplicate", "one member more", "NaN", "a name twice", "a carriage return"} <= shown


def test_a_huge_line_is_passed_in_pieces(store):
    write(store, make_entries(2))
    with log_path(store).open("r+b") as file:
        file.truncate(64 * 1024 * 1024)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + make_entry(3).line)
    disk = CountingDisk()
    assert list(FileStore(store.root, disk=disk).read(KEY)) == make_entries(3)
    assert disk.largest <= 8 * 1024 * 1024


def test_a_session_id_that_holds_escapes_is_logged_on_one_short_line(store, caplog):
    key = SessionKey("demo", "7", "\r\n\x1b[31m" + "x" * 5000)
    write(store, make_entries(1), key)
    with log_path(store, key).open("ab") as file:
        file.write(b"garbage\n")
    store.last_seq(key)
    (record,) = caplog.records
    assert record.getMessage().isprintable()
    assert len(record.getMessage()) <= 1024


@pytest.mark.parametrize(
    "entry",
    [
        make_entry(1)._replace(line=make_entry(1).line.replace(b"hello", b"\\u0000")),
        make_entry(1)._replace(seq=2),
        make_entry(1)._replace(kind="message"),
        make_entry(1)._replace(line=make_entry(1).line[:-1]),
        make_entry(1)._replace(line=make_entry(1).line + b"\n"),
        make_entry(1)._replace(line=make_entry(1).line + make_entry(2).line),
        make_entry(1)._replace(line=make_entry(1).line.replace(b":{", b":\t{")),
        make_entry(1, private=b""),
        make_entry(1, private=b"{}\n"),
        make_entry(1, private=b"{\t}"),
        make_entry(1, private=b"not JSON"),
        make_entry(1, "x" * 8_400_000),
    ],
    ids=lambda entry: repr(entry)[:60],
)
def test_what_no_reader_would_take_back_is_not_stored(store, entry):
    lease = store.acquire(KEY, 15)
    with pytest.raises(StoreError):
        store.append(KEY, [entry], lease)
    store.append(KEY, [make_entry(1)], lease)
    assert list(store.read(KEY)) == [make_entry(1)]


def test_a_kind_of_a_later_release_is_read(store):
    entry = Entry(1, "proposal", events.encode(1, 1, "proposal", {"text": "x", "n": 1}))
    write(store, [entry, Entry(2, "new-kind", events.encode(2, 1, "new-kind", {"text": "x"}))])
    assert [entry.kind for entry in store.read(KEY)] == ["proposal", "new-kind"]


def test_a_log_is_a_header_and_its_lines(store):
    entries = [make_entry(1), make_entry(2, kind="message", private=b'{"a":1}'), make_entry(3)]
    write(store, entries)
    header, *lines = log_path(store).read_bytes().splitlines(keepends=True)
    assert Header.decode(header).key == KEY
    assert lines == [entries[0].line, entries[1].line[:-1] + b'\t{"a":1}\n', entries[2].line]


def test_a_tombstone_holds_no_content(store):
    lease = store.acquire(KEY, 15)
    store.append(KEY, [make_entry(1, "a secret")], lease)
    created = Header.decode(log_path(store).read_bytes().splitlines()[0]).created
    store.delete(KEY, lease)
    tombstone = Header.decode(log_path(store).read_bytes())
    assert tombstone.created == created <= tombstone.deleted
    assert b"a secret" not in log_path(store).read_bytes()


def test_near_the_end_of_a_long_log_only_a_few_blocks_are_read(store):
    entries = make_entries(10_000)
    for first in range(0, 10_000, 100):
        write(store, entries[first : first + 100])
    size = log_path(store).stat().st_size
    disk = CountingDisk()
    reader = FileStore(store.root, disk=disk)
    assert reader.last_seq(KEY) == 10_000
    assert disk.bytes_read > size, "the first look reads everything"
    disk.bytes_read = 0
    assert list(reader.read(KEY, 9990)) == entries[9990:]
    assert reader.last_seq(KEY) == 10_000
    assert disk.bytes_read < size / 4


def test_a_follower_reads_a_log_about_once(store):
    disk, lease = CountingDisk(), store.acquire(KEY, 15)
    reader = FileStore(store.root, disk=disk)
    for entry in make_entries(500):
        store.append(KEY, [entry], lease)
        assert list(reader.read(KEY, entry.seq - 1)) == [entry]
    header = len(log_path(store).read_bytes().splitlines(keepends=True)[0])
    assert disk.bytes_read < 500 * 16 * 1024
    assert disk.largest <= 16 * 1024 + header


def test_an_index_stays_small_and_never_points_too_far():
    index = LogIndex((), Position(0, 100))
    for seq in range(1, 200_001):
        index.passed(Position(seq, 100 + seq * 1000))
    assert len(index._marks) <= 512
    for seq in (0, 1, 99, 5_000, 123_456, 199_999, 200_000, 300_000):
        assert index.before(seq).seq <= seq
    assert index.before(0) == (0, 100)
    assert index.before(200_000) == index.last
    assert 123_456 - index.before(123_456).seq < 2_000


def test_a_log_that_was_put_back_shorter_is_read_from_its_start(store):
    write(store, make_entries(300))
    assert store.last_seq(KEY) == 300
    path = log_path(store)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:11]))
    assert store.last_seq(KEY) == 10
    assert list(store.read(KEY)) == make_entries(10)


class RacingDisk(Disk):
    """A disk on which something happens directly after the first read."""

    def __init__(self, happens):
        self.happens = [happens]

    def read(self, fd, size, offset):
        block = super().read(fd, size, offset)
        if self.happens:
            self.happens.pop()()
        return block


def test_a_reader_that_meets_a_log_being_born_sees_nothing_or_entries(store, caplog):
    log_path(store).parent.mkdir()
    log_path(store).touch()
    reader = FileStore(store.root, disk=RacingDisk(lambda: write(store, make_entries(3))))
    assert list(reader.read(KEY)) in ([], make_entries(3))
    assert list(reader.read(KEY)) == make_entries(3)
    assert caplog.records == []


def test_wait_is_not_woken_by_a_torn_line(store):
    write(store, make_entries(2))
    with log_path(store).open("ab") as file:
        file.write(make_entry(3).line[:20])
    began = time.monotonic()
    assert not store.wait(KEY, 2, 0.2)
    assert time.monotonic() - began >= 0.2


def test_a_stop_is_taken_away_with_its_turns_lease(store, root):
    lease = store.acquire(KEY, 15, "t1")
    store.stop(KEY, "t1")
    assert store.stopped(["t1"]) == {"t1"}
    store.release(lease)
    assert store.stopped(["t1"]) == frozenset()
    assert list((root / "stops").iterdir()) == []


def test_a_stop_older_than_a_day_says_nothing_and_is_swept(store, root):
    store.stop(KEY, "old")
    (mark,) = (root / "stops").iterdir()
    os.utime(mark, (time.time() - 90_000,) * 2)
    assert store.stopped(["old"]) == frozenset()
    store.stop(KEY, "new")
    assert not mark.exists()
    assert store.stopped(["old", "new"]) == {"new"}


def test_a_lease_whose_lock_file_vanished_is_not_renewed(store):
    lease = store.acquire(KEY, 15)
    assert store.renew(lease)
    lock_path(store).unlink()
    assert not store.renew(lease)
    with pytest.raises(LeaseLost):
        store.append(KEY, [make_entry(1)], lease)


def test_whoever_only_looks_does_not_keep_a_writer_out(store):
    write(store, make_entries(1))
    done = threading.Event()

    def look(other):
        while not done.is_set():
            other.is_leased(KEY)

    with ThreadPoolExecutor(1) as threads:
        looker = threads.submit(look, FileStore(store.root))
        leases = []
        for _ in range(100):
            leases.append(store.acquire(KEY, 15))
            store.release(leases[-1])
        done.set()
        looker.result()
    assert None not in leases


def test_a_folder_that_vanishes_while_it_is_locked_is_an_error_of_the_store(store, root, monkeypatch):
    monkeypatch.setattr(Folder, "make_owner", lambda folder, owner: None)
    with pytest.raises(StoreError, match="could not be leased"):
        store.acquire(KEY, 15)


def test_an_epoch_grows_also_when_its_count_is_lost(store):
    lease = store.acquire(KEY, 15)
    store.release(lease)
    lock_path(store).write_bytes(b"\0" * 1024)
    assert store.acquire(KEY, 15).epoch > lease.epoch


FORK = """
import os, sys, time
from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.sessions.file import FileStore
if sys.argv[2] == "control":
    os.register_at_fork = lambda **hooks: None
store = FileStore(sys.argv[1])
lease = store.acquire(SessionKey("demo", "7", "s1"), 15)
if os.fork() == 0:
    time.sleep(60)
    os._exit(0)
os._exit(0)
"""


def leave_a_child(root, variant):
    """Run a process that takes the lease, forks and dies; its child lives on, in a group of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", FORK, str(root), variant], process_group=0, stdout=subprocess.DEVNULL
    )


@pytest.mark.parametrize(("variant", "is_held"), [("real", False), ("control", True)])
def test_a_forked_child_does_not_keep_its_parents_lease(store, root, variant, is_held):
    parent = leave_a_child(root, variant)
    try:
        assert parent.wait(30) == 0
        deadline = time.monotonic() + (1 if is_held else 30)
        while (leased := store.is_leased(KEY)) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert leased is is_held
    finally:
        os.killpg(parent.pid, 9)


def test_the_store_is_registered_as_file_in_the_instance_folder(tmp_path):
    app = flask.Flask("shop", instance_path=str(tmp_path / "instance"))
    factory = plugin.register_session_stores(app, Settings())["file"]
    assert factory().root == str(tmp_path / "instance" / "litro" / "sessions")
    assert factory(path=str(tmp_path / "mine")).root == str(tmp_path / "mine")
    assert factory(path="logs").root == str(tmp_path / "instance" / "logs")


def test_a_session_that_is_deleted_while_its_lease_is_asked_for_is_not_leased(store, monkeypatch):
    make_owner = store._folder.make_owner

    def late(owner):
        other = FileStore(store.root)
        lease = other.acquire(KEY, 15)
        other.append(KEY, make_entries(1), lease)
        other.delete(KEY, lease)
        other.release(lease)
        make_owner(owner)

    monkeypatch.setattr(store._folder, "make_owner", late)
    with pytest.raises(SessionDeleted):
        store.acquire(KEY, 15)
    assert not store.is_leased(KEY)


def test_a_lease_whose_lock_is_gone_deletes_nothing(store):
    lease = store.acquire(KEY, 15)
    store.append(KEY, make_entries(1), lease)
    os.unlink(lock_path(store))
    with pytest.raises(LeaseLost):
        store.delete(KEY, lease)
    assert store.last_seq(KEY) == 1


def test_a_log_that_was_replaced_by_its_copy_is_not_written_to_beside_it(store):
    """Law 1: what went into the file that was there before, no reader would get."""
    lease = store.acquire(KEY, 15)
    store.append(KEY, make_entries(1), lease)
    copy = log_path(store).with_suffix(".copy")
    copy.write_bytes(log_path(store).read_bytes())
    copy.replace(log_path(store))
    with pytest.raises(StoreError, match="gone from its place"):
        store.append(KEY, [make_entry(2)], lease)
    assert store.last_seq(KEY) == 1


def test_what_a_stranger_left_at_the_end_of_a_log_hides_no_entry_behind_it(store):
    """Law 1."""
    lease = store.acquire(KEY, 15)
    store.append(KEY, make_entries(1), lease)
    with log_path(store).open("ab") as log:
        log.write(b'{"seq":')
    store.append(KEY, [make_entry(2)], lease)
    assert [entry.seq for entry in store.read(KEY)] == [1, 2]


def test_a_lease_that_was_given_back_names_nobody(store):
    """Who takes the lock next is not called by the last one's turn before it has written its own."""
    store.release(store.acquire(KEY, 15, "t1"))
    state = json.loads(lock_path(store).read_text())
    assert (state["token"], state["turn_id"]) == (None, None)
