"""The built-in policies, registered like any plugin's."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flask_litro_agent.contracts import Policy
from flask_litro_agent.hookspecs import hookimpl
from flask_litro_agent.policies.permissions import Permissions

__all__ = ["register_policies"]


@hookimpl
def register_policies() -> Mapping[str, Callable[..., Policy]]:
    """Name ``permissions``."""
    return {"permissions": Permissions}
