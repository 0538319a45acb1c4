"""Mounted file systems: whether a path lies on the network, where ``flock`` and ``O_APPEND`` promise nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

__all__ = ["network_filesystem"]

# fmt: off
_NETWORK = frozenset({
    "afpfs", "afs", "beegfs", "ceph", "cifs", "davfs", "glusterfs", "lustre", "ncpfs", "nfs",
    "nfs4", "orangefs", "pvfs2", "smb2", "smb3", "smbfs", "webdav", "fuse.ceph", "fuse.davfs2",
    "fuse.gcsfuse", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs",
})
# fmt: on
_MOUNT_LINE = re.compile(r"^.+? on (?P<folder>/.*) \((?P<kind>[^,)]+)")  # mount(8) on macOS


def network_filesystem(path: str, mounts: str | None = None) -> str | None:
    """Return the type of the network file system that holds the path, None for a local or unknown one.

    ``mounts`` is text as in ``/proc/mounts``; by default this machine's.
    """
    real = os.path.realpath(path)
    table = _parse(mounts) if mounts is not None else _mounted()
    around = [(folder, kind) for folder, kind in table if _holds(folder, real)]
    kind = max(around, key=lambda mount: len(mount[0]), default=("", ""))[1]
    return kind if kind in _NETWORK else None


def _holds(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _parse(mounts: str) -> Iterator[tuple[str, str]]:
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) >= 4:
            over_tcp = fields[2] == "9p" and "trans=tcp" in fields[3].split(",")
            yield _unescaped(fields[1]), "nfs" if over_tcp else fields[2]


def _unescaped(folder: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), folder)


def _mounted() -> Iterator[tuple[str, str]]:
    if sys.platform == "darwin":
        yield from _listed_by_mount()
        return
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as table:
            yield from _parse(table.read())
    except OSError:  # no /proc: nothing is known
        return


def _listed_by_mount() -> Iterator[tuple[str, str]]:
    try:
        listing = subprocess.run(
            ["/sbin/mount"], capture_output=True, text=True, timeout=5, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return
    for line in listing.splitlines():
        if match := _MOUNT_LINE.match(line):
            yield match["folder"], match["kind"]
