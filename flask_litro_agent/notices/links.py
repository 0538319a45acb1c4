"""The way to a card, as it stands in what is sent to people: it shows, and never decides."""

from __future__ import annotations

from flask_litro_agent.settings import Settings

__all__ = ["card_url"]


def card_url(settings: Settings, proposal_id: str) -> str | None:
    """Return the address of the proposal's page; None where the site has no such page, or has not said its address."""
    if settings.external_url is None or settings.admin_prefix is None:
        return None
    return f"{settings.external_url.rstrip('/')}{settings.admin_prefix}/proposals/{proposal_id}"
