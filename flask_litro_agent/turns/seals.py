"""Which html of a log is ours: a component is sealed when it is written, and shown again only with its seal.

A session store may be writable to somebody who may not speak for the site (a backup, a shared Redis, a volume).
Data that he changes is shown as data; html that he changes would be run by a person's browser. So whatever has no
seal of ours is shown without its html, marked ``stale``, and only then do a line's bytes differ from the log's.
A seal holds in one session: html that we made for another person's eyes is not shown here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from itsdangerous import Signer

from flask_litro_agent import events, strict_json
from flask_litro_agent.contracts import Entry, SessionKey
from flask_litro_agent.errors import InvalidJSON

__all__ = ["Seals"]

_SALT: Final = b"flask_litro_agent.component"
_TRUSTED: Final = ("html", "hydrate")


class Seals:
    """Seals components with the app's secret keys: the newest, last in the list, signs; all of them open."""

    def __init__(self, keys: Callable[[], Sequence[bytes]] = tuple) -> None:
        self._keys = keys

    def seal(self, key: SessionKey, payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the private part of a component's entry; None without a key."""
        signer = self._signer()
        return None if signer is None else {"seal": signer.get_signature(_bytes(key, payload)).decode()}

    def line(self, key: SessionKey, entry: Entry) -> bytes:
        """Return the entry's line as a browser may have it."""
        if entry.kind != events.UI:
            return entry.line
        event = events.decode(entry.line)
        if self._is_sealed(key, event.payload, entry.private):
            return entry.line
        left = {name: value for name, value in event.payload.items() if name not in _TRUSTED}
        return events.encode(event.seq, event.ts, event.kind, {**left, "stale": True})

    def _is_sealed(self, key: SessionKey, payload: Mapping[str, Any], private: bytes | None) -> bool:
        signer = self._signer()
        match _read(private):
            case {"seal": str(seal)} if signer is not None:
                return signer.verify_signature(_bytes(key, payload), seal.encode(errors="replace"))
        return False

    def _signer(self) -> Signer | None:
        keys = list(self._keys())
        if not keys:
            return None
        return Signer(keys, salt=_SALT, key_derivation="hmac", digest_method=hashlib.sha256)


def _bytes(key: SessionKey, payload: Mapping[str, Any]) -> bytes:
    """Say what is sealed: all but the owner, because a visitor's session is handed over to his account."""
    return strict_json.encode([key.agent, key.session, {**payload}])


def _read(private: bytes | None) -> Any:
    if private is None:
        return None
    try:
        return strict_json.decode(private, depth=strict_json.STORED_DEPTH)
    except InvalidJSON:
        return None
