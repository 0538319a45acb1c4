"""One owner's sessions, or everybody's, newest first, page by page.

The order is by the time of the last change, then by name; a cursor is the place of the last session that was shown.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from flask_litro_agent import strict_json
from flask_litro_agent.contracts import SessionInfo
from flask_litro_agent.errors import BadRequest, InvalidJSON, StoreError
from flask_litro_agent.sessions.disk import Disk, open_regular
from flask_litro_agent.sessions.folder import LOG
from flask_litro_agent.sessions.line import MAX_HEADER, Header

__all__ = ["list_sessions", "owners_folders"]

_NAME = re.compile(r"[0-9a-f]{64}")


class _Place(NamedTuple):
    changed: int
    name: str
    folder: str = ""

    @property
    def rank(self) -> tuple[int, str]:
        return self.changed, self.name


def list_sessions(
    folders: Iterable[str], disk: Disk, *, owner: str | None, agent: str | None, after: str | None, limit: int
) -> tuple[list[SessionInfo], str | None]:
    """Return one page of the sessions in owners' folders, and the next page's cursor or None.

    With an ``owner``, his alone. Raises BadRequest for a cursor that no page gave, StoreError when a folder cannot
    be read.
    """
    first = _read_cursor(after).rank if after is not None else None
    page: list[SessionInfo] = []
    shown: _Place | None = None
    places = (place for folder in folders for place in _places(folder))
    for place in sorted(places, reverse=True):
        if first is not None and place.rank >= first:
            continue
        info = _info(place, disk)
        if info is None or owner not in (None, info.key.owner) or agent not in (None, info.key.agent):
            continue
        if len(page) == limit and shown is not None:
            return page, _cursor(shown)
        page.append(info)
        shown = place
    return page, None


def owners_folders(root: str) -> Iterator[str]:
    """Yield the folder of each owner; StoreError when the root cannot be read."""
    for name in sorted(_names(root)):
        if _NAME.fullmatch(name):
            yield os.path.join(root, name)


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
                found = os.stat(os.path.join(folder, name), follow_symlinks=False)
                yield _Place(found.st_mtime_ns, stem, folder)
            except OSError:
                continue


def _info(place: _Place, disk: Disk) -> SessionInfo | None:
    """Return what a log's header says; None for a tombstone, a log without entries, and what is no log."""
    try:
        fd = open_regular(os.path.join(place.folder, place.name + LOG), os.O_RDONLY)
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
    return base64.urlsafe_b64encode(strict_json.encode(list(place.rank))).decode()


def _read_cursor(text: str) -> _Place:
    try:
        value = strict_json.decode(base64.b64decode(text.encode(), altchars=b"-_", validate=True))
    except (InvalidJSON, binascii.Error, UnicodeEncodeError):
        value = None
    match value:
        case [int(changed), str(name)] if _NAME.fullmatch(name):
            return _Place(changed, name)
    raise BadRequest("the cursor is not one of this list")
