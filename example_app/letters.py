"""What is written about customers and to them: notes of the staff, and e-mails that somebody may send later."""

from __future__ import annotations

import sqlite3

from example_app import journal
from example_app.journal import By

__all__ = ["draft", "drafts_to", "note", "notes_on"]


def note(database: sqlite3.Connection, customer_id: int, text: str, by: By) -> int:
    """Write a note about a customer; return its number."""
    with journal.writing(database):
        journal.once(database, "note", by, customer_id=customer_id, text=text)
        return int(journal.row(database, "note", by.key)["id"])


def notes_on(database: sqlite3.Connection, customer_id: int) -> list[str]:
    """Return the notes about a customer, newest first."""
    rows = database.execute("SELECT text FROM note WHERE customer_id = ? ORDER BY id DESC", (customer_id,))
    return [row["text"] for row in rows]


def draft(database: sqlite3.Connection, customer_id: int, subject: str, text: str, by: By) -> int:
    """Keep an e-mail to a customer as a draft; return its number. Nothing is sent."""
    with journal.writing(database):
        journal.once(database, "email_draft", by, customer_id=customer_id, subject=subject, text=text)
        return int(journal.row(database, "email_draft", by.key)["id"])


def drafts_to(database: sqlite3.Connection, customer_id: int) -> list[tuple[str, str]]:
    """Return subject and text of the drafts to a customer, newest first."""
    rows = database.execute(
        "SELECT subject, text FROM email_draft WHERE customer_id = ? ORDER BY id DESC", (customer_id,)
    )
    return [(row["subject"], row["text"]) for row in rows]
