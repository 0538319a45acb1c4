"""An owner's sessions, newest first, page by page.

The order is by the time of the last change, then by name; a cursor is the place of the last session that was shown.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from flask_litro_agent import strict_json
from flask_litro_agent.contracts import SessionInfo
from flask_litro_agent.errors import BadRequest, InvalidJSON, StoreError
from flask_litro_agent.sessions.disk import Disk, open_regular
from flask_litro_agent.sessions.folder import LOG
from flask_litro_agent.sessions.line import MAX_HEADER, Header

__all__ = ["list_owners", "list_sessions"]

_NAME = re.compile(r"[0-9a-f]{64}")


class _Place(NamedTuple):
    changed: int
    name: str


def list_sessions(
    folder: str, disk: Disk, *, owner: str, agent: str | None, after: str | None, limit: int
) -> tuple[list[SessionInfo], str | None]:
    """Return one page of the sessions in an owner's folder, and the next page's cursor or None.

    Raises BadRequest for a cursor that no page gave, StoreError when the folder cannot be read.
    """
    first = _read_cursor(after) if after is not None else None
    page: list[SessionInfo] = []
    shown: _Place | None = None
    for place in sorted(_places(folder), reverse=True):
        if first is not None and place >= first:
            continue
        info = _info(folder, place, disk)
        if info is None or info.key.owner != owner or agent not in (None, info.key.agent):
            continue
        if len(page) == limit and shown is not None:
            return page, _cursor(shown)
        page.append(info)
        shown = place
    return page, None


def list_owners(root: str, disk: Disk) -> Iterator[str]:
    """Yield the owner of each folder in which there is a session; StoreError when one cannot be read."""
    for name in sorted(_names(root)):
        if not _NAME.fullmatch(name):
            continue
        folder = os.path.join(root, name)
        infos = (_info(folder, place, disk) for place in _places(folder))
        if info := next((info for info in infos if info is not None), None):
            yield info.key.owner


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"the sessions in {folder} cannot be listed: {error.strerror}") from error


def _places(folder: str) -> Iterator[_Place]:
    for name in _names(folder):
        stem = name.removesuffix(LOG)
        if stem != name and _NAME.fullmatch(stem):
            try:
                yield _Place(os.stat(os.path.join(folder, name), follow_symlinks=False).st_mtime_ns, stem)
            except OSError:
                continue


def _info(folder: str, place: _Place, disk: Disk) -> SessionInfo | None:
    """Return what a log's header says; None for a tombstone, a log without entries, and what is no log."""
    try:
        fd = open_regular(os.path.join(folder, place.name + LOG), os.O_RDONLY)
    except (OSError, StoreError):
        return None
    try:
        head, _, entries = disk.read(fd, MAX_HEADER + 1, 0).partition(b"\n")
    finally:
        os.close(fd)
    header = Header.decode(head)
    if header is None or header.deleted is not None or not entries:
        return None
    return SessionInfo(header.key, header.created, place.changed // 1_000_000)


def _cursor(place: _Place) -> str:
    return base64.urlsafe_b64encode(strict_json.encode(list(place))).decode()


def _read_cursor(text: str) -> _Place:
    try:
        value = strict_json.decode(base64.b64decode(text.encode(), altchars=b"-_", validate=True))
    except (InvalidJSON, binascii.Error, UnicodeEncodeError):
        value = None
    match value:
        case [int(changed), str(name)] if _NAME.fullmatch(name):
            return _Place(changed, name)
    raise BadRequest("the cursor is not one of this list")
