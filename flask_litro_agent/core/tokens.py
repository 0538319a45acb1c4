"""Tokens: what lets a person's other programs call one agent's tools, until a day or until somebody revokes it.

The secret is given to whoever makes the token and is kept nowhere: the table has its SHA-256, and who reads the table
has nothing to come in with. Making and revoking are rows of the audit chain. A token decides nothing: whoever it names
is looked up anew at every call.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from sqlalchemy import Connection, and_, delete, insert, or_, select, update

from flask_litro_agent.core.audit import Audit
from flask_litro_agent.core.database import Database
from flask_litro_agent.core.tables import token
from flask_litro_agent.errors import BadRequest, LedgerAway, NotFound

__all__ = ["MOST_DAYS", "PREFIX", "NewToken", "Token", "Tokens"]

logger = logging.getLogger(__name__)

#: How every secret begins, so that scanners of repositories and logs know one when they see it.
PREFIX: Final = "litro_mcp_"
MOST_DAYS: Final = 3650

_SECRET: Final = re.compile(PREFIX + r"[A-Za-z0-9_-]{43}")
_DAY_MS: Final = 86_400_000
_LONGEST_NAME: Final = 80
#: How exact "last used" is: a row that every call writes would be the site's slowest.
_USED_MS: Final = 60_000
_COLUMNS: Final = [column for column in token.c if column.name != "hash"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token as it stood at ``read_at``; all times in ms of the database's clock."""

    id: str
    name: str
    actor: str
    agent: str
    created_at: int
    expires_at: int
    revoked_at: int | None
    used_at: int | None
    read_at: int

    @property
    def state(self) -> str:
        """``live``, ``expired`` or ``revoked``."""
        if self.revoked_at is not None:
            return "revoked"
        return "live" if self.read_at < self.expires_at else "expired"

    @property
    def label(self) -> str:
        """What a card says of it: its name, and the id by which it is revoked."""
        return f"{self.name} ({self.id})"


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token and its secret, which nobody can read again."""

    token: Token
    secret: str


class Tokens:
    """The tokens in one database."""

    def __init__(self, database: Database, audit: Audit) -> None:
        self._database = database
        self._audit = audit

    def create(self, *, actor: str, agent: str, name: str, days: int, by: str) -> NewToken:
        """Make a token that is good for so many days; BadRequest for a name or a number that cannot be."""
        _check(name, days)
        secret = PREFIX + secrets.token_urlsafe(32)
        made = {"id": secrets.token_hex(8), "name": name, "actor": actor, "agent": agent}

        def work(connection: Connection) -> Token:
            now = self._now(connection)
            row = {**made, "created_at": now, "expires_at": now + days * _DAY_MS}
            connection.execute(insert(token).values(**row, hash=_hash(secret)))
            self._tell(connection, "created", row, by)
            return _one(connection, now, made["id"])

        return NewToken(self._database.write(work), secret)

    def admit(self, secret: str, agent: str) -> Token | None:
        """Return the live token with this secret for this agent, and note that it was used; None for any other."""
        if not _SECRET.fullmatch(secret):
            return None
        digest = _hash(secret)

        def work(connection: Connection) -> tuple[Token, str] | None:
            now = self._now(connection)
            row = connection.execute(select(token).where(token.c.hash == digest)).mappings().one_or_none()
            return None if row is None else (_token(row, now), str(row["hash"]))

        found = self._database.read(work)
        if found is None or not hmac.compare_digest(found[1], digest):
            return None
        if found[0].state != "live" or found[0].agent != agent:
            return None
        self._use(found[0])
        return found[0]

    def all(self) -> list[Token]:
        """Return every token, newest first."""

        def work(connection: Connection) -> list[Token]:
            now = self._now(connection)
            query = select(*_COLUMNS).order_by(token.c.created_at.desc(), token.c.id)
            return [_token(row, now) for row in connection.execute(query).mappings()]

        return self._database.read(work)

    def revoke(self, token_id: str, *, by: str) -> Token:
        """Let nobody in by this token any more; NotFound. Revoking it again changes nothing."""

        def work(connection: Connection) -> Token:
            now = self._now(connection)
            mine = and_(token.c.id == token_id, token.c.revoked_at.is_(None))
            changed = connection.execute(update(token).where(mine).values(revoked_at=now)).rowcount
            revoked = _one(connection, now, token_id)
            if changed:
                self._tell(connection, "revoked", asdict(revoked), by)
            return revoked

        return self._database.write(work)

    def prune(self, *, days: int, actor: str | None = None) -> int:
        """Delete the tokens that have been over for so many days; return how many."""

        def work(connection: Connection) -> int:
            before = self._now(connection) - days * _DAY_MS
            over = or_(token.c.expires_at < before, token.c.revoked_at < before)
            whose = token.c.actor == actor if actor is not None else token.c.actor.is_not(None)
            return int(connection.execute(delete(token).where(over, whose)).rowcount)

        return self._database.write(work)

    def _use(self, used: Token) -> None:
        """Note that a token was used, to the minute; a database that is away stops no call here."""
        if used.used_at is not None and used.read_at - used.used_at < _USED_MS:
            return
        statement = update(token).where(token.c.id == used.id).values(used_at=used.read_at)
        try:
            self._database.write(lambda connection: connection.execute(statement).close())
        except LedgerAway:
            logger.warning("litro tokens: it was not noted that token %s was used", used.id)

    def _now(self, connection: Connection) -> int:
        return int(connection.execute(select(self._database.now)).scalar_one())

    def _tell(self, connection: Connection, change: str, row: Mapping[str, Any], by: str) -> None:
        data = {"change": change, **{name: row[name] for name in ("name", "actor", "agent", "expires_at")}}
        self._audit.append(connection, kind="token", actor=by, subject=row["id"], data=data)


def _check(name: str, days: int) -> None:
    if not (name.strip() and name.isprintable() and len(name) <= _LONGEST_NAME):
        raise BadRequest(f"a token's name is a text of one line with 1 to {_LONGEST_NAME} characters")
    if not 1 <= days <= MOST_DAYS:
        raise BadRequest(f"a token is good for 1 to {MOST_DAYS} days, not {days}")


def _hash(secret: str) -> str:
    """A secret of 256 random bits needs no salt and no slow function: nobody can try them out."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _one(connection: Connection, now: int, token_id: str) -> Token:
    row = connection.execute(select(*_COLUMNS).where(token.c.id == token_id)).mappings().one_or_none()
    if row is None:
        raise NotFound("there is no such token")
    return _token(row, now)


def _token(row: Mapping[Any, Any], now: int) -> Token:
    return Token(**{column.name: row[column.name] for column in _COLUMNS}, read_at=now)
