"""Who asks, and a policy's answer: the protocol ``Policy`` and its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

__all__ = ["Actor", "Policy", "ToolFacts", "Verdict"]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks: an id that owns sessions, a name to show, and the permissions held at this moment.

    A permission may be a pattern that ends in ``*``: ``orders:*`` holds ``orders:read``.
    """

    id: str
    name: str
    permissions: frozenset[str] = frozenset()
    data: Mapping[str, Any] = field(default_factory=dict)

    def may(self, permission: str) -> bool:
        """Whether the actor's own set holds this permission."""
        if permission in self.permissions:
            return True
        return any(held.endswith("*") and permission.startswith(held[:-1]) for held in self.permissions)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A policy's answer about one call. Deny beats allow; without any allow it is a deny."""

    effect: Literal["allow", "deny", "abstain"]
    reason: str = ""

    @classmethod
    def allow(cls) -> Verdict:
        return cls("allow")

    @classmethod
    def deny(cls, reason: str = "") -> Verdict:
        return cls("deny", reason)

    @classmethod
    def abstain(cls) -> Verdict:
        return cls("abstain")


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """A tool as a policy sees it: what it declares, never its function. ``permission`` None is PUBLIC."""

    name: str
    description: str
    permission: str | None
    mode: Literal["read", "propose", "execute"]


@runtime_checkable
class Policy(Protocol):
    """Decides whether an actor may call a tool. The gate asks every active policy, each time."""

    def decide(self, actor: Actor, tool: ToolFacts, arguments: Mapping[str, Any] | None) -> Verdict:
        """Return a Verdict; anything else, and anything raised, is a deny.

        Asked twice for a call: first with ``arguments=None`` (may this actor use this tool at all?), then with
        the arguments as the schema loaded them. Both answers must allow.
        """
        ...
