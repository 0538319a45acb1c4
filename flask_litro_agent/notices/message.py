"""What the webhook says about a proposal, as JSON: enough to know whether to look, and the way to the card.

Neither a digest nor a token nor a link that decides is ever in it: whoever reads it has still to sign in and to look.
"""

from __future__ import annotations

import datetime
from typing import Any, Final

from flask_litro_agent import strict_json
from flask_litro_agent.core.deliveries import UNKNOWN, Delivery
from flask_litro_agent.core.proposals import Proposal

__all__ = ["body"]

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def body(delivery: Delivery, proposal: Proposal, *, name: str | None, url: str | None) -> bytes:
    """Return the message; ``name`` is the proposer's, where the site still knows him."""
    data: dict[str, Any] = {
        "proposal_id": proposal.id,
        "agent": proposal.agent,
        "tool": proposal.tool,
        "permission": proposal.permission,
        "summary": proposal.summary,
        "proposer": {"id": proposal.proposer, "name": name},
        "four_eyes": proposal.four_eyes,
        "created_at": _moment(proposal.created_at),
        "expires_at": _moment(proposal.expires_at),
        "url": url,
    }
    if delivery.event == UNKNOWN:
        data |= {"claimed_at": _moment(proposal.claimed_at), "idempotency_key": proposal.idempotency_key}
    message = {"type": delivery.event, "timestamp": _moment(delivery.created_at), "data": data}
    return strict_json.encode(message)


def _moment(ms: int | None) -> str | None:
    """Return the time as ISO 8601 in UTC."""
    if ms is None:
        return None
    moment = _EPOCH + datetime.timedelta(milliseconds=ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
