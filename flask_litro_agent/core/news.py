"""What has just been committed, for those who were named at assembly: they are told, and asked nothing.

Nobody who is told can take it back, and what he raises changes nothing here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from flask_litro_agent.core.proposals import Proposal

__all__ = ["CeilingChanged", "News", "ProposalRecorded", "ProposalSettled", "Witness", "spread"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProposalRecorded:
    """A new row waits for a decision."""

    proposal: Proposal


@dataclass(frozen=True, slots=True)
class ProposalSettled:
    """How a proposal ended was written down: executed, dismissed, void, or answered."""

    proposal: Proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class CeilingChanged:
    """A scope's stored level became another; None where none was, or is, stored."""

    scope: str
    before: str | None
    after: str | None
    by: str


News = ProposalRecorded | ProposalSettled | CeilingChanged
Witness = Callable[[News], None]


def spread(news: News, witnesses: Iterable[Witness]) -> None:
    """Tell each witness; what one raises is logged, and the others are still told."""
    for witness in witnesses:
        try:
            witness(news)
        except KeyboardInterrupt:
            raise
        except BaseException:  # also SystemExit: what is told of has happened
            logger.exception("litro: a witness failed at %s", type(news).__name__)
