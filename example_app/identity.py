"""The shop's people as actors of its agents: who asks, and what that person may see."""

from __future__ import annotations

from example_app import accounts, database
from example_app.accounts import Account
from flask_litro_agent import Actor, LitroAgent

__all__ = ["PERMISSIONS", "account_of", "actor_of", "litro"]

_CUSTOMER = frozenset({"shop:read", "orders:own", "orders:edit-own"})
_SUPPORT = frozenset(
    {
        "shop:*",
        "orders:read",
        "orders:edit",
        "customers:read",
        "customers:edit",
        "emails:draft",
        "refunds:edit",
        "returns:edit",
        "credits:edit",
        "reviews:edit",
    }
)
#: Support asks for changes, and operators decide: who approves needs the change's own permission too.
PERMISSIONS = {
    "customer": _CUSTOMER,
    "support": _SUPPORT,
    "operator": _SUPPORT
    | {
        "stock:read",
        "stock:edit",
        "prices:edit",
        "purchases:edit",
        "collections:edit",
        "texts:edit",
        "reports:read",
        "journal:read",
        "orders:edit-own",
    }
    | {"litro:approve", "litro:admin"},
}

litro = LitroAgent()


@litro.request_loader
def current() -> Actor | None:
    """Return who is signed in; a visitor without an account is the extension's own affair."""
    account = accounts.signed_in()
    return actor_of(account) if account else None


@litro.actor_loader
def by_id(actor_id: str) -> Actor | None:
    """Return the same person by id, with the permissions of this moment."""
    account = _account(actor_id)
    return actor_of(account) if account else None


def account_of(actor: Actor) -> Account | None:
    """Return the account that is this actor; None for a visitor."""
    return _account(actor.id)


def actor_of(account: Account) -> Actor:
    """Return the account as an actor; ``data`` says which customer it is."""
    return Actor(
        id=f"account:{account.id}",
        name=account.name,
        permissions=PERMISSIONS[account.role],
        data={"role": account.role, "customer_id": account.customer_id},
    )


def _account(actor_id: str) -> Account | None:
    kind, _, number = actor_id.partition(":")
    if kind != "account" or not (number.isascii() and number.isdigit()):
        return None
    return accounts.by_id(database.connection(), int(number))
