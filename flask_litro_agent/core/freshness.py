"""How long ago somebody proved who he is: asked before an approval on a protected permission, and before more is
allowed to the agents."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Final

from flask_litro_agent.errors import SignInNeeded

__all__ = ["STALE", "Freshness"]

STALE: Final = "You signed in too long ago for this: prove once more who you are. Nothing was decided."
#: A proof may come from another host's clock, and be this many seconds ahead of ours.
_AHEAD: Final = 60.0


@dataclass(frozen=True, slots=True)
class Freshness:
    """The oldest proof that counts, in seconds; None where any does."""

    seconds: int | None

    def holds(self, authenticated_at: float | None) -> bool:
        """Whether a proof of that time (seconds since the epoch) is fresh enough; None is no proof."""
        if self.seconds is None:
            return True
        if authenticated_at is None or not math.isfinite(authenticated_at):
            return False
        return -_AHEAD <= time.time() - authenticated_at <= self.seconds

    def check(self, authenticated_at: float | None) -> None:
        """Raise SignInNeeded when the proof is too old."""
        if not self.holds(authenticated_at):
            raise SignInNeeded(STALE)
