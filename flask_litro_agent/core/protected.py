"""Permissions for which an agent can never do more than propose: money, refunds, danger, who may do what.

The list of the package always holds; a site adds patterns to it and takes none away.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["ALWAYS", "is_protected", "matches"]

ALWAYS = ("processFinancials", "dangerZone", "refunds:edit", "refunds:delete", "collabs:edit")


def is_protected(permission: str, patterns: Sequence[str] = ()) -> bool:
    """Whether a tool with this permission may only propose; a pattern may end in ``*``."""
    return any(matches(permission, pattern) for pattern in (*ALWAYS, *patterns))


def matches(permission: str, pattern: str) -> bool:
    """Whether the permission is the pattern, or begins like one that ends in ``*``; case counts for nothing."""
    folded, sought = permission.casefold(), pattern.casefold()
    return folded.startswith(sought[:-1]) if sought.endswith("*") else folded == sought
