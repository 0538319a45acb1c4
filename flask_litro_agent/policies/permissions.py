"""The actor's own set of permissions: the policy that is active unless ``LITRO_POLICIES`` says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask_litro_agent.contracts import Actor, ToolFacts, Verdict

__all__ = ["Permissions"]


class Permissions:
    """Allows a public tool, and a tool whose permission the actor holds; denies every other.

    It denies where it might abstain, so that no policy beside it can grant what the actor does not hold.
    """

    def decide(self, actor: Actor, tool: ToolFacts, arguments: Mapping[str, Any] | None) -> Verdict:
        """Return allow or deny, whatever the arguments are."""
        if tool.permission is None or actor.may(tool.permission):
            return Verdict.allow()
        return Verdict.deny(f"needs the permission {tool.permission!r}")
