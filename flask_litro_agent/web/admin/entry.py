"""Who may enter a page of the operator's: somebody signed in, with the page's permission, by every policy."""

from __future__ import annotations

from typing import Final

from flask_litro_agent.contracts import Actor
from flask_litro_agent.core.operators import APPROVE
from flask_litro_agent.errors import Forbidden, SignInNeeded
from flask_litro_agent.identity import is_visitor_id
from flask_litro_agent.installation import Installation

__all__ = ["ADMIN", "APPROVE", "enter", "may"]

ADMIN: Final = "litro:admin"


def enter(installed: Installation, *permissions: str) -> Actor:
    """Return who asks, when one of the permissions lets him in; SignInNeeded or Forbidden otherwise."""
    actor = installed.identity.current()
    if is_visitor_id(actor.id):
        raise SignInNeeded("sign in to see this page")
    if not any(may(installed, actor, permission) for permission in permissions):
        raise Forbidden(f"to see this page you need the permission {' or '.join(permissions)}")
    return actor


def may(installed: Installation, actor: Actor, permission: str) -> bool:
    """Whether this person holds a permission that is no tool's."""
    return installed.gate.admits(actor, permission)
