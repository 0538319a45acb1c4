"""The folder with everything the shop keeps: its database, its secret key and the sessions of its agents.

Several workers may start on an empty folder at once: whatever is made here is made by one of them, under the
folder's lock, and appears whole.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["make_once", "open_folder", "secret_key"]


def open_folder(name: str | os.PathLike[str]) -> Path:
    """Return the folder's absolute path; it is made, for its owner only, when it is missing."""
    folder = Path(name).expanduser().resolve()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def secret_key(folder: Path) -> str:
    """Return the key that signs the cookies: made at the first start, then always the same."""
    return make_once(folder / "secret_key", _write_key).read_text("ascii")


def make_once(path: Path, make: Callable[[Path], None]) -> Path:
    """Return the path after one process, in all, has called ``make`` for it; a crash half-way leaves nothing."""
    if path.exists():
        return path
    with _locked(path.parent):
        if not path.exists():
            draft = path.with_name(path.name + ".draft")
            draft.unlink(missing_ok=True)
            make(draft)
            draft.replace(path)
    return path


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write_key(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(32))
