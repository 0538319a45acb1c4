"""Who is signed in: an account of a customer, of support or of an operator, kept in Flask's signed session."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from flask import g, session
from flask_wtf import FlaskForm
from werkzeug.security import check_password_hash, generate_password_hash
from wtforms import PasswordField, StringField, SubmitField
from wtforms.validators import DataRequired, Length

from example_app import database

__all__ = ["Account", "SignInForm", "SignOutForm", "authenticate", "by_id", "signed_in", "start", "stop"]

_KEY = "shop_account"
_NOBODY = generate_password_hash("nobody has this account")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A person who may sign in; ``customer_id`` is set for a customer."""

    id: int
    username: str
    name: str
    role: str
    customer_id: int | None

    @property
    def is_staff(self) -> bool:
        return self.role in ("support", "operator")


class SignInForm(FlaskForm):
    username = StringField("User name", validators=[DataRequired(), Length(max=40)])
    password = PasswordField("Password", validators=[DataRequired(), Length(max=200)])
    submit = SubmitField("Sign in")


class SignOutForm(FlaskForm):
    submit = SubmitField("Sign out")


def authenticate(held: sqlite3.Connection, username: str, password: str) -> Account | None:
    """Return the account when the password fits; an unknown name takes as long as a wrong password."""
    row = held.execute("SELECT * FROM account WHERE username = ?", (username.strip().lower(),)).fetchone()
    fits = check_password_hash(row["password_hash"] if row else _NOBODY, password)
    return _account(row) if row and fits else None


def by_id(held: sqlite3.Connection, account_id: int) -> Account | None:
    """Return the account with this number."""
    row = held.execute("SELECT * FROM account WHERE id = ?", (account_id,)).fetchone()
    return _account(row) if row else None


def signed_in() -> Account | None:
    """Return the account of this request, read once."""
    if "shop_account" not in g:
        number = session.get(_KEY)
        g.shop_account = by_id(database.connection(), number) if isinstance(number, int) else None
    account: Account | None = g.shop_account
    return account


def start(account: Account) -> None:
    """Sign in: nothing of the session before it remains."""
    session.clear()
    session[_KEY] = account.id
    g.shop_account = account


def stop() -> None:
    """Sign out."""
    session.clear()
    g.shop_account = None


def _account(row: sqlite3.Row) -> Account:
    return Account(
        id=row["id"],
        username=row["username"],
        name=row["name"],
        role=row["role"],
        customer_id=row["customer_id"],
    )
