"""The store's folder: which file belongs to which session, and the folder's own upkeep.

    <root>/                       0700, with a .gitignore of its own
      <sha256(owner)>/            one folder an owner
        <sha256(key)>.jsonl       one log
        <sha256(key)>.lock        its lease; never unlinked
      stops/<sha256(turn id)>     word that a turn shall stop

Names are digests in hex: no id ever reaches the file system, and ids that differ only by case are different files
also where the file system folds case.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat

from flask_litro_agent.contracts import SessionKey
from flask_litro_agent.errors import ConfigurationError, StoreError
from flask_litro_agent.sessions.mounts import network_filesystem

__all__ = ["Folder"]

LOG = ".jsonl"
LOCK = ".lock"


class Folder:
    """Paths under one root. ConfigurationError when the root cannot carry a session store."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.path.abspath(root)
        self.stops = os.path.join(self.root, "stops")
        if kind := network_filesystem(self.root):
            raise ConfigurationError(
                f"LITRO_FILE_PATH: {self.root} is on a network file system ({kind}), where file locks do not hold; "
                "name a folder on a local disk"
            )
        try:
            self.prepare()
            self._check()
        except (OSError, StoreError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigurationError(
                f"LITRO_FILE_PATH: {self.root} cannot hold the session logs: {reason}"
            ) from error

    def prepare(self) -> None:
        """Create what is missing of the root."""
        os.makedirs(os.path.dirname(self.root), exist_ok=True)
        _make(self.root)
        _make(self.stops)
        ignore = os.path.join(self.root, ".gitignore")
        if not os.path.exists(ignore):
            with open(ignore, "w", encoding="ascii") as file:
                file.write("*\n")

    def make_owner(self, owner: str) -> None:
        """Create the owner's folder, and whatever has disappeared above it."""
        try:
            self.prepare()
            _make(self.of_owner(owner))
        except OSError as error:
            raise StoreError(f"cannot create the folder of a session: {error}") from error

    def of_owner(self, owner: str) -> str:
        return os.path.join(self.root, _digest([owner]))

    def log(self, key: SessionKey) -> str:
        return os.path.join(self.of_owner(key.owner), _digest(key) + LOG)

    def lock(self, key: SessionKey) -> str:
        return os.path.join(self.of_owner(key.owner), _digest(key) + LOCK)

    def stop_mark(self, turn_id: str) -> str:
        return os.path.join(self.stops, _digest([turn_id]))

    def _check(self) -> None:
        if not os.access(self.root, os.R_OK | os.W_OK | os.X_OK):
            raise StoreError("it is not writable")
        fd = os.open(os.path.join(self.root, ".gitignore"), os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        finally:
            os.close(fd)


def _make(path: str) -> None:
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not stat.S_ISDIR(os.stat(path).st_mode):
            raise StoreError(f"{path} is not a folder") from None


def _digest(words: SessionKey | list[str]) -> str:
    return hashlib.sha256(json.dumps(list(words)).encode()).hexdigest()  # JSON: no two keys share a text
