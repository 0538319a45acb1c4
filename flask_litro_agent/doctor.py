"""``flask litro doctor``: what would go wrong in production, before it does."""

from __future__ import annotations

import importlib.util
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flask import Flask
from sqlalchemy import case, func, select

from flask_litro_agent.bookkeeping import Books
from flask_litro_agent.contracts import Entry, SessionKey
from flask_litro_agent.core import migration, tables
from flask_litro_agent.errors import LedgerAway, LitroError
from flask_litro_agent.events import MESSAGE, encode
from flask_litro_agent.installation import Installation
from flask_litro_agent.report import NO_HOSTS, NO_SECRET_KEY

__all__ = ["Finding", "examine"]

_LEAST_SECRET = 16
_LEAST_DISK = 200 * 1024 * 1024
_PRUNE_DAYS = 14
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's result; ``fail`` is unsafe."""

    level: Literal["ok", "warn", "fail"]
    message: str


def examine(app: Flask, installed: Installation) -> Iterator[Finding]:
    """Yield a finding for each check."""
    yield _secret(app)
    yield _debug(app)
    yield _hosts(app, installed)
    yield _store(installed)
    yield _disk(app)
    yield _durability(installed)
    if installed.books:
        yield _schema(installed.books)
        yield _pruned(installed.books)
        yield from _messages(installed.books)
    yield _server()
    said = (NO_SECRET_KEY, NO_HOSTS, installed.books and installed.books.warning)
    yield from (Finding("warn", warning) for warning in installed.report.warnings if warning not in said)


def _secret(app: Flask) -> Finding:
    if not app.secret_key:
        return Finding("fail", NO_SECRET_KEY)
    if len(app.secret_key) < _LEAST_SECRET:
        return Finding(
            "fail",
            f"SECRET_KEY is shorter than {_LEAST_SECRET} characters: make one with secrets.token_hex()",
        )
    return Finding("ok", "SECRET_KEY is set")


def _debug(app: Flask) -> Finding:
    if app.debug:
        return Finding("fail", "debug is on: errors show their stack to everybody; run without --debug")
    return Finding("ok", "debug is off")


def _hosts(app: Flask, installed: Installation) -> Finding:
    if installed.settings.hosts or app.config.get("TRUSTED_HOSTS"):
        return Finding("ok", "the site's hosts are listed")
    return Finding("warn", NO_HOSTS)


def _store(installed: Installation) -> Finding:
    """Write, read and delete a session, as a turn would."""
    name = type(installed.store).__name__
    key = SessionKey("doctor", "visitor:doctor----------------", "doctor-" + secrets.token_hex(4))
    try:
        lease = installed.store.acquire(key, 5.0)
        if lease is None:
            return Finding("fail", f"session store {name}: the lease of a new session cannot be had")
        try:
            line = encode(1, 0, MESSAGE, {"role": "user", "text": "doctor"})
            installed.store.append(key, [Entry(1, MESSAGE, line)], lease)
            stored = [entry.line for entry in installed.store.read(key)]
            installed.store.delete(key, lease)
        finally:
            installed.store.release(lease)
    except LitroError as error:
        return Finding("fail", f"session store {name}: {error}")
    if stored != [line]:
        return Finding("fail", f"session store {name}: it gave back something else than was stored")
    return Finding("ok", f"session store {name}: writes, reads and deletes")


def _disk(app: Flask) -> Finding:
    folder = Path(app.instance_path)
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < _LEAST_DISK:
        return Finding("warn", f"only {free // 2**20} MiB are free for the instance folder")
    return Finding("ok", f"{free // 2**20} MiB are free for the instance folder")


def _durability(installed: Installation) -> Finding:
    if installed.settings.fsync == "never":
        return Finding("warn", "LITRO_FSYNC is never: a power cut may lose the newest events")
    return Finding("ok", f"LITRO_FSYNC is {installed.settings.fsync}")


def _schema(books: Books) -> Finding:
    try:
        fault = migration.fault(books.database)
    except LedgerAway as error:
        return Finding("fail", f"ledger: {error}")
    return (
        Finding("fail", fault) if fault else Finding("ok", f"ledger {books.place}: its schema is up to date")
    )


def _pruned(books: Books) -> Finding:
    """Look for the newest row that a pruning left in the audit chain, or else for how old the chain is."""
    chain = tables.audit.c
    ran = func.max(case((chain.kind == "pruned", chain.at)))
    query = select(ran, func.min(chain.at), books.database.now)
    try:
        last, first, now = books.database.read(lambda connection: connection.execute(query).one())
    except LedgerAway:
        return Finding("warn", "ledger: nobody can say when 'flask litro prune' ran")
    days = (now - (last or first or now)) // _DAY_MS
    if days < _PRUNE_DAYS:
        return Finding("ok", "ledger: 'flask litro prune' is not overdue")
    return Finding(
        "warn", f"ledger: 'flask litro prune' has not run for {days} days: run it weekly by a timer"
    )


def _messages(books: Books) -> Iterator[Finding]:
    """Look for messages that the webhook's receiver did not take."""
    if books.courier is None:
        return
    try:
        backlog = books.deliveries.backlog()
    except LedgerAway:
        yield Finding("warn", "webhook: nobody can say what was delivered")
        return
    if not books.courier.is_private:
        yield Finding(
            "warn", "webhook: LITRO_WEBHOOK_URL is http://: everybody on the way can read the messages"
        )
    if backlog.failed or backlog.waiting:
        yield Finding(
            "warn",
            f"webhook: {backlog.failed} messages were given up within a week and {backlog.waiting} wait for another "
            "attempt: the site's log says what the receiver answered",
        )
    else:
        yield Finding("ok", "webhook: the receiver takes what it is sent")


def _server() -> Finding:
    missing = [name for name in ("gunicorn", "gevent") if importlib.util.find_spec(name) is None]
    if missing:
        return Finding(
            "warn",
            f"{' and '.join(missing)} not installed: pip install 'flask-litro-agent[gevent]' for production",
        )
    return Finding(
        "ok", "gunicorn and gevent are installed: run with -k gevent, and a graceful timeout above 40 seconds"
    )
